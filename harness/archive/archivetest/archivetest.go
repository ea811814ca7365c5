package archivetest

import (
	"archive/tar"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/fixtures/image/layer"
)

// Platform is what "linux/amd64" stands for.
func Platform(t testing.TB, s string) v1.Platform {
	t.Helper()
	p, err := v1.ParsePlatform(s)
	assert.NilError(t, err)
	return *p
}

// Image makes an image for a platform. It holds two files, which differ from those of every other platform.
func Image(t testing.TB, platform string) v1.Image {
	t.Helper()
	var layers []v1.Layer
	for _, file := range []string{"platform", "again"} {
		files := layer.Tree{}
		files.File(file, 0o644, []byte(platform))
		l, err := files.Layer(gzip.BestSpeed)
		assert.NilError(t, err)
		layers = append(layers, l)
	}
	img, err := layer.Image(Platform(t, platform).Architecture, v1.Config{Cmd: []string{"sh"}}, layers...)
	assert.NilError(t, err)
	return img
}

// Index makes an index with an image for each platform, and, as builders add it, one that is for none.
func Index(t testing.TB, platforms ...string) v1.ImageIndex {
	t.Helper()
	var index v1.ImageIndex = empty.Index
	for _, s := range append(slices.Clone(platforms), "unknown/unknown") {
		p := Platform(t, s)
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: Image(t, s), Descriptor: v1.Descriptor{Platform: &p}})
	}
	return index
}

// of returns the image of an index for a platform.
func of(t testing.TB, index v1.ImageIndex, platform string) v1.Image {
	t.Helper()
	manifest, err := index.IndexManifest()
	assert.NilError(t, err)
	for _, d := range manifest.Manifests {
		if d.Platform.String() == platform {
			img, err := index.Image(d.Digest)
			assert.NilError(t, err)
			return img
		}
	}
	t.Fatalf("the index has no image for %s", platform)
	return nil
}

// absent returns the digests of everything in an index that belongs to other platforms alone.
func absent(t testing.TB, index v1.ImageIndex, present []string) (digests []string) {
	t.Helper()
	manifest, err := index.IndexManifest()
	assert.NilError(t, err)
	for _, d := range manifest.Manifests {
		if slices.Contains(present, d.Platform.String()) {
			continue
		}
		m, err := of(t, index, d.Platform.String()).Manifest()
		assert.NilError(t, err)
		digests = append(digests, d.Digest.String(), m.Config.Digest.String())
		for _, l := range m.Layers {
			digests = append(digests, l.Digest.String())
		}
	}
	return digests
}

// Save writes an archive of an index as "docker save" does for an engine with containerd's image store: with the whole index, and the blobs of just
// those platforms that were pulled. without are digests of further blobs that it lacks.
func Save(t testing.TB, path, ref string, index v1.ImageIndex, pulled []string, without ...string) {
	t.Helper()
	dir := t.TempDir()
	l, err := layout.Write(dir, empty.Index)
	assert.NilError(t, err)
	tag, err := name.NewTag(ref)
	assert.NilError(t, err)
	assert.NilError(t, l.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"io.containerd.image.name": ref, "org.opencontainers.image.ref.name": tag.TagStr(),
	})))
	blob := func(digest string) string { return "blobs/" + strings.Replace(digest, ":", "/", 1) }
	for _, digest := range append(absent(t, index, pulled), without...) {
		assert.NilError(t, os.Remove(filepath.Join(dir, blob(digest))))
	}
	if len(pulled) > 0 {
		m, err := of(t, index, pulled[0]).Manifest()
		assert.NilError(t, err)
		saved := tarball.Descriptor{Config: blob(m.Config.Digest.String()), RepoTags: []string{ref}}
		for _, l := range m.Layers {
			saved.Layers = append(saved.Layers, blob(l.Digest.String()))
		}
		text, err := json.Marshal(tarball.Manifest{saved})
		assert.NilError(t, err)
		assert.NilError(t, os.WriteFile(filepath.Join(dir, "manifest.json"), text, 0o600))
	}
	Pack(t, path, dir)
}

