package cluster

import (
	"os/exec"
	"testing"

	"gotest.tools/v3/assert"
)

func TestOwnerIsReadAsItWasWritten(t *testing.T) {
	self, err := Self()
	assert.NilError(t, err)
	got, err := ParseOwner(self.String())
	assert.NilError(t, err)
	assert.Equal(t, got, self)
	named, ok := ownerOfName(ownedName(self, "abcd"))
	assert.Assert(t, ok)
	assert.Equal(t, named, self)
}

func TestWhatCarriesNoOwner(t *testing.T) {
	for _, name := range []string{
		"", "kind", "podorder", "podorder-keep-0123456789", "podorder-mine", "podorder-abcde-fghij-12-x", "podorder-abcde-fghij-0-1x-abcd",
		"other-abcde-fghij-12-1x-abcd", "podorder-abcde-fghij-12-1x-abcde",
	} {
		_, ok := ownerOfName(name)
		assert.Assert(t, !ok, name)
	}
}

func TestLiveness(t *testing.T) {
	self, err := Self()
	assert.NilError(t, err)
	child := exec.Command("sleep", "1000")
	assert.NilError(t, child.Start())
	start, _, err := processStart(child.Process.Pid)
	assert.NilError(t, err)
	live := Owner{Machine: self.Machine, Boot: self.Boot, PID: child.Process.Pid, Start: start}
	with := func(change func(*Owner)) Owner { o := live; change(&o); return o }

	assert.Equal(t, self.Liveness(self), Alive)
	assert.Equal(t, live.Liveness(self), Alive)
	assert.Equal(t, with(func(o *Owner) { o.Start++ }).Liveness(self), Dead, "the ID was used again")
	assert.Equal(t, with(func(o *Owner) { o.Boot = "other" }).Liveness(self), Dead, "before the last boot")
	assert.Equal(t, with(func(o *Owner) { o.Machine = "other" }).Liveness(self), Unknown, "on another machine")
	assert.NilError(t, child.Process.Kill())
	// Not reaped yet, so it is a zombie, or still on its way to become one.
	for live.Liveness(self) == Alive {
	}
	assert.Equal(t, live.Liveness(self), Dead)
	_ = child.Wait()
	assert.Equal(t, live.Liveness(self), Dead)
}
