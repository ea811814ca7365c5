package run

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/fixtures/image"
)

// pullPatience bounds the attempt to pull the shell image: where there is no
// way to a registry, nothing says so.
const pullPatience = 30 * time.Second

// commander calls the container runtime; *host.Host is one.
type commander interface {
	Command(ctx context.Context, args ...string) *exec.Cmd
}

// archives writes the images that the cases need into a folder and returns the
// paths. Images that the flags name are not among them: the nodes pull those.
func (s *Suite) archives(ctx context.Context, rt commander, dir string) ([]string, error) {
	var paths []string
	g, ctx := errgroup.WithContext(ctx)
	if s.options.RecorderImage == "" {
		// The harness reads the log with it, so it is needed in any case.
		path := filepath.Join(dir, "recorder.tar")
		paths = append(paths, path)
		g.Go(func() error {
			return writeFile(path, func(w io.Writer) error {
				_, err := image.Recorder(ctx, runtime.GOARCH, w)
				return err
			})
		})
	}
	if s.options.ShellImage == "" && uses(s.cases, image.ShellRef) {
		path := filepath.Join(dir, "shell.tar")
		paths = append(paths, path)
		g.Go(func() error { return shellArchive(ctx, rt, path, s.progress.Printf) })
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("assembling the images of the test Pods: %w", err)
	}
	return paths, nil
}

// withImages returns the case with a Pod that has the images that the flags
// name. It is the Pod that is run and the one that is judged.
func (s *Suite) withImages(c fixtures.Case) (fixtures.Case, error) {
	named := map[string]string{}
	if s.options.RecorderImage != "" {
		named[image.RecorderRef] = s.options.RecorderImage
	}
	if s.options.ShellImage != "" {
		named[image.ShellRef] = s.options.ShellImage
	}
	if len(named) == 0 {
		return c, nil
	}
	return c.WithImages(named)
}

// uses reports whether a Pod of the cases has a container of an image.
func uses(cases []fixtures.Case, ref string) bool {
	for _, c := range cases {
		spec := c.Pod().Spec
		for _, container := range append(spec.InitContainers, spec.Containers...) {
			if container.Image == ref {
				return true
			}
		}
	}
	return false
}

// shellArchive writes the shell image: the one that the runtime has, else one
// that it can pull, else one made from the distribution's busybox.
func shellArchive(ctx context.Context, rt commander, path string, progress func(string, ...any)) error {
	// Podman asks which registry is meant by a short name.
	full := "docker.io/library/" + image.ShellRef
	local := call(rt.Command(ctx, "image", "inspect", full)) == nil
	if !local {
		pull, cancel := context.WithTimeout(ctx, pullPatience)
		err := call(rt.Command(pull, "pull", full))
		cancel()
		if ctx.Err() != nil {
			return fmt.Errorf("pulling %s: %w", full, context.Cause(ctx))
		}
		local = err == nil
	}
	if local {
		if err := call(rt.Command(ctx, "save", "-o", path, full)); err != nil {
			return fmt.Errorf("saving %s: %w", full, err)
		}
		return nil
	}
	progress("%s can neither be found nor pulled; making it from the distribution's busybox", image.ShellRef)
	return writeFile(path, func(w io.Writer) error {
		_, err := image.Shell(ctx, runtime.GOARCH, w)
		return err
	})
}

// call runs a command; its error has what the command complained about.
func call(cmd *exec.Cmd) error {
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args[:min(len(cmd.Args), 3)], " "), err, strings.TrimSpace(complaint.String()))
	}
	return nil
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
