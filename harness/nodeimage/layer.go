package nodeimage

import (
	"archive/tar"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"sort"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// epoch is the time stamp of everything in an image, so that equal contents make equal images.
var epoch = time.Unix(0, 0)

// tree is what a layer holds: files, folders and links by their path without a leading slash.
type tree map[string]entry

type entry struct {
	mode   int64
	data   []byte // content of a file
	file   string // or where to read it
	link   string // target of a symbolic link
	folder bool
}

func (t tree) file(p string, mode int64, data []byte) { t[p] = entry{mode: mode, data: data} }
func (t tree) copy(p string, mode int64, from string) { t[p] = entry{mode: mode, file: from} }
func (t tree) symlink(p, target string)               { t[p] = entry{mode: 0o777, link: target} }
func (t tree) folder(p string)                        { t[p] = entry{mode: 0o755, folder: true} }

// write writes the tree as a tar stream, in the order of paths.
func (t tree) write(w io.Writer) error {
	paths := make([]string, 0, len(t))
	for p := range t {
		paths = append(paths, p)
	}
	sort.Strings(paths)
	tw := tar.NewWriter(w)
	for _, p := range paths {
		if err := t[p].write(tw, p); err != nil {
			return fmt.Errorf("pack %s: %w", p, err)
		}
	}
	return tw.Close()
}

func (e entry) write(tw *tar.Writer, p string) error {
	h := &tar.Header{Name: p, Mode: e.mode, ModTime: epoch, Typeflag: tar.TypeReg, Size: int64(len(e.data))}
	switch {
	case e.folder:
		h.Typeflag, h.Name = tar.TypeDir, path.Clean(p)+"/"
	case e.link != "":
		h.Typeflag, h.Linkname = tar.TypeSymlink, e.link
	case e.file != "":
		f, err := os.Open(e.file)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		h.Size = info.Size()
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		_, err = io.Copy(tw, f)
		return err
	}
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	_, err := tw.Write(e.data)
	return err
}

// layer writes the tree to a file and makes a layer of it. level is a level of compress/gzip.
func (t tree) layer(file string, level int) (v1.Layer, error) {
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := t.write(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	return layerFile(file, level)
}

// layerFile makes a layer of a tar file.
func layerFile(file string, level int) (v1.Layer, error) {
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return os.Open(file) },
		tarball.WithCompressionLevel(level), tarball.WithCompressedCaching)
	if err != nil {
		return nil, fmt.Errorf("read layer %s: %w", filepath.Base(file), err)
	}
	return l, nil
}

// image makes an image of layers.
func image(config v1.Config, layers ...v1.Layer) (v1.Image, error) {
	img, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		return nil, err
	}
	cf, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	cf = cf.DeepCopy()
	cf.OS, cf.Architecture, cf.Config = "linux", runtime.GOARCH, config
	cf.Created = v1.Time{Time: epoch}
	return mutate.ConfigFile(img, cf)
}

// archive writes images under their references to a file that every runtime and containerd can load.
func archive(file string, images map[string]v1.Image) error {
	tagged := map[name.Tag]v1.Image{}
	for ref, img := range images {
		tag, err := name.NewTag(ref)
		if err != nil {
			return fmt.Errorf("image reference %s: %w", ref, err)
		}
		tagged[tag] = img
	}
	if err := tarball.MultiWriteToFile(file, tagged); err != nil {
		return fmt.Errorf("write image archive %s: %w", filepath.Base(file), err)
	}
	return nil
}
