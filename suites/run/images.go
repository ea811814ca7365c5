package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/fixtures/image"
	"github.com/podorder/podorder/harness/archive"
)

// pullPatience bounds the attempt to pull the shell image: where there is no
// way to a registry, nothing says so.
const pullPatience = 30 * time.Second

// shellImage is the whole name of the shell image: runtimes do not agree on what
// a short one stands for.
const shellImage = "docker.io/library/" + image.ShellRef

// commander calls the container runtime; *host.Host is one.
type commander interface {
	Command(ctx context.Context, args ...string) *exec.Cmd
}

// archives writes the images that the cases need into a folder and returns the
// paths. Images that the flags name are not among them: the nodes pull those.
func (s *Suite) archives(ctx context.Context, rt commander, dir string) ([]string, error) {
	var paths []string
	g, ctx := errgroup.WithContext(ctx)
	if s.recorderImage() == "" {
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
	if s.options.ShellImage == "" && s.options.ImageMirror == "" && uses(s.cases, image.ShellRef) {
		path := filepath.Join(dir, "shell.tar")
		paths = append(paths, path)
		g.Go(func() error {
			return shellArchive(ctx, rt, shellImage, path, v1.Platform{OS: "linux", Architecture: runtime.GOARCH}, s.progress.Printf)
		})
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
	if s.options.ImageMirror != "" {
		for _, ref := range c.Images() {
			at, err := s.mirrored(ref)
			if err != nil {
				return c, fmt.Errorf("-image-mirror: %w", err)
			}
			named[ref] = at
		}
	}
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

// mirrored is the reference of an image in the mirror that the flags name.
func (s *Suite) mirrored(ref string) (string, error) {
	return archive.Mirrored(s.options.ImageMirror, ref)
}

// recorderImage is the recorder image that the nodes pull; empty where it is loaded into them.
func (s *Suite) recorderImage() string {
	if s.options.RecorderImage != "" || s.options.ImageMirror == "" {
		return s.options.RecorderImage
	}
	ref, _ := s.mirrored(image.RecorderRef) // a mirror that is none was refused at the start
	return ref
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

// shellArchive writes the shell image for a platform: the one that the runtime
// has, else one that can be pulled, else one made from the distribution's
// busybox. Who has the image has a reason, so one that the runtime has not all of
// is never replaced by one that was made here.
func shellArchive(ctx context.Context, rt commander, ref, path string, platform v1.Platform, progress func(string, ...any)) error {
	var unfit error
	if call(rt.Command(ctx, "image", "inspect", ref)) == nil {
		if unfit = savedArchive(ctx, rt, ref, path, platform); unfit == nil || ctx.Err() != nil {
			return unfit
		}
		progress("%v; pulling it instead", unfit)
	}
	pull, cancel := context.WithTimeoutCause(ctx, pullPatience, fmt.Errorf("not there within %v", pullPatience))
	pulled, err := archive.Pull(pull, ref, path, platform)
	cancel()
	switch {
	case err == nil:
		progress("pulled %s@%s for %s", ref, pulled.Digest, platform)
		return nil
	case ctx.Err() != nil:
		return err
	case unfit != nil:
		return fmt.Errorf("%w\n%w", unfit, err)
	}
	progress("the container runtime has no %s, and it cannot be pulled (%v); making it from the distribution's busybox", ref, err)
	return writeFile(path, func(w io.Writer) error {
		_, err := image.Shell(ctx, platform.Architecture, w)
		return err
	})
}

// savedArchive writes an image that the runtime has. What the runtime saves may
// name other platforms, which it does not have.
func savedArchive(ctx context.Context, rt commander, ref, path string, platform v1.Platform) (err error) {
	saved := path + ".saved"
	defer func() {
		if e := os.Remove(saved); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("removing a temporary archive: %w", e))
		}
	}()
	if err := call(rt.Command(ctx, "save", "-o", saved, ref)); err != nil {
		return fmt.Errorf("saving %s: %w", ref, err)
	}
	if _, err := archive.Reduce(ctx, saved, path, platform); err != nil {
		return fmt.Errorf("saving %s: %w", ref, err)
	}
	return nil
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
