package nodeimage

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/harness/internal/orphans/orphanstest"
)

// What an interrupted build left goes, and nothing while a build is under way.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	s, err := openStore(t.Context(), dir, func() {})
	assert.NilError(t, err)
	half, err := s.temp()
	assert.NilError(t, err)
	whole, err := s.get("piece", keyOf("x"), func(string) error { return nil })
	assert.NilError(t, err)
	sweep := func(dry bool, want ...string) {
		t.Helper()
		got, err := Sweep(context.Background(), nil, Options{CacheDir: dir}, dry)
		assert.NilError(t, err)
		assert.DeepEqual(t, got, append([]string(nil), want...))
	}
	sweep(false)
	assert.NilError(t, s.close())
	// What compiles it goes on, and would fill the folder while it is removed.
	build := orphanstest.Start(t, "go", filepath.Join(half, ".tmp"))
	sweep(true, "folder "+half)
	sweep(false, "folder "+half)
	assert.Assert(t, orphanstest.Ended(t, build))
	sweep(false)
	_, err = os.Stat(half)
	assert.Assert(t, os.IsNotExist(err))
	_, err = os.Stat(whole)
	assert.NilError(t, err)

	got, err := Sweep(t.Context(), nil, Options{CacheDir: filepath.Join(dir, "never")}, false)
	assert.NilError(t, err)
	assert.Equal(t, len(got), 0)
}
