package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/podorder/podorder/fixtures/image"
	"github.com/podorder/podorder/harness/archive"
	"github.com/podorder/podorder/harness/nodeimage"
)

// need is an image that a run needs.
type need struct {
	ref string // as a manifest has it
	why string
}

// needs are the images that the selected cases name, the recorder first: the harness needs it in any case.
func (c *command) needs() ([]need, error) {
	cases, err := c.selected()
	if err != nil {
		return nil, err
	}
	of := map[string]int{image.RecorderRef: 0}
	for _, one := range cases {
		for _, ref := range one.Images() {
			of[ref]++
		}
	}
	var all []need
	for ref, n := range of {
		all = append(all, need{ref, "in " + plural(n, "case")})
	}
	slices.SortFunc(all, func(a, b need) int {
		if (a.ref == image.RecorderRef) != (b.ref == image.RecorderRef) {
			if a.ref == image.RecorderRef {
				return -1
			}
			return 1
		}
		return strings.Compare(a.ref, b.ref)
	})
	all[0].why += ", and for the log of every case; built here"
	if c.kubernetes != "" {
		ref, ok := nodeimage.Published(c.kubernetes)
		if !ok {
			c.progress("no registry has a node image of %s: the suite builds it, and finds it in the container runtime (scripts/node-image)", c.kubernetes)
			return all, nil
		}
		all = append(all, need{ref, "the node image, of a cluster that the suite makes"})
	}
	return all, nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// list prints the images.
func list(w io.Writer, needs []need, platforms []v1.Platform) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, n := range needs {
		fmt.Fprintf(t, "%s\t%s\t%s\n", n.ref, names(platforms), n.why)
	}
	t.Flush()
}

// get has all of the images for all of the platforms. Where one is made here, it is kept in a folder.
func (c *command) get(ctx context.Context, needs []need, dir string) (archive.Set, error) {
	set := archive.Set{}
	for _, n := range needs {
		var err error
		if n.ref == image.RecorderRef {
			set[n.ref], err = c.made(ctx, n.ref, dir, image.Recorder)
		} else {
			set[n.ref], err = c.found(ctx, n.ref, dir)
		}
		if err != nil {
			return nil, err
		}
	}
	return set, nil
}

// found finds an image in its registry. The shell image can be made instead, but for the architecture of this machine alone.
func (c *command) found(ctx context.Context, ref, dir string) (v1.ImageIndex, error) {
	c.progress("looking for %s", ref)
	index, err := archive.Find(ctx, ref, c.platforms)
	if err == nil || ref != image.ShellRef || ctx.Err() != nil {
		return index, err
	}
	own := len(c.platforms) == 1 && c.platforms[0].Architecture == runtime.GOARCH
	if !own {
		return nil, fmt.Errorf("%w; without a registry it can be made, for the architecture of this machine alone: -platforms=linux/%s", err, runtime.GOARCH)
	}
	c.progress("%v; making it from the distribution's busybox", err)
	return c.made(ctx, ref, dir, image.Shell)
}

// made makes an image for each platform.
func (c *command) made(ctx context.Context, ref, dir string, how func(context.Context, string, io.Writer) (string, error)) (v1.ImageIndex, error) {
	images := map[string]v1.Image{}
	for _, p := range c.platforms {
		c.progress("making %s for %s", ref, p)
		file := filepath.Join(dir, strings.NewReplacer("/", "-", ":", "-").Replace(ref+"-"+p.String())+".tar")
		f, err := os.Create(file)
		if err != nil {
			return nil, err
		}
		_, err = how(ctx, p.Architecture, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		if images[p.String()], err = tarball.ImageFromPath(file, nil); err != nil {
			return nil, fmt.Errorf("reading image %s: %w", ref, err)
		}
	}
	return archive.Index(images)
}
