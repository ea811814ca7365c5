package archive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Image is one image in an archive.
type Image struct {
	// Name is what a node knows it by: "docker.io/library/busybox:1.36.1".
	Name string
	// ID is the digest of its configuration, which runtimes call the ID of the image.
	ID string
	// Digest is that of what the name stood for in the registry; empty where the image did not come from one.
	Digest string
}

// Write writes images, by name, to a file in the format of "docker save", which docker, podman, nerdctl, ctr and kind load. The error says which image
// lacks something, and then there is no file.
func Write(path string, images map[string]v1.Image) error {
	tagged := map[name.Tag]v1.Image{}
	for ref, img := range images {
		tag, err := name.NewTag(ref)
		if err != nil {
			return fmt.Errorf("writing image archive %s: %w", path, err)
		}
		tagged[tag] = img
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("writing image archive: %w", err)
	}
	if err := errors.Join(tarball.MultiWrite(tagged, f), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("writing image archive %s: %w", path, err), os.Remove(path))
	}
	return nil
}

// Pull takes an image for one platform from its registry and writes an archive of it. It has the credentials of the user's own Docker or Podman
// configuration. The tag is looked up once; everything else is taken by digest, and checked against it.
func Pull(ctx context.Context, ref, to string, platform v1.Platform) (Image, error) {
	fail := func(err error) (Image, error) {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return Image{}, fmt.Errorf("pulling image %s for %s: %w", ref, platform, err)
	}
	tag, err := name.NewTag(ref)
	if err != nil {
		return fail(err)
	}
	found, err := remote.Get(tag, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithUserAgent("podorder"))
	if err != nil {
		return fail(err)
	}
	var img v1.Image
	if found.MediaType.IsIndex() {
		index, err := found.ImageIndex()
		if err != nil {
			return fail(err)
		}
		img, err = choose(index, platform)
		if err != nil {
			return fail(err)
		}
	} else if img, err = found.Image(); err != nil {
		return fail(err)
	}
	if err := isFor(img, platform); err != nil {
		return fail(err)
	}
	id, err := img.ConfigName()
	if err != nil {
		return fail(err)
	}
	if err := Write(to, map[string]v1.Image{ref: img}); err != nil {
		return fail(err)
	}
	return Image{Name: ref, ID: id.String(), Digest: found.Digest.String()}, nil
}

// Reduce writes an archive of what another one holds for one platform: each of its images, without its index and what that names for others. The other
// one may have been written by any engine ("docker save", "podman save", an OCI layout in a tar file). Everything is read and checked first; an image
// that the archive does not hold for this platform, or not all of, is an error that says what is missing. What it unpacks on the way stands beside the
// file that it writes, so that nothing is left of a run whose folder is removed.
func Reduce(ctx context.Context, from, to string, platform v1.Platform) (_ []Image, err error) {
	dir, err := os.MkdirTemp(filepath.Dir(to), "unpacked-")
	if err != nil {
		return nil, fmt.Errorf("reading image archive %s: %w", from, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	found, err := read(ctx, from, dir, platform)
	if err != nil {
		return nil, fmt.Errorf("reading image archive %s: %w", from, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("reading image archive %s: it names no image", from)
	}
	var all []Image
	for ref, img := range found {
		id, err := check(img)
		if err == nil {
			err = isFor(img, platform)
		}
		if err != nil {
			return nil, fmt.Errorf("image %s in archive %s cannot be used on %s: %w; pull it for that platform (--platform=%s) before it is saved",
				ref, from, platform, err, platform)
		}
		all = append(all, Image{Name: ref, ID: id})
	}
	slices.SortFunc(all, func(a, b Image) int { return strings.Compare(a.Name, b.Name) })
	return all, Write(to, found)
}

// isFor says that an image is for another platform.
func isFor(img v1.Image, platform v1.Platform) error {
	config, err := img.ConfigFile()
	if err != nil {
		return fmt.Errorf("its configuration cannot be read: %w", err)
	}
	// A configuration often lacks the variant that an index gives.
	if config.OS != platform.OS || config.Architecture != platform.Architecture {
		return fmt.Errorf("it is for %s/%s", config.OS, config.Architecture)
	}
	return nil
}

// choose returns the image of an index, or of an index in it, that is for a platform.
func choose(index v1.ImageIndex, platform v1.Platform) (v1.Image, error) {
	img, others, err := chooseIn(index, platform)
	if err == nil && img == nil {
		err = notFor(platform, others)
	}
	return img, err
}

// notFor says that an image is there for other platforms alone.
func notFor(platform v1.Platform, others []string) error {
	if len(others) == 0 {
		return fmt.Errorf("it is not there for %s, nor for any other platform", platform)
	}
	return fmt.Errorf("it is not there for %s, only for %s", platform, strings.Join(others, ", "))
}

func chooseIn(index v1.ImageIndex, platform v1.Platform) (_ v1.Image, others []string, err error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, nil, fmt.Errorf("its index cannot be read: %w", err)
	}
	for _, d := range manifest.Manifests {
		img, more, err := resolve(index, d, platform)
		if img != nil || err != nil {
			return img, nil, err
		}
		others = append(others, more...)
	}
	return nil, others, nil
}

// resolve returns the image for a platform that a descriptor in an index stands for, or else the platforms that it is for.
func resolve(index v1.ImageIndex, d v1.Descriptor, platform v1.Platform) (v1.Image, []string, error) {
	switch {
	case d.MediaType.IsIndex():
		inner, err := index.ImageIndex(d.Digest)
		if err != nil {
			return nil, nil, fmt.Errorf("its index cannot be read: %w", err)
		}
		return chooseIn(inner, platform)
	case !d.MediaType.IsImage(), d.Platform != nil && d.Platform.OS == "unknown": // what says how an image was built
		return nil, nil, nil
	case d.Platform != nil && !d.Platform.Satisfies(platform):
		return nil, []string{d.Platform.String()}, nil
	}
	img, err := index.Image(d.Digest)
	if err != nil {
		return nil, nil, fmt.Errorf("manifest %s cannot be read: %w", d.Digest, err)
	}
	return img, nil, nil
}
