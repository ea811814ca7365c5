package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"

	"github.com/podorder/podorder/harness/archive"
)

// LoadArchive loads the images of an archive into all nodes at once, except where a node has the very same ones. The archive may be of any engine and
// for many platforms: a node gets what is for its own, once that was seen to be complete. Temporary files are made below tmp, and removed.
func (c *Cluster) LoadArchive(ctx context.Context, path, tmp string) (err error) {
	if !c.Access() {
		return fmt.Errorf("loading image archive %s: the nodes of cluster %s are not containers of this machine; push the images to where they can pull them from",
			path, c.Name)
	}
	dir, err := os.MkdirTemp(tmp, "images-")
	if err != nil {
		return fmt.Errorf("loading image archive %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	type loadable struct {
		images []archive.Image
		path   string
	}
	forPlatform := map[string]loadable{}
	for _, n := range c.Nodes {
		if _, has := forPlatform[n.Platform]; has {
			continue
		}
		platform, err := v1.ParsePlatform(n.Platform)
		if err != nil {
			return fmt.Errorf("loading image archive %s into node %s: %w", path, n.Name, err)
		}
		l := loadable{path: filepath.Join(dir, strings.ReplaceAll(n.Platform, "/", "-")+".tar")}
		if l.images, err = archive.Reduce(ctx, path, l.path, *platform); err != nil {
			return fmt.Errorf("loading image archive into node %s: %w", n.Name, err)
		}
		forPlatform[n.Platform] = l
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, n := range c.Nodes {
		g.Go(func() error {
			l := forPlatform[n.Platform]
			if err := n.load(ctx, l.images, l.path); err != nil {
				return fmt.Errorf("loading image archive %s into node %s: %w", path, n.Name, err)
			}
			return nil
		})
	}
	return g.Wait()
}

func (n Node) load(ctx context.Context, images []archive.Image, path string) error {
	node := n.bound(ctx)
	missing := slices.ContainsFunc(images, func(i archive.Image) bool {
		id, err := nodeutils.ImageID(node, i.Name) // an error says that there is none
		return err != nil || id != i.ID
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
	for _, i := range images {
		if id, err := nodeutils.ImageID(node, i.Name); err != nil || id != i.ID {
			return fmt.Errorf("the node has image ID %q for %s after loading, not %q", id, i.Name, i.ID)
		}
	}
	return nil
}
