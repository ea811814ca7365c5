package archive

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Set are images for several platforms, by reference.
type Set map[string]v1.ImageIndex

// Index makes an index of an image for each platform.
func Index(images map[string]v1.Image) (v1.ImageIndex, error) {
	// What go-containerregistry makes are images of Docker's media types, and some registries take no index of others.
	index := mutate.IndexMediaType(empty.Index, types.DockerManifestList)
	for _, of := range slices.Sorted(maps.Keys(images)) {
		platform, err := v1.ParsePlatform(of)
		if err != nil {
			return nil, err
		}
		if err := isFor(images[of], *platform); err != nil {
			return nil, fmt.Errorf("platform %s: %w", of, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: images[of], Descriptor: v1.Descriptor{Platform: platform}})
	}
	return index, nil
}

// Find finds an image in its registry, for all of the platforms. It has the credentials of the user's own Docker or Podman configuration. What is
// named by digest is taken as it is, since it would have another digest without its other platforms.
func Find(ctx context.Context, ref string, platforms []v1.Platform, options ...remote.Option) (v1.ImageIndex, error) {
	fail := func(err error) (v1.ImageIndex, error) {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("finding image %s: %w", ref, err)
	}
	at, err := name.ParseReference(ref)
	if err != nil {
		return fail(err)
	}
	found, err := remote.Get(at, remoteOptions(ctx, options)...)
	if err != nil {
		return fail(err)
	}
	if !found.MediaType.IsIndex() {
		img, err := found.Image()
		if err != nil {
			return fail(err)
		}
		images := map[string]v1.Image{}
		for _, p := range platforms {
			images[p.String()] = img
		}
		index, err := Index(images)
		if err != nil {
			return fail(err)
		}
		return index, nil
	}
	index, err := found.ImageIndex()
	if err != nil {
		return fail(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return fail(err)
	}
	var there []string
	for _, d := range manifest.Manifests {
		if d.Platform != nil && d.Platform.OS != "unknown" {
			there = append(there, d.Platform.String())
		}
	}
	wanted := func(d v1.Descriptor) bool {
		return d.Platform != nil && slices.ContainsFunc(platforms, func(p v1.Platform) bool { return d.Platform.Satisfies(p) })
	}
	for _, p := range platforms {
		if !slices.ContainsFunc(manifest.Manifests, func(d v1.Descriptor) bool { return d.Platform != nil && d.Platform.Satisfies(p) }) {
			return fail(notFor(p, there))
		}
	}
	if strings.Contains(ref, "@") {
		return index, nil
	}
	return mutate.RemoveManifests(index, func(d v1.Descriptor) bool { return !wanted(d) }), nil
}

func remoteOptions(ctx context.Context, more []remote.Option) []remote.Option {
	return append([]remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithUserAgent("podorder")}, more...)
}

// WriteSet writes the images to one archive, an OCI layout in a tar file: the form that has an image for several platforms. containerd imports it with
// "ctr images import --all-platforms". The same images make the same bytes. What is unpacked on the way stands beside the archive.
func WriteSet(path string, set Set) (err error) {
	fail := func(err error) error { return fmt.Errorf("writing image archive %s: %w", path, err) }
	dir, err := os.MkdirTemp(filepath.Dir(path), "packed-")
	if err != nil {
		return fail(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	l, err := layout.Write(dir, empty.Index)
	if err != nil {
		return fail(err)
	}
	for _, ref := range slices.Sorted(maps.Keys(set)) {
		whole := ref
		if !strings.Contains(ref, "@") {
			if whole, err = Whole(ref); err != nil {
				return fail(err)
			}
		}
		if err := l.AppendIndex(set[ref], layout.WithAnnotations(map[string]string{
			"io.containerd.image.name": whole, "org.opencontainers.image.ref.name": whole,
		})); err != nil {
			return fail(fmt.Errorf("image %s: %w", ref, err))
		}
	}
	f, err := os.Create(path)
	if err != nil {
		return fail(err)
	}
	if err := errors.Join(pack(f, os.DirFS(dir)), f.Close()); err != nil {
		return errors.Join(fail(err), os.Remove(path))
	}
	return nil
}

// pack writes a folder as a tar file, which go-containerregistry has nothing for. It says nothing of who made it, and when.
func pack(w io.Writer, files fs.FS) error {
	t := tar.NewWriter(w)
	if err := fs.WalkDir(files, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f, err := files.Open(p)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := t.WriteHeader(&tar.Header{Name: p, Mode: 0o644, Size: info.Size(), ModTime: time.Unix(0, 0), Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		_, err = io.Copy(t, f)
		return err
	}); err != nil {
		return err
	}
	return t.Close()
}

// ReadSet reads an archive of [WriteSet], unpacking it into a folder that has to stay as long as the images are used.
func ReadSet(ctx context.Context, path, dir string) (Set, error) {
	fail := func(err error) (Set, error) { return nil, fmt.Errorf("reading image archive %s: %w", path, err) }
	if err := unpack(ctx, path, dir); err != nil {
		return fail(err)
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return fail(fmt.Errorf("it is no OCI layout in a tar file, as images -write makes it: %w", err))
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return fail(err)
	}
	set := Set{}
	for _, d := range manifest.Manifests {
		ref := nameOf(d)
		if ref == "" || !d.MediaType.IsIndex() {
			continue
		}
		if set[ref], err = index.ImageIndex(d.Digest); err != nil {
			return fail(fmt.Errorf("image %s: %w", ref, absent(err)))
		}
	}
	if len(set) == 0 {
		return fail(errors.New("it names no image for several platforms"))
	}
	return set, nil
}

// Push pushes the images to a mirror, and returns the references that they have there. Two that would have the same one are an error.
func (s Set) Push(ctx context.Context, mirror string, plainHTTP bool, progress func(string, ...any)) (there []string, err error) {
	var options []name.Option
	if plainHTTP {
		options = append(options, name.Insecure)
	}
	from := map[string]string{}
	for _, ref := range slices.Sorted(maps.Keys(s)) {
		at, err := Mirrored(mirror, ref)
		if err != nil {
			return there, err
		}
		at, _, _ = strings.Cut(at, "@")
		if other := from[at]; other != "" {
			return there, fmt.Errorf("pushing images to %s: %s and %s would both be %s", mirror, other, ref, at)
		}
		from[at] = ref
		tag, err := name.NewTag(at, options...)
		if err != nil {
			return there, fmt.Errorf("pushing image %s: %w", ref, err)
		}
		progress("pushing %s", at)
		if err := remote.WriteIndex(tag, s[ref], remoteOptions(ctx, nil)...); err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return there, fmt.Errorf("pushing image %s to %s: %w", ref, at, absent(err))
		}
		there = append(there, at)
	}
	return there, nil
}
