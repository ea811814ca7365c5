package archive_test

import (
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
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/harness/archive"
	"github.com/podorder/podorder/harness/archive/archivetest"
)

func TestMirrored(t *testing.T) {
	const digest = "@sha256:099e049362a1526b2db71494e1947aae99bd16290d7c895f2b7ea312e3cbfaed"
	for ref, want := range map[string]string{
		"busybox:1.36.1":                          "registry.example:5000/podorder/library/busybox:1.36.1",
		"docker.io/library/busybox:1.36.1":        "registry.example:5000/podorder/library/busybox:1.36.1",
		"podorder/recorder:1":                     "registry.example:5000/podorder/podorder/recorder:1",
		"registry.k8s.io/pause:3.10":              "registry.example:5000/podorder/pause:3.10",
		"docker.io/kindest/node:v1.36.4" + digest: "registry.example:5000/podorder/kindest/node:v1.36.4" + digest,
	} {
		for _, mirror := range []string{"registry.example:5000/podorder", "registry.example:5000/podorder/"} {
			got, err := archive.Mirrored(mirror, ref)
			assert.NilError(t, err)
			assert.Equal(t, got, want)
		}
	}
	for _, mirror := range []string{"https://registry.example", "registry.example/UPPER", "registry.example/a b"} {
		_, err := archive.Mirrored(mirror, "busybox:1")
		assert.ErrorContains(t, err, "a mirror is a registry")
	}
}

func platforms(t *testing.T, all ...string) (ps []v1.Platform) {
	t.Helper()
	for _, p := range all {
		ps = append(ps, archivetest.Platform(t, p))
	}
	return ps
}

// An image is found for the platforms that are asked for, and for no other; by digest it is what the digest says.
func TestFind(t *testing.T) {
	index := archivetest.Index(t, "linux/amd64", "linux/arm64/v8", "linux/s390x")
	all := []string{"linux/amd64", "linux/arm64/v8", "linux/s390x"}
	host := archivetest.Registry(t, "shell:1", index, all)
	archivetest.Login(t, host, archivetest.User, archivetest.Password)

	got, err := archive.Find(t.Context(), host+"/shell:1", platforms(t, "linux/amd64", "linux/arm64"))
	assert.NilError(t, err)
	manifest, err := got.IndexManifest()
	assert.NilError(t, err)
	var of []string
	for _, d := range manifest.Manifests {
		of = append(of, d.Platform.String())
	}
	assert.DeepEqual(t, of, all[:2])

	_, err = archive.Find(t.Context(), host+"/shell:1", platforms(t, "linux/riscv64"))
	assert.ErrorContains(t, err, "it is not there for linux/riscv64, only for linux/amd64, linux/arm64/v8, linux/s390x")

	want, err := index.Digest()
	assert.NilError(t, err)
	got, err = archive.Find(t.Context(), host+"/shell@"+want.String(), platforms(t, "linux/amd64"))
	assert.NilError(t, err)
	digest, err := got.Digest()
	assert.NilError(t, err)
	assert.Equal(t, digest, want)

	archivetest.Login(t, host, "", "")
	_, err = archive.Find(t.Context(), host+"/shell:1", platforms(t, "linux/amd64"))
	assert.ErrorContains(t, err, "finding image "+host+"/shell:1")
}

// Images written to an archive, read from it and pushed are in the mirror for each platform, layer by layer.
func TestSet(t *testing.T) {
	both := []string{"linux/amd64", "linux/arm64"}
	made, err := archive.Index(map[string]v1.Image{both[0]: archivetest.Image(t, both[0]), both[1]: archivetest.Image(t, both[1])})
	assert.NilError(t, err)
	set := archive.Set{"podorder/recorder:1": made, "busybox:1.36.1": archivetest.Index(t, both...)}

	file, again := filepath.Join(t.TempDir(), "images.tar"), filepath.Join(t.TempDir(), "images.tar")
	assert.NilError(t, archive.WriteSet(file, set))
	assert.NilError(t, archive.WriteSet(again, set))
	one, err := os.ReadFile(file)
	assert.NilError(t, err)
	other, err := os.ReadFile(again)
	assert.NilError(t, err)
	assert.Assert(t, string(one) == string(other), "the same images made two archives")
	assert.Equal(t, archivetest.Missing(t, file), "")

	// A node can load it.
	for _, p := range both {
		images, err := archive.Reduce(t.Context(), file, filepath.Join(t.TempDir(), "node.tar"), archivetest.Platform(t, p))
		assert.NilError(t, err)
		assert.Equal(t, len(images), 2)
		assert.Equal(t, images[0].Name, "docker.io/library/busybox:1.36.1")
		assert.Equal(t, images[1].Name, "docker.io/podorder/recorder:1")
	}

	read, err := archive.ReadSet(t.Context(), file, t.TempDir())
	assert.NilError(t, err)
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	mirror := strings.TrimPrefix(server.URL, "http://") + "/podorder"
	there, err := read.Push(t.Context(), mirror, true, t.Logf)
	assert.NilError(t, err)
	assert.DeepEqual(t, there, []string{mirror + "/library/busybox:1.36.1", mirror + "/podorder/recorder:1"})
	for _, ref := range there {
		for _, p := range both {
			tag, err := name.NewTag(ref)
			assert.NilError(t, err)
			img, err := remote.Image(tag, remote.WithPlatform(archivetest.Platform(t, p)))
			assert.NilError(t, err)
			want, err := archivetest.Image(t, p).Digest()
			assert.NilError(t, err)
			got, err := img.Digest()
			assert.NilError(t, err)
			assert.Equal(t, got, want)
			layers, err := img.Layers()
			assert.NilError(t, err)
			for _, l := range layers {
				r, err := l.Uncompressed()
				assert.NilError(t, err)
				_, err = io.Copy(io.Discard, r) // the library holds it against its digest
				assert.NilError(t, err)
			}
		}
	}

	twice := archive.Set{"docker.io/a/b:1": made, "quay.io/a/b:1": made}
	_, err = twice.Push(t.Context(), mirror, true, t.Logf)
	assert.ErrorContains(t, err, "docker.io/a/b:1 and quay.io/a/b:1 would both be "+mirror+"/a/b:1")
}

func TestSetErrors(t *testing.T) {
	_, err := archive.Index(map[string]v1.Image{"linux/arm64": archivetest.Image(t, "linux/amd64")})
	assert.ErrorContains(t, err, "platform linux/arm64: it is for linux/amd64")

	index := archivetest.Index(t, "linux/amd64", "linux/arm64")
	file := filepath.Join(t.TempDir(), "saved.tar")
	archivetest.Save(t, file, "docker.io/a/b:1", index, []string{"linux/amd64"}) // an engine's, with one platform alone
	set, err := archive.ReadSet(t.Context(), file, t.TempDir())
	assert.NilError(t, err)
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	_, err = set.Push(t.Context(), strings.TrimPrefix(server.URL, "http://"), true, t.Logf)
	assert.ErrorContains(t, err, "the archive has no blob")

	empty := filepath.Join(t.TempDir(), "empty.tar")
	archivetest.Pack(t, empty, t.TempDir())
	_, err = archive.ReadSet(t.Context(), empty, t.TempDir())
	assert.ErrorContains(t, err, "it is no OCI layout in a tar file")
}
