package reference_test

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference"
)

func twoContainers() *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}, {Name: "b"}}}}
}

func TestSetKeepsEachStateOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 20, 200, 4000} {
		set, one := reference.Distinct(twoContainers(), n, r.IntN)
		assert.Equal(t, set, one)
		assert.Assert(t, n < 4000 || set > 1000 && set < n, "%d of %d", set, n)
	}
}

// What is looked at of wide sets is bounded, and so is each set.
func TestTooManyStates(t *testing.T) {
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(t, err)
	for _, tc := range []struct {
		states, work int
		want         bool
	}{{64, 0, false}, {100, 35, true}, {100, 36, false}, {4096, 1 << 20, false}, {4097, 1 << 20, true}} {
		tooMany, left := reference.Wide(k, twoContainers(), tc.states, tc.work)
		assert.Equal(t, tooMany, tc.want, "%+v", tc)
		assert.Equal(t, left, tc.states)
	}
}

// What passes is never refused for want of states: it is not decided. In few-states, one way to
// number the lines has too many of them, and another one refuses the trace.
func TestTooFewStatesRefuseNothing(t *testing.T) {
	undecided := 0
	traces, err := filepath.Glob(filepath.Join("testdata", "regressions", "*", "trace.jsonl"))
	assert.NilError(t, err)
	for _, path := range traces {
		pod, tr, k := stored(t, filepath.Dir(path), "trace.jsonl")
		for states := range 12 {
			v := reference.CheckWithin(k, pod, tr, states+1)
			assert.Assert(t, v != reference.Violation, "%s with %d states", path, states+1)
			if v == reference.Inconclusive {
				undecided++
			}
		}
	}
	assert.Assert(t, undecided > 0)
}
