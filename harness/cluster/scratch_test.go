package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/harness/internal/orphans/orphanstest"
)

// A temporary folder goes with its process, and no other does.
func TestSweepScratch(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	mine, err := Scratch("suites")
	assert.NilError(t, err)
	self, err := Self()
	assert.NilError(t, err)

	child := exec.Command("sleep", "1000")
	assert.NilError(t, child.Start())
	start, _, err := processStart(child.Process.Pid)
	assert.NilError(t, err)
	of := func(o Owner) string {
		dir := filepath.Join(os.TempDir(), "podorder-suites-"+o.String()+"-123")
		assert.NilError(t, os.MkdirAll(filepath.Join(dir, "go-build1"), 0o755))
		return dir
	}
	running := of(Owner{Machine: self.Machine, Boot: self.Boot, PID: child.Process.Pid, Start: start})
	// The number of the process is used again, by another.
	again := of(Owner{Machine: self.Machine, Boot: self.Boot, PID: child.Process.Pid, Start: start - 1})
	elsewhere := of(Owner{Machine: "00000", Boot: self.Boot, PID: child.Process.Pid, Start: start - 1})
	other := filepath.Join(os.TempDir(), "podorder-suites-1-2-3-4-5")
	assert.NilError(t, os.Mkdir(other, 0o755))

	sweep := func(o SweepOptions, want ...string) {
		t.Helper()
		got, err := SweepScratch(o)
		assert.NilError(t, err)
		assert.DeepEqual(t, got, append([]string(nil), want...))
	}
	var said []string
	sweep(SweepOptions{DryRun: true, Progress: func(f string, _ ...any) { said = append(said, f) }}, again)
	assert.Assert(t, strings.HasPrefix(said[0], "leaving folder"))
	_, err = os.Stat(again)
	assert.NilError(t, err)
	sweep(SweepOptions{}, again)
	assert.NilError(t, child.Process.Kill())
	_ = child.Wait()
	sweep(SweepOptions{}, running)
	sweep(SweepOptions{})
	for _, dir := range []string{mine, elsewhere, other} {
		_, err := os.Stat(dir)
		assert.NilError(t, err, "it was not to be removed")
	}
}

// Killed together with its go command, a run leaves the working folder of that one, and no other is taken for it.
func TestSweepScratchWithTheFolderOfGo(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	work := filepath.Join(os.TempDir(), "go-build123")
	program := filepath.Join(work, "b001", "suites.test")
	assert.NilError(t, os.MkdirAll(filepath.Dir(program), 0o755))
	assert.NilError(t, os.WriteFile(program, nil, 0o755))
	assert.Equal(t, WorkFolder(program), work)
	for _, elsewhere := range []string{"/usr/bin/suites.test", filepath.Join(os.TempDir(), "suites.test"), filepath.Join(os.TempDir(), "go-builds", "suites.test")} {
		assert.Equal(t, WorkFolder(elsewhere), "")
	}

	self, err := Self()
	assert.NilError(t, err)
	dead := Owner{Machine: self.Machine, Boot: self.Boot, PID: self.PID, Start: self.Start - 1}
	left := func() string {
		dir := filepath.Join(os.TempDir(), "podorder-suites-"+dead.String()+"-123")
		assert.NilError(t, os.MkdirAll(dir, 0o755))
		return dir
	}
	sweep := func() {
		t.Helper()
		removed, err := SweepScratch(SweepOptions{})
		assert.NilError(t, err)
		assert.Equal(t, len(removed), 1)
	}
	goCommand := exec.Command("sleep", "1000")
	assert.NilError(t, goCommand.Start())
	dir := left()
	assert.NilError(t, WithScratch(dir, goCommand.Process.Pid, work))
	sweep()
	_, err = os.Stat(program)
	assert.NilError(t, err, "go still works there")

	dir = left()
	assert.NilError(t, WithScratch(dir, goCommand.Process.Pid, work))
	assert.NilError(t, os.WriteFile(filepath.Join(dir, dead.String()), []byte("../other"), 0o600))
	other := filepath.Join(os.TempDir(), "..", "other")
	assert.NilError(t, os.MkdirAll(other, 0o755))
	assert.NilError(t, goCommand.Process.Kill())
	_ = goCommand.Wait()
	sweep()
	_, err = os.Stat(work)
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = os.Stat(other)
	assert.NilError(t, err, "what a note says is no working folder of go")
}

// A build that outlives the process that wanted it is ended, before its folder goes.
func TestSweepScratchEndsBuilds(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("nothing is built on", runtime.GOOS)
	}
	t.Setenv("TMPDIR", t.TempDir())
	self, err := Self()
	assert.NilError(t, err)
	dead := Owner{Machine: self.Machine, Boot: self.Boot, PID: self.PID, Start: self.Start - 1}
	dir := filepath.Join(os.TempDir(), "podorder-suites-"+dead.String()+"-123")
	assert.NilError(t, os.Mkdir(dir, 0o755))
	build := orphanstest.Start(t, "go", dir)
	removed, err := SweepScratch(SweepOptions{})
	assert.NilError(t, err)
	assert.DeepEqual(t, removed, []string{dir})
	assert.Assert(t, orphanstest.Ended(t, build))
}
