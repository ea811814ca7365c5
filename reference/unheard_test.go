package reference_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference"
)

// A hook of which nothing tells whether it writes makes a pass inconclusive where it must have run.
func TestHookOfWhichNothingTells(t *testing.T) {
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(t, err)
	pod := func(command ...string) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "network", Lifecycle: &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: command}}}},
			{Name: "app"},
		}}}
	}
	const lines = "2026-01-20T17:30:01Z: network / main: begin\n2026-01-20T17:30:03Z: app / main: begin\n2026-01-20T17:30:04Z: network / main: tick\n"
	for _, tt := range []struct {
		name   string
		pod    *corev1.Pod
		want   reference.Outcome
		reason string
	}{
		{"a program", pod("/install"), reference.Inconclusive, "nothing tells whether it ever writes"},
		{"what only sleeps", pod("sleep", "3"), reference.Pass, ""},
		{"said to be silent", reference.WithWrites(pod("/install"), ""), reference.Pass, ""},
		// In a log alone the kubelet may have been restarted before the hook.
		{"said to write", reference.WithWrites(pod("/install"), "network"), reference.Inconclusive, "it has written nothing"},
	} {
		v := reference.CheckLog(k, tt.pod, strings.NewReader(lines))
		assert.Equal(t, v.Outcome, tt.want, "%s\n%s", tt.name, v.Text())
		assert.Assert(t, strings.Contains(v.Reason, tt.reason), v.Reason)
		if tt.want != reference.Pass {
			assert.Equal(t, v.Rule, "hooks/poststart-runs")
			assert.Equal(t, v.Line, 3)
		}
	}
}
