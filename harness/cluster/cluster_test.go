package cluster

import (
	"context"
	"errors"
	"testing"

	"gotest.tools/v3/assert"
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
