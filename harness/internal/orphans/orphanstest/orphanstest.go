// Package orphanstest plays the builds that package orphans ends.
package orphanstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
	"gotest.tools/v3/assert"
)

// Start runs a program of a name, "go" for one, that keeps its temporary files in a folder and goes on until it is killed, at the latest
// with the test.
func Start(t *testing.T, name, folder string) *exec.Cmd {
	t.Helper()
	sleep, err := exec.LookPath("sleep")
	assert.NilError(t, err)
	program, err := os.ReadFile(sleep)
	assert.NilError(t, err)
	path := filepath.Join(t.TempDir(), name)
	assert.NilError(t, os.WriteFile(path, program, 0o755))
	cmd := exec.Command(path, "1000")
	cmd.Env = append(os.Environ(), "GOTMPDIR="+folder)
	assert.NilError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// Ended reports whether such a program has been ended. It does not wait for that.
func Ended(t *testing.T, cmd *exec.Cmd) bool {
	t.Helper()
	var status unix.WaitStatus
	pid, err := unix.Wait4(cmd.Process.Pid, &status, unix.WNOHANG, nil)
	assert.NilError(t, err)
	return pid != 0 && status.Signaled()
}
