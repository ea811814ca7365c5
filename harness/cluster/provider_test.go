package cluster

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestAnInterruptedCreationLeavesNothingBehind(t *testing.T) {
	rt, started := newRuntime(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	p := NewProvider(rt, Options{Image: "podorder/node:v1.37.2", Version: "v1.37.2", Workers: []Worker{{}}})
	done := make(chan error)
	go func() {
		done <- p.Create(ctx)
	}()
	started()
	owner, ok := ownerOfName(p.Name())
	assert.Assert(t, ok)
	self, err := Self()
	assert.NilError(t, err)
	assert.Equal(t, owner.Liveness(self), Alive)
	assert.Assert(t, rt.has(t, "containers/"+p.Name()), "the stand-in has a container for it")

	cancel(errors.New("the user pressed Ctrl-C"))
	err = <-done
	assert.ErrorContains(t, err, "the user pressed Ctrl-C")
	assert.DeepEqual(t, rt.left(t), []string(nil))
	assert.Equal(t, p.Name(), "")
	assert.NilError(t, p.Destroy(t.Context()), "there is nothing left to destroy")
	calls := rt.calls(t)
	assert.Assert(t, strings.Contains(calls, "--net podorder"), "kind used podorder's network:\n%s", calls)
	assert.Equal(t, os.Getenv("PODORDER_TEST"), "1", "kind's commands have the runtime's environment")
}

func TestAFailedCreationSaysWhatTheRuntimeSaidAndLeavesNothingBehind(t *testing.T) {
	rt, started := newRuntime(t)
	p := NewProvider(rt, Options{Image: "podorder/node:v1.37.2"})
	done := make(chan error)
	go func() {
		done <- p.Create(t.Context())
	}()
	started()
	// The container ends by itself, as if the node had crashed.
	assert.NilError(t, remove(t.Context(), rt, p.Name()))
	err := <-done
	assert.ErrorContains(t, err, "was removed")
	left := rt.left(t)
	assert.Assert(t, left == nil, "%v is left: %v", left, err)
}

func TestCreateRefusesWhatItCannotDo(t *testing.T) {
	p := NewProvider(fakeRuntime{}, Options{})
	assert.Error(t, p.Create(t.Context()), "creating a kind cluster: no node image is given")
}

func TestSweepRemovesWhatTheDeadLeftAndNothingElse(t *testing.T) {
	rt, _ := newRuntime(t)
	self, err := Self()
	assert.NilError(t, err)
	dead, elsewhere := self, self
	dead.Start++ // the process ID is in use, but by another process
	elsewhere.Machine = "other"
	var (
		left    = ownedName(dead, "aaaa")
		live    = ownedName(self, "aaaa")
		unknown = ownedName(elsewhere, "aaaa")
		kept    = keptName("0123456789")
		foreign = "kind"
	)
	for _, c := range []string{left, live, unknown, kept, foreign} {
		rt.put(t, c)
	}
	s, err := openState()
	assert.NilError(t, err)
	assert.NilError(t, s.save(record{Cluster: left}))

	removed, err := Sweep(t.Context(), rt, SweepOptions{DryRun: true})
	assert.NilError(t, err)
	assert.DeepEqual(t, removed, []string{left})
	assert.Assert(t, rt.has(t, left), "a dry run removes nothing")

	removed, err = Sweep(t.Context(), rt, SweepOptions{})
	assert.NilError(t, err)
	assert.DeepEqual(t, removed, []string{left})
	assert.Assert(t, !rt.has(t, left))
	for _, c := range []string{live, unknown, kept, foreign} {
		assert.Assert(t, rt.has(t, c), c)
	}

	inUse, err := tryLock(keepLock(s, kept))
	assert.NilError(t, err)
	removed, err = Sweep(t.Context(), rt, SweepOptions{Kept: true})
	assert.NilError(t, err)
	assert.Equal(t, len(removed), 0, "a kept cluster that is in use stays")
	inUse.unlock()
	removed, err = Sweep(t.Context(), rt, SweepOptions{Kept: true})
	assert.NilError(t, err)
	assert.DeepEqual(t, removed, []string{kept})
	assert.Assert(t, !rt.has(t, kept), "not even its lock")
}

func TestSweepRemovesTheNetworkWithItsLastUser(t *testing.T) {
	rt, _ := newRuntime(t)
	assert.NilError(t, rt.Command(t.Context(), "network", "create", networkName).Run())
	rt.put(t, "kind")
	_, err := Sweep(t.Context(), rt, SweepOptions{})
	assert.NilError(t, err)
	assert.Assert(t, rt.has(t, "networks/"+networkName), "someone uses it")
	assert.NilError(t, remove(t.Context(), rt, "kind"))
	_, err = Sweep(t.Context(), rt, SweepOptions{})
	assert.NilError(t, err)
	assert.Assert(t, !rt.has(t, "networks/"+networkName))
}
