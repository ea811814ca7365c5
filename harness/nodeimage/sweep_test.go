package nodeimage

import (
	"context"
	"os"
	"path/filepath"
	"strings"
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

// A node has the label of the container that its image was committed from. Neither a sweep nor the next build may take it for what a killed build left.
func TestNodesAreNoBuilds(t *testing.T) {
	dir := t.TempDir()
	removed := filepath.Join(t.TempDir(), "removed")
	h := fakeDocker(t, nil, `case "$*" in
ps*podorder.build=*) echo podorder-build-v1-37-2-7; echo podorder-keep-x-control-plane;;
ps*) echo podorder-build-of-somebody-8; echo podorder-keep-x-control-plane;;
rm*) echo "$@" >>`+removed+`;;
run*) echo no >&2; exit 1;;
esac`)
	got, err := Sweep(t.Context(), h, Options{CacheDir: dir}, false)
	assert.NilError(t, err)
	assert.DeepEqual(t, got, []string{"container podorder-build-v1-37-2-7"})
	err = commit(t.Context(), h, "base", "images", "ref", "v9.9.9", dir)
	assert.ErrorContains(t, err, "start a container")
	text, err := os.ReadFile(removed)
	assert.NilError(t, err)
	assert.Equal(t, strings.Count(string(text), "podorder-build-v1-37-2-7"), 2, "%s", text)
	assert.Assert(t, !strings.Contains(string(text), "control-plane"), "%s", text)
}
