package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/podorder/podorder/harness/host"
)

// Default is the Kubernetes version that is used where nobody asks for another.
const Default = "v1.37.2"

// Image is a node image in the container runtime's own store, ready for kind.
type Image struct {
	Ref     string // what kind is to be given
	Version string // of Kubernetes
	Source  string // where it came from: "local", "pulled" or "built"
}

// Options are the choices of a caller of [Ensure].
type Options struct {
	Progress func(format string, args ...any) // one line of progress; nil for none
	CacheDir string                           // for pieces of builds; empty for podorder in the user's cache folder
	// Mirror, if set, says under which reference the published image is pulled.
	Mirror func(ref string) (string, error)
}

// Ensure makes sure that the runtime has a node image of this Kubernetes version: one that it has, else the published one that kind's
// release notes pin, else one that is built here. A version that cannot be had is an *[UnavailableError], which names the nearest ones.
func Ensure(ctx context.Context, h *host.Host, version string, o Options) (Image, error) {
	if err := CheckVersion(version); err != nil {
		return Image{}, err
	}
	say := o.Progress
	if say == nil {
		say = func(string, ...any) {}
	}
	published, pinned := Published(version)
	candidates := []string{localRef(version)}
	if pinned {
		candidates = append([]string{published}, candidates...)
		if o.Mirror != nil {
			var err error
			if published, err = o.Mirror(published); err != nil {
				return Image{}, err
			}
			candidates = append([]string{published}, candidates...)
		}
	}
	for _, ref := range candidates {
		have, err := present(ctx, h, ref)
		if err != nil {
			return Image{}, err
		}
		if have {
			return Image{Ref: ref, Version: version, Source: "local"}, nil
		}
	}
	if pinned {
		err := pull(ctx, h, published, say)
		if err == nil {
			return Image{Ref: published, Version: version, Source: "pulled"}, nil
		}
		if ctx.Err() != nil {
			return Image{}, err
		}
		lines := strings.Split(err.Error(), "\n")
		say("%s could not be pulled (%s); building it instead", published, strings.TrimSpace(lines[len(lines)-1]))
	}
	ref, err := build(ctx, h, version, o, say)
	if err != nil {
		return Image{}, err
	}
	return Image{Ref: ref, Version: version, Source: "built"}, nil
}

// Effort is what has to be done for a node image or a kubelet.
type Effort uint8

// The efforts, the least first.
const (
	Nothing    Effort = iota // it is there
	PullOrMake               // it is pulled, and built where no registry has it
	Make                     // it is built from its modules
)

// EffortFor says what [Ensure] would have to do for the image of a version.
func EffortFor(ctx context.Context, h *host.Host, version string) (Effort, error) {
	published, isPinned := Published(version)
	candidates := []string{localRef(version)}
	if isPinned {
		candidates = append(candidates, published)
	}
	for _, ref := range candidates {
		if have, err := present(ctx, h, ref); err != nil || have {
			return Nothing, err
		}
	}
	if isPinned {
		return PullOrMake, nil
	}
	return Make, nil
}

// KubeletEffort says what [Kubelet] would have to do for a version.
func KubeletEffort(ctx context.Context, version string, o Options) (Effort, error) {
	if err := CheckKubelet(version); err != nil {
		return Nothing, err
	}
	dir, err := storeFolder(o.CacheDir)
	if err != nil {
		return Nothing, err
	}
	file, err := keptKubelet(ctx, dir, version)
	if err != nil || file != "" {
		return Nothing, err
	}
	return Make, nil
}

// Named makes sure that the runtime has the image that the user names, pulling it if need be, and reads its Kubernetes version from it. An
// image that cannot be had, or that is no node image, is an error that says so.
func Named(ctx context.Context, h *host.Host, ref string, o Options) (Image, error) {
	say := o.Progress
	if say == nil {
		say = func(string, ...any) {}
	}
	img := Image{Ref: ref, Source: "local"}
	have, err := present(ctx, h, ref)
	if err != nil {
		return img, err
	}
	if !have {
		if err := pull(ctx, h, ref, say); err != nil {
			return img, fmt.Errorf("node image %s is not in %s's store and cannot be pulled: %w", ref, h.Runtime(), err)
		}
		img.Source = "pulled"
	}
	out, err := runtimeCommand(ctx, h, "run", "--rm", "--network=none", "--entrypoint", "cat", ref, "/kind/version")
	if err != nil {
		return img, fmt.Errorf("image %s is no kind node image: reading its /kind/version failed: %w", ref, err)
	}
	img.Version = strings.TrimSpace(out)
	return img, nil
}

// present reports whether the runtime has an image.
func present(ctx context.Context, h *host.Host, ref string) (bool, error) {
	_, err := runtimeCommand(ctx, h, "image", "inspect", "--format", "{{.Id}}", ref)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, &exit) && ctx.Err() == nil:
		return false, nil
	}
	return false, fmt.Errorf("look for image %s: %w", ref, err)
}

// Patience with registries: how long one may take to say anything about an image, and how long the whole image may take.
const (
	answerPatience = 30 * time.Second
	pullPatience   = 15 * time.Minute
)

var errNoAnswer = errors.New("no registry answered")

// pull pulls an image. Where no registry can be reached it gives up soon.
func pull(ctx context.Context, h *host.Host, ref string, say func(string, ...any)) error {
	say("pulling %s (giving up if no registry answers within %s)", ref, answerPatience)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(answerPatience, func() { cancel(errNoAnswer) })
	defer timer.Stop()
	var lines atomic.Int32
	answered := func(string) bool {
		// Podman's first line says that it tries; the next one, and Docker's first, come from an answer. Retries are no answer.
		if lines.Add(1) == 2 {
			timer.Reset(pullPatience)
		}
		return true
	}
	start := time.Now()
	cmd := h.Command(ctx, "pull", ref)
	if h.Runtime() != "podman" {
		lines.Store(1)
		cmd.Stdout = writerFunc(func(line string) { answered(line) })
	}
	if _, err := finish(ctx, cmd, answered); err != nil {
		if context.Cause(ctx) == errNoAnswer {
			return fmt.Errorf("pull %s: %w within %s", ref, errNoAnswer, time.Since(start).Round(time.Second))
		}
		return fmt.Errorf("pull %s: %w", ref, err)
	}
	say("pulled in %s", time.Since(start).Round(time.Second))
	return nil
}

// writerFunc is a writer that hands on whatever is written.
type writerFunc func(string)

func (f writerFunc) Write(b []byte) (int, error) {
	f(string(b))
	return len(b), nil
}
