package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/podorder/podorder/harness/host"
	"github.com/podorder/podorder/harness/internal/orphans"
)

// Sweep removes what a killed build left: half-made pieces in the cache, and with a runtime, which may be nil, the container and the base image of a
// node image. It returns what it removed, in words; with dry it only tells. While a build is under way it leaves everything alone.
func Sweep(ctx context.Context, h *host.Host, o Options, dry bool) (removed []string, err error) {
	dir, err := storeFolder(o.CacheDir)
	if err != nil {
		return nil, fmt.Errorf("sweep the cache: %w", err)
	}
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil, nil // nothing was ever built
	}
	lock := lockOf(dir)
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("sweep the cache: %w", err)
	}
	if !ok {
		if o.Progress != nil {
			o.Progress("leaving the cache %s: a build is under way", dir)
		}
		return nil, nil
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	left, err := leftPieces(dir)
	if err != nil {
		return nil, fmt.Errorf("sweep the cache: %w", err)
	}
	var errs []error
	take := func(what string, remove func() error) {
		if !dry {
			if err := remove(); err != nil {
				errs = append(errs, fmt.Errorf("sweep: remove %s: %w", what, err))
				return
			}
		}
		removed = append(removed, what)
	}
	for _, piece := range left {
		take("folder "+piece, func() error { return removeLeft(piece) })
	}
	if h == nil {
		return removed, errors.Join(errs...)
	}
	containers, err := builds(ctx, h, buildLabel(dir))
	if err != nil {
		return removed, errors.Join(append(errs, fmt.Errorf("sweep: list the containers of builds: %w", err))...)
	}
	for _, name := range containers {
		take("container "+name, func() error {
			_, err := runtimeCommand(ctx, h, "rm", "-f", "-v", name)
			return err
		})
	}
	// Another user of the runtime may build as well, with a cache of its own.
	others, err := builds(ctx, h, labelBuild)
	if err != nil || slices.ContainsFunc(others, func(name string) bool { return !slices.Contains(containers, name) }) {
		return removed, errors.Join(append(errs, err)...)
	}
	images, err := runtimeCommand(ctx, h, "images", "--format", "{{.Repository}}:{{.Tag}}")
	if err != nil {
		return removed, errors.Join(append(errs, fmt.Errorf("sweep: list images: %w", err))...)
	}
	for _, ref := range strings.Fields(images) {
		if strings.HasPrefix(ref, baseRepository+":") {
			take("image "+ref, func() error {
				_, err := runtimeCommand(ctx, h, "rmi", ref)
				return err
			})
		}
	}
	return removed, errors.Join(errs...)
}

// leftPieces are the folders in which an interrupted build was making pieces.
func leftPieces(dir string) ([]string, error) { return filepath.Glob(filepath.Join(dir, "tmp-*")) }

// removeLeft removes such a folder, and first ends the go command that may still work in it.
func removeLeft(piece string) error {
	if err := orphans.End(piece); err != nil {
		return err
	}
	return os.RemoveAll(piece)
}
