package judge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/internal/judge"
	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/trace"
)

// What is looked at of wide sets is bounded, and so is each set.
func TestTooManyStates(t *testing.T) {
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(t, err)
	p, unknown := podspec.New(&corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}, {Name: "b"}}}})
	assert.Equal(t, len(unknown), 0)
	for _, tc := range []struct {
		states, work int
		want         bool
	}{{64, 0, false}, {100, 35, true}, {100, 36, false}, {4096, 1 << 20, false}, {4097, 1 << 20, true}} {
		var log strings.Builder
		for run := range tc.states {
			fmt.Fprintf(&log, "2026-01-02T03:00:00Z: a#%d / main: begin\n", run)
		}
		log.WriteString("2026-01-02T03:00:00Z: b#0 / main: begin\n")
		tr, err := trace.ReadLog(strings.NewReader(log.String()), "v1.37.2")
		assert.NilError(t, err)
		obs, err := record.Observe(tr, &p)
		assert.NilError(t, err)
		tooMany, left := judge.Judge{Kubelet: k, Pod: &p, LogOnly: true}.Wide(obs, tc.work)
		assert.Equal(t, tooMany, tc.want, "%+v", tc)
		assert.Equal(t, left, tc.states)
	}
}

// What passes is never refused for lack of states: it is not decided. In few-states, one way to
// number the lines has too many of them, and another one refuses the trace.
func TestTooFewStatesRefuseNothing(t *testing.T) {
	undecided := 0
	traces, err := filepath.Glob(filepath.Join("..", "..", "testdata", "regressions", "*", "trace.jsonl"))
	assert.NilError(t, err)
	for _, path := range traces {
		manifest, err := os.ReadFile(filepath.Join(filepath.Dir(path), "pod.yaml"))
		assert.NilError(t, err)
		pod, err := reference.ParsePod(manifest)
		assert.NilError(t, err)
		p, unknown := podspec.New(pod)
		assert.Equal(t, len(unknown), 0)
		f, err := os.Open(path)
		assert.NilError(t, err)
		tr, err := trace.Read(f)
		assert.NilError(t, err)
		assert.NilError(t, f.Close())
		k, err := reference.ParseKubelet(tr.Header.Kubelet)
		assert.NilError(t, err)
		for states := range 12 {
			obs, err := record.Observe(tr, &p)
			assert.NilError(t, err)
			refused, open := judge.Judge{Kubelet: k, Pod: &p, LogOnly: tr.LogOnly}.Within(obs, states+1)
			assert.Assert(t, !refused, "%s with %d states", path, states+1)
			if open {
				undecided++
			}
		}
	}
	assert.Assert(t, undecided > 0)
}
