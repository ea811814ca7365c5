package cluster

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sync/errgroup"
	"gotest.tools/v3/assert"
	"sigs.k8s.io/kind/pkg/cluster/nodes"
)

func TestANodeIsUsedByManyOrByOneAlone(t *testing.T) {
	c := new(Cluster)
	ctx, cancel := context.WithCancelCause(t.Context())
	first, err := c.Use(ctx, []string{"a", "b"}, false)
	assert.NilError(t, err)
	second, err := c.Use(ctx, []string{"b"}, false)
	assert.NilError(t, err)
	onA, err := c.Use(ctx, []string{"c"}, true)
	assert.NilError(t, err)
	onA()

	taken := make(chan func())
	go func() {
		giveBack, err := c.Use(ctx, []string{"b"}, true)
		assert.Check(t, err)
		taken <- giveBack
	}()
	first()
	select {
	case <-taken:
		t.Fatal("someone else uses it still")
	default:
	}
	second()
	alone := <-taken

	cancel(errors.New("over"))
	_, err = c.Use(ctx, []string{"b"}, false)
	assert.Error(t, err, "waiting for a turn on node b: over")
	alone()
	assert.Assert(t, c.uses["a"].TryAcquire(everyone) && c.uses["b"].TryAcquire(everyone), "everything was given back")
}

func TestANodeElsewhereIsNotRestarted(t *testing.T) {
	err := new(Cluster).RestartNode(t.Context(), Node{Name: "a"})
	assert.Error(t, err, "restarting node a: the node is not a container of this machine")
}

// lonely is a runtime whose commands fail if one of them runs already.
type lonely struct {
	fakeRuntime
	busy string
}

func (r lonely) Command(ctx context.Context, _ ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "sh", "-c", `mkdir "$0" && sleep 0.02 && rmdir "$0"`, r.busy)
}

func TestNodesRestartOneAfterTheOther(t *testing.T) {
	c := &Cluster{rt: lonely{busy: filepath.Join(t.TempDir(), "busy")}}
	var node struct{ nodes.Node } // that it is there is all that is asked
	var g errgroup.Group
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		g.Go(func() error { return c.RestartNode(t.Context(), Node{Name: name, container: node}) })
	}
	assert.NilError(t, g.Wait())
}
