package nodeimage

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"gotest.tools/v3/assert"
)

func TestTree(t *testing.T) {
	from := filepath.Join(t.TempDir(), "program")
	assert.NilError(t, os.WriteFile(from, []byte("binary"), 0o600))
	files := tree{}
	files.file("etc/b", 0o644, []byte("text"))
	files.copy("bin/a", 0o755, from)
	files.symlink("bin/link", "a")
	files.folder("var/empty")
	var b bytes.Buffer
	assert.NilError(t, files.write(&b))

	type member struct {
		Name, Link, Data string
		Mode             int64
		Type             byte
	}
	var got []member
	for r := tar.NewReader(&b); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		assert.NilError(t, err)
		data, err := io.ReadAll(r)
		assert.NilError(t, err)
		assert.Assert(t, h.ModTime.Equal(epoch))
		got = append(got, member{h.Name, h.Linkname, string(data), h.Mode, h.Typeflag})
	}
	assert.DeepEqual(t, got, []member{
		{"bin/a", "", "binary", 0o755, tar.TypeReg},
		{"bin/link", "a", "", 0o777, tar.TypeSymlink},
		{"etc/b", "", "text", 0o644, tar.TypeReg},
		{"var/empty/", "", "", 0o755, tar.TypeDir},
	})

	files.copy("bin/missing", 0o755, from+".missing")
	assert.ErrorContains(t, files.write(io.Discard), "pack bin/missing")
}

// Equal contents make equal images, whatever they are called.
func TestArchive(t *testing.T) {
	dir := t.TempDir()
	digest := func(name, ref string) string {
		files := tree{}
		files.file("pause", 0o755, []byte("program"))
		l, err := files.layer(filepath.Join(dir, name+".layer"), gzip.BestSpeed)
		assert.NilError(t, err)
		img, err := image(v1.Config{Entrypoint: []string{"/pause"}}, l)
		assert.NilError(t, err)
		assert.NilError(t, archive(filepath.Join(dir, name), map[string]v1.Image{ref: img}))
		read, err := tarball.ImageFromPath(filepath.Join(dir, name), nil)
		assert.NilError(t, err)
		config, err := read.ConfigFile()
		assert.NilError(t, err)
		assert.DeepEqual(t, config.Config.Entrypoint, []string{"/pause"})
		assert.Equal(t, config.OS, "linux")
		d, err := read.Digest()
		assert.NilError(t, err)
		return d.String()
	}
	assert.Equal(t, digest("a.tar", "registry.k8s.io/pause:3.10"), digest("b.tar", "localhost/podorder/pause:1"))
	assert.ErrorContains(t, archive(filepath.Join(dir, "c.tar"), map[string]v1.Image{"NOT A NAME": nil}), "NOT A NAME")
}
