package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"errors"
	"flag"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/harness/archive"
)

func call(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	var b bytes.Buffer
	c := command{out: &b, progress: t.Logf}
	err = c.run(t.Context(), args)
	return b.String(), err
}

func TestList(t *testing.T) {
	out, err := call(t)
	assert.NilError(t, err)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	assert.Assert(t, is.Len(lines, 2), out)
	assert.Check(t, is.Contains(lines[0], "podorder/recorder:1  linux/amd64, linux/arm64  in "))
	assert.Check(t, is.Contains(lines[1], "busybox:1.36.1       linux/amd64, linux/arm64  in "))

	out, err = call(t, "-cases", "^hooks/poststart-blocks$", "-platforms", "linux/arm64", "-kubernetes", "v1.36.4")
	assert.NilError(t, err)
	assert.Check(t, !strings.Contains(out, "busybox") && !strings.Contains(out, "amd64"), out)
	assert.Check(t, is.Contains(out, "docker.io/kindest/node:v1.36.4@sha256:"))

	out, err = call(t, "-cases", "^hooks/poststart-blocks$", "-kubernetes", "v1.37.2")
	assert.NilError(t, err)
	assert.Check(t, !strings.Contains(out, "kindest"), "no registry has it")
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-mirror"}, "-mirror"},
		{[]string{"busybox"}, "busybox"},
		{[]string{"-cases", "^nothing$"}, "^nothing$"},
		{[]string{"-cases", "("}, "-cases"},
		{[]string{"-platforms", "windows/amd64"}, "windows/amd64"},
		{[]string{"-push", "https://registry.example"}, "-push"},
		{[]string{"-from", "images.tar"}, "give -push as well"},
		{[]string{"-from", "images.tar", "-push", "registry.example", "-write", "x"}, "leave out"},
		{[]string{"-kubernetes", "1"}, "1"},
	} {
		_, err := call(t, tt.args...)
		assert.ErrorContains(t, err, tt.want)
		assert.Equal(t, status(err), 2, tt.args)
	}
	_, err := call(t, "-h")
	assert.Assert(t, errors.Is(err, flag.ErrHelp))
	assert.Equal(t, status(err), 0)
	_, err = call(t, "-from", filepath.Join(t.TempDir(), "nothing"), "-push", "registry.example")
	assert.Equal(t, status(err), 1, err)
}

// The recorder goes into an archive and from there to a registry, where each platform gets a program of its own.
func TestRecorderForBothArchitectures(t *testing.T) {
	t.Setenv("GOTMPDIR", os.TempDir()) // the command sets it, and removes what it names
	if testing.Short() {
		t.Skip("it builds the recorder for two architectures")
	}
	file := filepath.Join(t.TempDir(), "images.tar")
	_, err := call(t, "-cases", "^hooks/poststart-blocks$", "-write", file)
	assert.NilError(t, err)

	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	mirror := strings.TrimPrefix(server.URL, "http://") + "/podorder"
	out, err := call(t, "-from", file, "-push", mirror)
	assert.NilError(t, err)
	ref, err := archive.Mirrored(mirror, "podorder/recorder:1")
	assert.NilError(t, err)
	assert.Equal(t, out, ref+"\n")

	tag, err := name.NewTag(ref)
	assert.NilError(t, err)
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		img, err := remote.Image(tag, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
		assert.NilError(t, err)
		content := mutate.Extract(img)
		var program []byte
		for r := tar.NewReader(content); program == nil; {
			h, err := r.Next()
			assert.NilError(t, err, "no bin/recorder")
			if h.Name == "bin/recorder" {
				program, err = io.ReadAll(r)
				assert.NilError(t, err)
			}
		}
		assert.NilError(t, content.Close())
		f, err := elf.NewFile(bytes.NewReader(program))
		assert.NilError(t, err)
		assert.Equal(t, f.Machine, machine, arch)
	}
}
