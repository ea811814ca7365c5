package reference_test

import (
	"math/rand/v2"
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
