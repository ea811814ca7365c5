package host

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/podorder/podorder/fixtures/image/layer"
	"github.com/podorder/podorder/harness/archive"
)

// Patience, not rules: how long a runtime may take to answer, and to run the probe.
const (
	answerPatience = 20 * time.Second
	probePatience  = 2 * time.Minute
)

// The runtimes that kind knows, in the order in which they are tried.
var runtimes = []string{"docker", "podman", "nerdctl"}

//go:embed probe/main.go
var probeSource []byte

// probeImage is the image that is run to see whether a runtime can run privileged containers. It exists in no registry.
type probeImage struct{ archive, ref string }

// probePrefix is what the folder of a probe begins with.
const probePrefix = "podorder-probe-"

// probeRef is what the image of the probe in a folder is called. Each process has a probe of its own, so that two that start at once do not remove each
// other's; and the folder that a killed one leaves tells which image that one may have left.
func probeRef(dir string) string {
	return "localhost/podorder/probe:" + strings.TrimPrefix(filepath.Base(dir), probePrefix)
}

// newProbeImage compiles the probe and writes it into dir as an image archive that every runtime can load.
func newProbeImage(ctx context.Context, dir string) (probeImage, error) {
	program, err := compileProbe(ctx, dir)
	if err != nil {
		return probeImage{}, err
	}
	image, err := assemble(program)
	if err != nil {
		return probeImage{}, fmt.Errorf("make the probe's image: %w", err)
	}
	p := probeImage{archive: filepath.Join(dir, "probe.tar"), ref: probeRef(dir)}
	if err := archive.Write(p.archive, map[string]v1.Image{p.ref: image}); err != nil {
		return probeImage{}, fmt.Errorf("write the probe's image: %w", err)
	}
	return p, nil
}

func compileProbe(ctx context.Context, dir string) ([]byte, error) {
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "probe")
	if err := os.WriteFile(source, probeSource, 0o600); err != nil {
		return nil, fmt.Errorf("write the probe's source: %w", err)
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", binary, source)
	build.Dir = dir
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOFLAGS=", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile the probe that runs in a privileged container: %w: %s", err, bytes.TrimSpace(out))
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("read the compiled probe: %w", err)
	}
	return program, nil
}

// assemble makes an image of one program.
func assemble(program []byte) (v1.Image, error) {
	files := layer.Tree{}
	files.File("probe", 0o755, program)
	l, err := files.Layer(gzip.NoCompression)
	if err != nil {
		return nil, err
	}
	return layer.Image(runtime.GOARCH, v1.Config{Entrypoint: []string{"/probe"}}, l)
}

// errAbsent says that a runtime is not installed.
var errAbsent = errors.New("not installed")

// answers asks a runtime for its version; that takes a daemon where the runtime has one.
func (h *Host) answers(ctx context.Context) error {
	if _, err := exec.LookPath(h.runtime); err != nil {
		return errAbsent
	}
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	args := []string{"version", "--format", "{{.Server.Version}}"}
	if h.runtime == "podman" {
		args = []string{"version", "--format", "{{.Client.Version}}"}
	}
	out, err := h.Command(ctx, args...).Output()
	if err != nil {
		return fmt.Errorf("installed, but does not answer: %s", reason(err))
	}
	h.version = strings.TrimSpace(string(out))
	return nil
}

// probe loads the probe's image and runs it in a privileged container, as kind runs a node.
func (h *Host) probe(ctx context.Context, p probeImage) error {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	if _, err := h.Command(ctx, "load", "-i", p.archive).Output(); err != nil {
		return fmt.Errorf("cannot load an image: %s", reason(err))
	}
	defer h.removeProbe(ctx, p.ref)
	out, err := h.Command(ctx, "run", "--rm", "--privileged", "--security-opt", "seccomp=unconfined", "--network=none",
		"--tmpfs", "/tmp", "--tmpfs", "/run", "--cgroupns=private", p.ref).Output()
	text := strings.TrimSpace(string(out))
	if err != nil {
		if text != "" {
			return fmt.Errorf("a privileged container %s", text)
		}
		return fmt.Errorf("cannot run a privileged container: %s", reason(err))
	}
	if !strings.HasPrefix(text, "ok ") {
		return fmt.Errorf("a privileged container printed %q instead of \"ok\" and its capabilities", text)
	}
	return nil
}

// removeProbe removes the image of a probe, with a container of it.
func (h *Host) removeProbe(ctx context.Context, ref string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerPatience)
	defer cancel()
	_ = h.Command(ctx, "rmi", "-f", ref).Run() // a probe's image that stays is a few MiB, and no reason to fail
}

// reason is the last line that a failed command wrote on its standard error, which is where runtimes say what is wrong.
func reason(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		lines := strings.Split(strings.TrimSpace(string(exit.Stderr)), "\n")
		if last := lines[len(lines)-1]; last != "" {
			return last
		}
	}
	return err.Error()
}
