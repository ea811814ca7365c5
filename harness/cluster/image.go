package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"
)

// archived is one image in an archive.
type archived struct{ ref, id string }

// images returns what is in an archive as "docker save" writes it.
func images(path string) ([]archived, error) {
	open := tarball.Opener(func() (io.ReadCloser, error) { return os.Open(path) })
	m, err := tarball.LoadManifest(open)
	if err != nil {
		return nil, fmt.Errorf("reading image archive %s: %w", path, err)
	}
	var all []archived
	for _, d := range m {
		for _, tag := range d.RepoTags {
			t, err := name.NewTag(tag)
			if err != nil {
				return nil, fmt.Errorf("reading image archive %s: %w", path, err)
			}
			img, err := tarball.Image(open, &t)
			if err != nil {
				return nil, fmt.Errorf("reading image %s of archive %s: %w", tag, path, err)
			}
			id, err := img.ConfigName()
			if err != nil {
				return nil, fmt.Errorf("reading image %s of archive %s: %w", tag, path, err)
			}
			all = append(all, archived{tag, id.String()})
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("image archive %s names no image", path)
	}
	return all, nil
}

// LoadArchive loads the images of an archive, as "docker save" writes it, into all nodes at once, except where a node has the very same ones.
func (c *Cluster) LoadArchive(ctx context.Context, path string) error {
	all, err := images(path)
	if err != nil {
		return err
	}
	var refs []string
	for _, i := range all {
		refs = append(refs, i.ref)
	}
	if !c.Access() {
		return fmt.Errorf("loading image %s: the nodes of cluster %s are not containers of this machine; push the image to where they can pull it from",
			strings.Join(refs, ", "), c.Name)
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, n := range c.Nodes {
		g.Go(func() error {
			if err := n.load(ctx, all, path); err != nil {
				return fmt.Errorf("loading image %s into node %s: %w", strings.Join(refs, ", "), n.Name, err)
			}
			return nil
		})
	}
	return g.Wait()
}

func (n Node) load(ctx context.Context, all []archived, path string) error {
	node := n.bound(ctx)
	missing := slices.ContainsFunc(all, func(i archived) bool {
		id, err := nodeutils.ImageID(node, i.ref) // an error says that there is none
		return err != nil || id != i.id
	})
	if !missing {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := nodeutils.LoadImageArchive(node, f); err != nil {
		return withOutput(err)
	}
	// ctr does not fail over an archive in which it finds nothing that it likes.
	for _, i := range all {
		if id, err := nodeutils.ImageID(node, i.ref); err != nil || id != i.id {
			return fmt.Errorf("the node has image ID %q for %s after loading, not %q", id, i.ref, i.id)
		}
	}
	return nil
}
