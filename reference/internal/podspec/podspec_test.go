package podspec

import (
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
)

func TestSignals(t *testing.T) {
	for _, tt := range []struct {
		command []string
		want    bool
	}{
		{[]string{"kill", "1"}, true},
		{[]string{"/bin/kill", "-TERM", "1"}, true},
		{[]string{"sh", "-c", "sleep 5; pkill nginx"}, true},
		{[]string{"sh", "-c", "(killall -q -s INT app)"}, true},
		{[]string{"sh", "-c", "while kill -0 1; do sleep 1; done"}, false},
		{[]string{"sh", "-c", "kill -s 0 1"}, false},
		{[]string{"sh", "-c", "kill -0 1 && kill 1"}, true},
		{[]string{"nginx", "-s", "quit"}, false},
		{[]string{"/opt/killer", "kill-all"}, false},
		{nil, false},
	} {
		hook := &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: tt.command}}
		assert.Equal(t, signals(hook), tt.want, "%q", tt.command)
	}
	assert.Assert(t, !signals(nil) && !signals(&corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 3}}))
}
