package archive

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/harness/archive/archivetest"
)

const (
	busybox = "docker.io/library/busybox:1.36.1"
	here    = "linux/amd64"
)

var platforms = []string{"linux/386", "linux/arm64/v8", here, "linux/s390x"}

// holds looks at an archive that was written for nodes: it has just one image, which is for this platform and complete.
func holds(t *testing.T, path, ref, platform string) {
	t.Helper()
	assert.Equal(t, archivetest.Missing(t, path), "", "an import for all platforms fails over it")
	open := tarball.Opener(func() (io.ReadCloser, error) { return os.Open(path) })
	manifest, err := tarball.LoadManifest(open)
	assert.NilError(t, err)
	assert.Assert(t, is.Len(manifest, 1))
	assert.DeepEqual(t, manifest[0].RepoTags, []string{ref})
	img, err := tarball.Image(open, nil)
	assert.NilError(t, err)
	id, err := check(img)
	assert.NilError(t, err)
	want, err := archivetest.Image(t, platform).ConfigName()
	assert.NilError(t, err)
	assert.Equal(t, id, want.String())
}

func blobs(t *testing.T, img v1.Image) (config, layer string) {
	t.Helper()
	m, err := img.Manifest()
	assert.NilError(t, err)
	return m.Config.Digest.String(), m.Layers[1].Digest.String()
}

// The archive that made nodes refuse an image: its index names four platforms, of which one was pulled.
func TestReduceTakesOnePlatformOfAnIndex(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "saved.tar"), filepath.Join(dir, "reduced.tar")
	archivetest.Save(t, from, busybox, archivetest.Index(t, platforms...), []string{here})
	assert.Assert(t, is.Contains(archivetest.Missing(t, from), "not found"), "the archive is to lack what its index names")

	all, err := Reduce(t.Context(), from, to, archivetest.Platform(t, here))
	assert.NilError(t, err)
	id, err := archivetest.Image(t, here).ConfigName()
	assert.NilError(t, err)
	assert.DeepEqual(t, all, []Image{{Name: busybox, ID: id.String()}})
	holds(t, to, busybox, here)
}

func TestReduceReadsWhatEnginesWrite(t *testing.T) {
	img := archivetest.Image(t, here)
	tag, err := name.NewTag(busybox)
	assert.NilError(t, err)
	layoutOf := func(t *testing.T, path string, annotations map[string]string, platform *v1.Platform) {
		dir := t.TempDir()
		l, err := layout.Write(dir, empty.Index)
		assert.NilError(t, err)
		options := []layout.Option{layout.WithAnnotations(annotations)}
		if platform != nil {
			options = append(options, layout.WithPlatform(*platform))
		}
		assert.NilError(t, l.AppendImage(img, options...))
		archivetest.Pack(t, path, dir)
	}
	p := archivetest.Platform(t, here)
	for name, save := range map[string]func(t *testing.T, path string){
		"manifest.json alone": func(t *testing.T, path string) { assert.NilError(t, tarball.WriteToFile(path, tag, img)) },
		"layout of Docker": func(t *testing.T, path string) {
			layoutOf(t, path, map[string]string{"io.containerd.image.name": busybox}, nil)
		},
		"layout of Podman": func(t *testing.T, path string) {
			layoutOf(t, path, map[string]string{"org.opencontainers.image.ref.name": busybox}, nil)
		},
		"platform in the index": func(t *testing.T, path string) {
			layoutOf(t, path, map[string]string{"io.containerd.image.name": busybox}, &p)
		},
		"all platforms": func(t *testing.T, path string) {
			archivetest.Save(t, path, busybox, archivetest.Index(t, platforms...), append(platforms, "unknown/unknown"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			from, to := filepath.Join(dir, "saved.tar"), filepath.Join(dir, "reduced.tar")
			save(t, from)
			all, err := Reduce(t.Context(), from, to, p)
			assert.NilError(t, err)
			assert.Assert(t, is.Len(all, 1))
			holds(t, to, busybox, here)
		})
	}
}

func TestReduceSaysWhatIsMissing(t *testing.T) {
	index := archivetest.Index(t, platforms...)
	config, layer := blobs(t, archivetest.Image(t, here))
	manifest, err := archivetest.Image(t, here).Digest()
	assert.NilError(t, err)
	save := func(pulled []string, without ...string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) { archivetest.Save(t, path, busybox, index, pulled, without...) }
	}
	advice := "; pull it for that platform (--platform=" + here + ") before it is saved"
	for _, c := range []struct {
		name string
		save func(t *testing.T, path string)
		want string
	}{
		{"another platform", save([]string{"linux/s390x"}), "cannot be used on linux/amd64: its manifest cannot be read: the archive has no blob " + manifest.Hex + advice},
		{"no layer", save([]string{here}, layer), "cannot be used on linux/amd64: layer 2 of 2, " + layer + ", cannot be read: the archive has no blob " + layer[len("sha256:"):] + advice},
		{"no configuration", save([]string{here}, config), "its configuration " + config + " cannot be read: the archive has no blob " + config[len("sha256:"):] + advice},
		{
			"not in the index",
			func(t *testing.T, path string) {
				archivetest.Save(t, path, busybox, archivetest.Index(t, "linux/386", "linux/s390x"), []string{"linux/386"})
			},
			"image " + busybox + ": it is not there for linux/amd64, only for linux/386, linux/s390x",
		},
		{
			"for no platform at all",
			func(t *testing.T, path string) { archivetest.Save(t, path, busybox, archivetest.Index(t), nil) },
			"image " + busybox + ": it is not there for linux/amd64, nor for any other platform",
		},
		{
			"one image of another platform",
			func(t *testing.T, path string) {
				assert.NilError(t, Write(path, map[string]v1.Image{busybox: archivetest.Image(t, "linux/s390x")}))
			},
			"cannot be used on linux/amd64: it is for linux/s390x" + advice,
		},
		{"no archive", func(t *testing.T, path string) { assert.NilError(t, os.WriteFile(path, nil, 0o600)) }, "neither an index.json nor a manifest.json"},
		{"no file", func(t *testing.T, path string) {}, "no such file"},
		{
			"no name",
			func(t *testing.T, path string) {
				dir := t.TempDir()
				l, err := layout.Write(dir, empty.Index)
				assert.NilError(t, err)
				assert.NilError(t, l.AppendImage(archivetest.Image(t, here)))
				archivetest.Pack(t, path, dir)
			},
			"it names no image",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
			assert.NilError(t, os.Mkdir(os.TempDir(), 0o700))
			from, to := filepath.Join(dir, "saved.tar"), filepath.Join(dir, "reduced.tar")
			c.save(t, from)
			_, err := Reduce(t.Context(), from, to, archivetest.Platform(t, here))
			assert.ErrorContains(t, err, c.want)
			assert.ErrorContains(t, err, from)
			_, err = os.Stat(to)
			assert.ErrorIs(t, err, os.ErrNotExist)
			left, err := os.ReadDir(os.TempDir())
			assert.NilError(t, err)
			assert.Equal(t, len(left), 0)
		})
	}
}

