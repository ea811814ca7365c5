package nodeimage

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/harness/host"
)

// fakeDocker makes a host whose container runtime is a script. It knows the images in present; every other call goes to script.
func fakeDocker(t *testing.T, present []string, script string) *host.Host {
	t.Helper()
	goTool, err := exec.LookPath("go")
	assert.NilError(t, err)
	goTool, err = filepath.EvalSymlinks(goTool)
	assert.NilError(t, err)
	dir := t.TempDir()
	for _, name := range []string{"sh", "echo", "cat"} {
		p, err := exec.LookPath(name)
		assert.NilError(t, err)
		assert.NilError(t, os.Symlink(p, filepath.Join(dir, name)))
	}
	var b strings.Builder
	b.WriteString("#!/bin/sh\ncase \"$1 $5\" in\n")
	for _, ref := range present {
		fmt.Fprintf(&b, "'image %s') echo id; exit 0;;\n", ref)
	}
	b.WriteString("image*) exit 1;;\nesac\ncase \"$1 $*\" in\nversion*) echo 28;;\n*load*probe.tar*) ;;\ninfo*) echo /nowhere;;\n*podorder/probe*) echo ok 1ff;;\n*) " + script + ";;\nesac\n")
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "docker"), []byte(b.String()), 0o755))
	t.Setenv("PATH", dir+":"+filepath.Dir(goTool))
	t.Setenv("KIND_EXPERIMENTAL_PROVIDER", "docker")
	h, err := host.Detect(context.Background(), host.Options{NoInstall: true})
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, h.Close()) })
	return h
}

func TestEnsureTakesWhatIsThere(t *testing.T) {
	published, ok := Published("v1.36.4")
	assert.Assert(t, ok)
	h := fakeDocker(t, []string{localRef("v1.37.2"), published}, `echo "not to be called: $*" >&2; exit 1`)
	for version, ref := range map[string]string{"v1.37.2": localRef("v1.37.2"), "v1.36.4": published} {
		img, err := Ensure(context.Background(), h, version, Options{CacheDir: t.TempDir()})
		assert.NilError(t, err)
		assert.DeepEqual(t, img, Image{Ref: ref, Version: version, Source: "local"})
	}
}

func TestEnsurePullsByDigest(t *testing.T) {
	published, ok := Published("v1.36.4")
	assert.Assert(t, ok)
	h := fakeDocker(t, nil, `[ "$*" = "pull `+published+`" ] || exit 1; echo pulled`)
	var said []string
	img, err := Ensure(context.Background(), h, "v1.36.4", Options{
		CacheDir: t.TempDir(), Progress: func(f string, args ...any) { said = append(said, fmt.Sprintf(f, args...)) },
	})
	assert.NilError(t, err)
	assert.DeepEqual(t, img, Image{Ref: published, Version: "v1.36.4", Source: "pulled"})
	assert.Assert(t, strings.HasPrefix(said[0], "pulling "+published+" (giving up if no registry answers within"), "%q", said)
}

// A mirror has the published image under another name, with the same digest.
func TestEnsurePullsFromTheMirror(t *testing.T) {
	published, _ := Published("v1.36.4")
	mirrored := "registry.example/" + strings.TrimPrefix(published, "docker.io/")
	h := fakeDocker(t, nil, `[ "$*" = "pull `+mirrored+`" ] || exit 1; echo pulled`)
	o := Options{CacheDir: t.TempDir(), Mirror: func(ref string) (string, error) {
		assert.Equal(t, ref, published)
		return mirrored, nil
	}}
	img, err := Ensure(context.Background(), h, "v1.36.4", o)
	assert.NilError(t, err)
	assert.DeepEqual(t, img, Image{Ref: mirrored, Version: "v1.36.4", Source: "pulled"})
}

func TestEnsureRefusesVersions(t *testing.T) {
	_, err := Ensure(context.Background(), nil, "1.37", Options{})
	assert.ErrorContains(t, err, "write an exact release such as "+Default)
}

func TestNamed(t *testing.T) {
	ctx := context.Background()
	t.Run("local", func(t *testing.T) {
		h := fakeDocker(t, []string{"example/node:1"}, `[ "$1" = run ] && echo v1.35.4`)
		img, err := Named(ctx, h, "example/node:1", Options{})
		assert.NilError(t, err)
		assert.DeepEqual(t, img, Image{Ref: "example/node:1", Version: "v1.35.4", Source: "local"})
	})
	t.Run("pulled", func(t *testing.T) {
		h := fakeDocker(t, nil, `[ "$1" = run ] && echo v1.35.4; exit 0`)
		img, err := Named(ctx, h, "example/node:1", Options{})
		assert.NilError(t, err)
		assert.Equal(t, img.Source, "pulled")
	})
	t.Run("cannot be had", func(t *testing.T) {
		h := fakeDocker(t, nil, `echo "no such host" >&2; exit 1`)
		_, err := Named(ctx, h, "example/node:1", Options{})
		assert.ErrorContains(t, err, "node image example/node:1 is not in docker's store and cannot be pulled")
		assert.ErrorContains(t, err, "no such host")
	})
	t.Run("no node image", func(t *testing.T) {
		h := fakeDocker(t, []string{"example/web:1"}, `echo "cat: not found" >&2; exit 127`)
		_, err := Named(ctx, h, "example/web:1", Options{})
		assert.ErrorContains(t, err, "image example/web:1 is no kind node image")
	})
}
