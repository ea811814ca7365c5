package cluster

import (
	"bytes"
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
)

func TestKindsStepsAreProgressAndTheRestIsKept(t *testing.T) {
	var file bytes.Buffer
	var said []string
	l := &kindLogger{w: &file, progress: func(f string, a ...any) { said = append(said, fmt.Sprintf(f, a...)) }}
	l.V(0).Infof("Creating cluster %q ...\n", "c")
	l.V(0).Infof(" • %s  ...\n", "Starting control-plane 🕹️")
	l.V(0).Infof(" ✓ %s\n", "Starting control-plane 🕹️")
	l.V(3).Info("I0102 kubeadm says\nmuch")
	l.Warnf("cgroup %s", "v1")
	assert.DeepEqual(t, said, []string{"kind: Starting control-plane"})
	assert.Equal(t, file.String(), "Creating cluster \"c\" ...\n • Starting control-plane 🕹️  ...\n ✓ Starting control-plane 🕹️\n"+
		"I0102 kubeadm says\nmuch\nwarning: cgroup v1\n")
}
