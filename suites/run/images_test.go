package run

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/fixtures/image"
	"github.com/podorder/podorder/harness/archive"
	"github.com/podorder/podorder/harness/archive/archivetest"
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

// A mirror has all images of a case and of the harness; a flag that names one of them counts more. What no node can
// have stays where nobody has it.
func TestImageMirror(t *testing.T) {
	s, _ := suiteFor(t, nil)
	assert.Equal(t, s.recorderImage(), "")
	s.options.ImageMirror = "registry.example/podorder"
	assert.Equal(t, s.recorderImage(), "registry.example/podorder/podorder/recorder:1")
	for id, want := range map[string][]string{
		startup:                      {"registry.example/podorder/library/busybox:1.36.1"},
		"hooks/poststart-blocks":     {"registry.example/podorder/podorder/recorder:1"},
		"start/middle-image-backoff": {"localhost:1/podorder/not-there:1", "registry.example/podorder/podorder/recorder:1"},
	} {
		c, err := s.withImages(caseByID(t, id))
		assert.NilError(t, err)
		var got []string
		for _, container := range append(c.Pod().Spec.InitContainers, c.Pod().Spec.Containers...) {
			got = append(got, container.Image)
		}
		slices.Sort(got)
		assert.DeepEqual(t, slices.Compact(got), want)
	}
	s.cases = []fixtures.Case{caseByID(t, startup)}
	paths, err := s.archives(t.Context(), nil, t.TempDir())
	assert.NilError(t, err)
	assert.Assert(t, is.Len(paths, 0), "nothing is loaded into the nodes")

	s.options.ShellImage, s.options.RecorderImage = "other.example/shell:1", "other.example/recorder:1"
	assert.Equal(t, s.recorderImage(), "other.example/recorder:1")
	c, err := s.withImages(caseByID(t, startup))
	assert.NilError(t, err)
	assert.Equal(t, c.Pod().Spec.Containers[0].Image, "other.example/shell:1")

	o := Options{Repeat: 1, ImageMirror: "https://registry.example"}
	assert.ErrorContains(t, o.check(target{}), "-image-mirror: ")
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

const testPlatform = "linux/amd64"

// loadable looks at an archive: whether nodes of the platform can load it.
func loadable(t *testing.T, path, ref string) {
	t.Helper()
	assert.Equal(t, archivetest.Missing(t, path), "")
	got, err := archive.Reduce(t.Context(), path, path+".again", archivetest.Platform(t, testPlatform))
	assert.NilError(t, err)
	id, err := archivetest.Image(t, testPlatform).ConfigName()
	assert.NilError(t, err)
	assert.DeepEqual(t, got, []archive.Image{{Name: ref, ID: id.String()}})
}

// TestShellArchive: the image that is there is taken before one that has to be
// pulled, and of neither what is for other platforms.
func TestShellArchive(t *testing.T) {
	index := archivetest.Index(t, "linux/arm64", testPlatform, "linux/s390x")
	present := []string{testPlatform}
	host := archivetest.Registry(t, image.ShellRef, index, present)
	ref := host + "/" + image.ShellRef
	save := func(t *testing.T, pulled ...string) string {
		path := filepath.Join(t.TempDir(), "saved.tar")
		archivetest.Save(t, path, ref, index, pulled)
		return `[ "$1" = save ] && cp ` + path + ` "$3"` + "\n"
	}
	archiveOf := func(t *testing.T, rt script, ref string) (path, said string, err error) {
		dir := t.TempDir()
		path = filepath.Join(dir, "shell.tar")
		err = shellArchive(t.Context(), rt, ref, path, archivetest.Platform(t, testPlatform), func(format string, args ...any) {
			said += fmt.Sprintf(format, args...) + "\n"
		})
		left, e := filepath.Glob(filepath.Join(dir, "*.saved"))
		assert.NilError(t, e)
		assert.Equal(t, len(left), 0)
		return path, said, err
	}
	t.Run("local", func(t *testing.T) {
		archivetest.Login(t, host, "", "")
		rt := runtimeScript(t, save(t, testPlatform)+"exit 0")
		path, _, err := archiveOf(t, rt, ref)
		assert.NilError(t, err)
		assert.Equal(t, rt.verbs(t), "image save")
		loadable(t, path, ref)
	})
	t.Run("pulled", func(t *testing.T) {
		archivetest.Login(t, host, archivetest.User, archivetest.Password)
		rt := runtimeScript(t, "exit 1")
		path, said, err := archiveOf(t, rt, ref)
		assert.NilError(t, err)
		assert.Equal(t, rt.verbs(t), "image")
		digest, err := index.Digest()
		assert.NilError(t, err)
		assert.Equal(t, said, "pulled "+ref+"@"+digest.String()+" for linux/amd64\n")
		loadable(t, path, ref)
	})
	t.Run("local for another platform, and pulled", func(t *testing.T) {
		archivetest.Login(t, host, archivetest.User, archivetest.Password)
		rt := runtimeScript(t, save(t, "linux/s390x")+"exit 0")
		path, said, err := archiveOf(t, rt, ref)
		assert.NilError(t, err)
		assert.Check(t, is.Contains(said, "the archive has no blob"))
		loadable(t, path, ref)
	})
	t.Run("local for another platform, and not to be pulled", func(t *testing.T) {
		archivetest.Login(t, host, "someone", "else")
		rt := runtimeScript(t, save(t, "linux/s390x")+"exit 0")
		_, _, err := archiveOf(t, rt, ref)
		assert.ErrorContains(t, err, "image "+ref+" in archive")
		assert.ErrorContains(t, err, "cannot be used on linux/amd64: its manifest cannot be read: the archive has no blob")
		assert.ErrorContains(t, err, "pull it for that platform (--platform=linux/amd64)")
		assert.ErrorContains(t, err, "UNAUTHORIZED")
	})
	t.Run("neither local nor to be pulled", func(t *testing.T) {
		archivetest.Login(t, host, "", "")
		rt := runtimeScript(t, "exit 1")
		t.Setenv("PATH", t.TempDir()) // no package manager
		_, said, err := archiveOf(t, rt, ref)
		assert.Check(t, is.Contains(said, "UNAUTHORIZED"))
		assert.Check(t, is.Contains(said, "making it from the distribution's busybox"))
		if err != nil { // this machine has no busybox of its own
			assert.ErrorContains(t, err, "making the shell image")
		}
	})
	t.Run("cannot be saved", func(t *testing.T) {
		archivetest.Login(t, host, "", "")
		rt := runtimeScript(t, `[ "$1" = image ] || { echo no space left >&2; exit 1; }`)
		_, _, err := archiveOf(t, rt, ref)
		assert.ErrorContains(t, err, "no space left")
	})
}

// TestArchives: the recorder is always needed, the shell only where a case is
// written for it, and neither where the flags name an image to pull.
func TestArchives(t *testing.T) {
	saved := filepath.Join(t.TempDir(), "saved.tar")
	platform := "linux/" + runtime.GOARCH
	archivetest.Save(t, saved, shellImage, archivetest.Index(t, "linux/s390x", platform, "linux/ppc64le"), []string{platform})
	rt := runtimeScript(t, `[ "$1" = save ] && cp `+saved+` "$3"; exit 0`)
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
	assert.Equal(t, archivetest.Missing(t, paths[0]), "")
	m, err = tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(paths[0]) })
	assert.NilError(t, err)
	assert.DeepEqual(t, m[0].RepoTags, []string{shellImage})

	s.options.ShellImage = "registry.example/shell:1"
	paths, err = s.archives(t.Context(), rt, dir)
	assert.NilError(t, err)
	assert.Assert(t, is.Len(paths, 0))
}
