package run

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/fixtures/image"
	"github.com/podorder/podorder/reference"
)

func TestUses(t *testing.T) {
	shell, recorder := caseByID(t, startup), caseByID(t, "hooks/poststart-blocks")
	assert.Check(t, uses([]fixtures.Case{recorder, shell}, image.ShellRef))
	assert.Check(t, !uses([]fixtures.Case{recorder}, image.ShellRef))
}

// TestWithImages: other images, and nothing else, in a Pod that is still one.
func TestWithImages(t *testing.T) {
	s, _ := suiteFor(t, nil)
	c := caseByID(t, startup)
	same, err := s.withImages(c)
	assert.NilError(t, err)
	assert.Equal(t, string(same.Manifest), string(c.Manifest))

	s.options.ShellImage, s.options.RecorderImage = "registry.example/shell:1", "registry.example/recorder:1"
	other, err := s.withImages(c)
	assert.NilError(t, err)
	got, err := reference.ParsePod(other.Manifest)
	assert.NilError(t, err)
	want, err := reference.ParsePod(c.Manifest)
	assert.NilError(t, err)
	for i := range want.Spec.Containers {
		assert.Equal(t, want.Spec.Containers[i].Image, image.ShellRef)
		want.Spec.Containers[i].Image = "registry.example/shell:1"
	}
	assert.DeepEqual(t, got, want)
}

// script is a container runtime played by a shell script, which notes how it
// was called.
type script struct{ path, calls string }

func runtimeScript(t *testing.T, text string) script {
	t.Helper()
	dir := t.TempDir()
	s := script{filepath.Join(dir, "docker"), filepath.Join(dir, "calls")}
	assert.NilError(t, os.WriteFile(s.path, []byte("#!/bin/sh\necho \"$@\" >> "+s.calls+"\n"+text), 0o755))
	return s
}

func (s script) Command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, s.path, args...)
}

func (s script) verbs(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(s.calls)
	assert.NilError(t, err)
	var verbs []string
	for line := range strings.Lines(string(b)) {
		verb, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		verbs = append(verbs, verb)
	}
	return strings.Join(verbs, " ")
}

// TestShellArchive: the image that is there is taken before one that has to be
// pulled.
func TestShellArchive(t *testing.T) {
	const save = `[ "$1" = save ] && echo saved > "$3"` + "\n"
	tests := []struct{ name, script, verbs string }{
		{"local", save + "exit 0", "image save"},
		{"pulled", save + `[ "$1" != image ]`, "image pull save"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rt := runtimeScript(t, tt.script)
			path := filepath.Join(t.TempDir(), "shell.tar")
			assert.NilError(t, shellArchive(t.Context(), rt, path, t.Logf))
			assert.Equal(t, rt.verbs(t), tt.verbs)
			b, err := os.ReadFile(path)
			assert.NilError(t, err)
			assert.Equal(t, string(b), "saved\n")
		})
	}
	t.Run("cannot be saved", func(t *testing.T) {
		rt := runtimeScript(t, `[ "$1" = image ] || { echo no space left >&2; exit 1; }`)
		err := shellArchive(t.Context(), rt, filepath.Join(t.TempDir(), "shell.tar"), t.Logf)
		assert.ErrorContains(t, err, "no space left")
	})
}

// TestArchives: the recorder is always needed, the shell only where a case is
// written for it, and neither where the flags name an image to pull.
func TestArchives(t *testing.T) {
	rt := runtimeScript(t, `[ "$1" = save ] && echo saved > "$3"; exit 0`)
	s, _ := suiteFor(t, nil)
	s.cases = []fixtures.Case{caseByID(t, "hooks/poststart-blocks")}
	dir := t.TempDir()
	paths, err := s.archives(t.Context(), rt, dir)
	assert.NilError(t, err)
	assert.Assert(t, is.Len(paths, 1))
	m, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(paths[0]) })
	assert.NilError(t, err)
	assert.Assert(t, strings.HasSuffix(m[0].RepoTags[0], image.RecorderRef), m[0].RepoTags[0])

	s.options.RecorderImage = "registry.example/recorder:1"
	s.cases = append(s.cases, caseByID(t, startup))
	paths, err = s.archives(t.Context(), rt, dir)
	assert.NilError(t, err)
	assert.Assert(t, is.Len(paths, 1))
	b, err := os.ReadFile(paths[0])
	assert.NilError(t, err)
	assert.Check(t, bytes.Equal(b, []byte("saved\n")))

	s.options.ShellImage = "registry.example/shell:1"
	paths, err = s.archives(t.Context(), rt, dir)
	assert.NilError(t, err)
	assert.Assert(t, is.Len(paths, 0))
}