// Pack writes a tar file of a folder.
func Pack(t testing.TB, path, dir string) {
	t.Helper()
	f, err := os.Create(path)
	assert.NilError(t, err)
	w := tar.NewWriter(f)
	assert.NilError(t, w.AddFS(os.DirFS(dir)))
	assert.NilError(t, w.Close())
	assert.NilError(t, f.Close())
}

// Missing returns what containerd would complain about if it imported the archive for all platforms: the first blob that an index or a manifest in it
// names and that it does not have. It is empty where the archive has everything, or holds no index.
func Missing(t testing.TB, path string) string {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Open(path)
	assert.NilError(t, err)
	defer f.Close()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err != nil {
			break
		}
		if h.Typeflag == tar.TypeReg {
			p := filepath.Join(dir, h.Name)
			assert.NilError(t, os.MkdirAll(filepath.Dir(p), 0o700))
			out, err := os.Create(p)
			assert.NilError(t, err)
			_, err = out.ReadFrom(r)
			assert.NilError(t, err)
			assert.NilError(t, out.Close())
		}
	}
	return missing(dir, filepath.Join(dir, "index.json"))
}

func missing(dir, file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	var m struct {
		Config            v1.Descriptor
		Layers, Manifests []v1.Descriptor
	}
	if json.Unmarshal(b, &m) != nil {
		return "" // a layer
	}
	for _, d := range slices.Concat([]v1.Descriptor{m.Config}, m.Layers, m.Manifests) {
		if d.Digest.Hex == "" {
			continue
		}
		p := filepath.Join(dir, "blobs", d.Digest.Algorithm, d.Digest.Hex)
		if _, err := os.Stat(p); err != nil {
			return fmt.Sprintf("content digest %s: not found", d.Digest)
		}
		if more := missing(dir, p); more != "" {
			return more
		}
	}
	return ""
}

// User and Password are what a registry of this package wants.
const User, Password = "conformance", "let me in"

// Registry serves an index under a reference, on loopback, to those who give user and password. What belongs to other platforms than the present ones is
// not there, and neither are further blobs. It returns the name of the registry.
func Registry(t testing.TB, repository string, index v1.ImageIndex, present []string, without ...string) (host string) {
	t.Helper()
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	var hidden []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != User || password != Password {
			w.Header().Set("WWW-Authenticate", `Basic realm="podorder"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED"}]}`, http.StatusUnauthorized)
			return
		}
		if slices.Contains(hidden, r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]) {
			http.Error(w, `{"errors":[{"code":"BLOB_UNKNOWN"}]}`, http.StatusNotFound)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	host = strings.TrimPrefix(server.URL, "http://")
	tag, err := name.NewTag(host + "/" + repository)
	assert.NilError(t, err)
	assert.NilError(t, remote.WriteIndex(tag, index, remote.WithAuth(&authn.Basic{Username: User, Password: Password}), remote.WithContext(t.Context())))
	hidden = append(absent(t, index, present), without...)
	return host
}

// Login writes the configuration of a Docker that knows user and password for a registry, and makes it the user's own for the test. Without a user it
// knows none.
func Login(t testing.TB, host, user, password string) {
	t.Helper()
	dir := t.TempDir()
	auths := map[string]any{}
	if user != "" {
		auths[host] = map[string]string{"auth": base64.StdEncoding.EncodeToString([]byte(user + ":" + password))}
	}
	text, err := json.Marshal(map[string]any{"auths": auths})
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "config.json"), text, 0o600))
	t.Setenv("DOCKER_CONFIG", dir)
	t.Setenv("REGISTRY_AUTH_FILE", "")
	t.Setenv("XDG_RUNTIME_DIR", dir)
}
