package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

func goPath(t *testing.T) string {
	t.Helper()
	p, err := exec.LookPath("go")
	assert.NilError(t, err)
	return p
}

// linked is a folder with links to these programs of the machine, and nothing else.
func linked(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		p, err := exec.LookPath(name)
		assert.NilError(t, err)
		assert.NilError(t, os.Symlink(p, filepath.Join(dir, name)))
	}
	return dir
}
