package archive

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const layoutIndex = "index.json"

// read returns the images of an archive for a platform, by name, unpacking into dir what it has of an OCI layout. Where there is one it counts, as it does
// for containerd: engines that write it add a manifest.json for older ones.
func read(ctx context.Context, file, dir string, platform v1.Platform) (map[string]v1.Image, error) {
	if err := unpack(ctx, file, dir); err != nil {
		return nil, err
	}
	index, err := layout.ImageIndexFromPath(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return readSaved(file)
	}
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("reading its %s: %w", layoutIndex, err)
	}
	found, others := map[string]v1.Image{}, map[string][]string{}
	for _, d := range manifest.Manifests {
		ref := nameOf(d)
		if ref == "" || found[ref] != nil {
			continue
		}
		img, more, err := resolve(index, d, platform)
		if err != nil {
			return nil, fmt.Errorf("image %s: %w", ref, absent(err))
		}
		if img != nil {
			found[ref] = img
		}
		others[ref] = append(others[ref], more...)
	}
	for ref, list := range others {
		if found[ref] == nil {
			return nil, fmt.Errorf("image %s: %w", ref, notFor(platform, list))
		}
	}
	return found, nil
}

// nameOf is the name that containerd gives what a descriptor in an OCI layout stands for; empty where it has none.
func nameOf(d v1.Descriptor) string {
	if ref := d.Annotations["io.containerd.image.name"]; ref != "" {
		return ref
	}
	ref := d.Annotations["org.opencontainers.image.ref.name"] // the whole name, or the tag alone
	if !strings.ContainsAny(ref, ":/") {
		return ""
	}
	return ref
}

// readSaved returns the images of an archive that is no OCI layout. It has each image for one platform.
func readSaved(file string) (map[string]v1.Image, error) {
	open := tarball.Opener(func() (io.ReadCloser, error) { return os.Open(file) })
	manifest, err := tarball.LoadManifest(open)
	if err != nil {
		return nil, fmt.Errorf("it has neither an %s nor a manifest.json that can be read: %w", layoutIndex, err)
	}
	found := map[string]v1.Image{}
	for _, d := range manifest {
		for _, ref := range d.RepoTags {
			tag, err := name.NewTag(ref)
			if err != nil {
				return nil, err
			}
			if found[ref], err = tarball.Image(open, &tag); err != nil {
				return nil, fmt.Errorf("image %s: %w", ref, err)
			}
		}
	}
	return found, nil
}

// unpack puts what a tar file has of an OCI layout into a folder: go-containerregistry reads layouts from folders only.
func unpack(ctx context.Context, file, dir string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		p := path.Clean(h.Name)
		if h.Typeflag != tar.TypeReg || p != layoutIndex && !strings.HasPrefix(p, "blobs/") {
			continue
		}
		if err := write(root, p, r); err != nil {
			return err
		}
	}
}

func write(root *os.Root, p string, content io.Reader) error {
	if err := root.MkdirAll(path.Dir(p), 0o700); err != nil {
		return err
	}
	f, err := root.Create(p)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// check reads all of an image and returns its ID. An error says which part of it is missing or damaged.
func check(img v1.Image) (id string, err error) {
	manifest, err := img.Manifest()
	if err != nil {
		return "", fmt.Errorf("its manifest cannot be read: %w", absent(err))
	}
	raw, err := img.RawConfigFile()
	if err != nil {
		return "", fmt.Errorf("its configuration %s cannot be read: %w", manifest.Config.Digest, absent(err))
	}
	if got, _, err := v1.SHA256(strings.NewReader(string(raw))); err != nil || got != manifest.Config.Digest {
		return "", errors.Join(fmt.Errorf("its configuration %s is damaged", manifest.Config.Digest), err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		return "", fmt.Errorf("its configuration %s cannot be read: %w", manifest.Config.Digest, err)
	}
	if len(config.RootFS.DiffIDs) != len(manifest.Layers) {
		return "", fmt.Errorf("it has %d layers, and its configuration names %d", len(manifest.Layers), len(config.RootFS.DiffIDs))
	}
	layers, err := img.Layers()
	if err != nil {
		return "", fmt.Errorf("its layers cannot be read: %w", err)
	}
	for i, l := range layers {
		of := fmt.Sprintf("layer %d of %d, %s,", i+1, len(layers), manifest.Layers[i].Digest)
		content, err := l.Uncompressed()
		if err != nil {
			return "", fmt.Errorf("%s cannot be read: %w", of, absent(err))
		}
		got, _, err := v1.SHA256(content)
		if err := errors.Join(err, content.Close()); err != nil {
			return "", fmt.Errorf("%s cannot be read: %w", of, err)
		}
		if want := config.RootFS.DiffIDs[i]; got != want {
			return "", fmt.Errorf("%s is damaged: its content is %s, not %s", of, got, want)
		}
	}
	return manifest.Config.Digest.String(), nil
}

// absent says that a blob is missing, instead of an error that names a temporary file.
func absent(err error) error {
	if missing := new(fs.PathError); errors.As(err, &missing) && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the archive has no blob %s", path.Base(missing.Path))
	}
	return err
}