func TestReduceFindsADamagedBlob(t *testing.T) {
	dir := t.TempDir()
	l, err := layout.Write(filepath.Join(dir, "layout"), empty.Index)
	assert.NilError(t, err)
	img := archivetest.Image(t, here)
	assert.NilError(t, l.AppendImage(img, layout.WithAnnotations(map[string]string{"io.containerd.image.name": busybox})))
	m, err := img.Manifest()
	assert.NilError(t, err)
	layers := func(i int) string { return filepath.Join(string(l), "blobs/sha256", m.Layers[i].Digest.Hex) }
	other, err := os.ReadFile(layers(0))
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(layers(1), other, 0o600))
	from := filepath.Join(dir, "saved.tar")
	archivetest.Pack(t, from, string(l))
	_, err = Reduce(t.Context(), from, filepath.Join(dir, "reduced.tar"), archivetest.Platform(t, here))
	assert.ErrorContains(t, err, "layer 2 of 2")
	assert.ErrorContains(t, err, "is damaged")
}

func TestReduceEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	from := filepath.Join(dir, "saved.tar")
	archivetest.Save(t, from, busybox, archivetest.Index(t, platforms...), []string{here})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the user pressed Ctrl-C"))
	_, err := Reduce(ctx, from, filepath.Join(dir, "reduced.tar"), archivetest.Platform(t, here))
	assert.ErrorContains(t, err, "the user pressed Ctrl-C")
}

// A registry has one platform of four, and wants to know who asks.
func TestPull(t *testing.T) {
	index := archivetest.Index(t, platforms...)
	host := archivetest.Registry(t, "library/busybox:1.36.1", index, []string{here})
	ref := host + "/library/busybox:1.36.1"
	to := filepath.Join(t.TempDir(), "pulled.tar")

	archivetest.Login(t, host, archivetest.User, archivetest.Password)
	got, err := Pull(t.Context(), ref, to, archivetest.Platform(t, here))
	assert.NilError(t, err)
	digest, err := index.Digest()
	assert.NilError(t, err)
	id, err := archivetest.Image(t, here).ConfigName()
	assert.NilError(t, err)
	assert.DeepEqual(t, got, Image{Name: ref, ID: id.String(), Digest: digest.String()})
	holds(t, to, ref, here)

	_, layer := blobs(t, archivetest.Image(t, here))
	incomplete := archivetest.Registry(t, "library/busybox:1.36.1", index, []string{here}, layer)
	for _, c := range []struct{ name, host, user, platform, want string }{
		{"no credentials", host, "", here, "UNAUTHORIZED"},
		{"wrong credentials", host, "someone", here, "UNAUTHORIZED"},
		{"a platform without blobs", host, archivetest.User, "linux/s390x", "BLOB_UNKNOWN"},
		{"no such platform", host, archivetest.User, "linux/riscv64", "only for linux/386, linux/arm64/v8, linux/amd64, linux/s390x"},
		{"a missing layer", incomplete, archivetest.User, here, "BLOB_UNKNOWN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			archivetest.Login(t, c.host, c.user, archivetest.Password)
			ref, to := c.host+"/library/busybox:1.36.1", filepath.Join(t.TempDir(), "pulled.tar")
			_, err := Pull(t.Context(), ref, to, archivetest.Platform(t, c.platform))
			assert.ErrorContains(t, err, "pulling image "+ref+" for "+c.platform)
			assert.ErrorContains(t, err, c.want)
			_, err = os.Stat(to)
			assert.ErrorIs(t, err, os.ErrNotExist)
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("the user pressed Ctrl-C"))
		_, err := Pull(ctx, ref, to, archivetest.Platform(t, here))
		assert.ErrorContains(t, err, "the user pressed Ctrl-C")
	})
}

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "images.tar")
	assert.NilError(t, Write(path, map[string]v1.Image{"registry.k8s.io/pause:3.10": archivetest.Image(t, here)}))
	holds(t, path, "registry.k8s.io/pause:3.10", here)
	assert.ErrorContains(t, Write(path, map[string]v1.Image{"NOT A NAME": nil}), "NOT A NAME")
	assert.ErrorContains(t, Write(filepath.Join(path, "x"), nil), "not a directory")
}
