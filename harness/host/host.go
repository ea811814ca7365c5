package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"sigs.k8s.io/kind/pkg/cluster"
)

// Options say how far [Detect] may go.
type Options struct {
	NoInstall bool                             // never install a package
	Progress  func(format string, args ...any) // one line of progress; nil for none
}

// Host is a container runtime that was seen to run a privileged container, and what this machine needs around it. Close it after use.
type Host struct {
	runtime string
	version string
	facts   facts
	storage string // folder in which the runtime keeps images
	disk    uint64 // bytes free there
	private string // private folder with containers.conf; empty where none is needed
	notes   []string

	noInstall  bool // no package may be installed
	madeFolder bool // modulesFolder was missing and has been made
}

// Detect finds a container runtime that can run kind nodes. The error names every runtime that was tried and why it will not do, and what to
// install or start.
func Detect(ctx context.Context, o Options) (*Host, error) {
	f, err := readFacts(os.DirFS("/"), os.Geteuid(), runtime.NumCPU())
	if err != nil {
		return nil, fmt.Errorf("look at this machine: %w", err)
	}
	return detect(ctx, o, f)
}

func detect(ctx context.Context, o Options, f facts) (*Host, error) {
	left, err := leftFolders(os.TempDir(), alive)
	if err != nil {
		return nil, fmt.Errorf("look for what a killed run left: %w", err)
	}
	h, err := find(ctx, o, f)
	if e := removeLeft(ctx, h, left); e != nil && err == nil {
		return nil, errors.Join(fmt.Errorf("remove what a killed run left: %w", e), h.Close())
	}
	return h, err
}

func find(ctx context.Context, o Options, f facts) (*Host, error) {
	progress := o.Progress
	if progress == nil {
		progress = func(string, ...any) {}
	}
	dir, err := temporary("probe")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the probe: %w", err)
	}
	defer os.RemoveAll(dir)
	// Made for the first runtime that answers, and used for all.
	probe := sync.OnceValues(func() (probeImage, error) { return newProbeImage(ctx, dir) })

	names := runtimes
	// kind's own variable chooses among its runtimes, so it does here.
	if name := os.Getenv("KIND_EXPERIMENTAL_PROVIDER"); name != "" {
		if !slices.Contains(runtimes, name) {
			return nil, fmt.Errorf("KIND_EXPERIMENTAL_PROVIDER=%q: kind knows %s", name, strings.Join(runtimes, ", "))
		}
		names = []string{name}
	}
	var tried []string
	for _, name := range names {
		h, err := try(ctx, name, f, probe)
		if err == nil {
			h.notes, h.noInstall = tried, o.NoInstall
			return h, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("look for a container runtime: %w", context.Cause(ctx))
		}
		tried = append(tried, name+": "+err.Error())
		if !errors.Is(err, errAbsent) {
			progress("%s: %v", name, err)
		}
	}

	advice := f.advice(o.NoInstall)
	_, err = exec.LookPath("podman")
	if installed := err == nil; installed {
		advice = refused
	} else if advice == "" && slices.Contains(names, "podman") {
		// Docker and nerdctl need a daemon, which takes a change of the system; Podman needs none.
		if err := install(ctx, progress, []string{"podman"}, podmanPackages[1:]...); err != nil {
			return nil, fmt.Errorf("no container runtime here can run kind nodes (%s), and installing Podman failed: %w", strings.Join(tried, "; "), err)
		}
		h, err := try(ctx, "podman", f, probe)
		if err == nil {
			h.notes, h.noInstall = tried, o.NoInstall
			return h, nil
		}
		tried = append(tried, "podman, just installed: "+err.Error())
		advice = refused
	}
	if advice == "" {
		advice = "unset KIND_EXPERIMENTAL_PROVIDER to have Podman installed"
	}
	return nil, fmt.Errorf("no container runtime here can run kind nodes:\n  %s\n%s", strings.Join(tried, "\n  "), advice)
}

// refused is the advice where a runtime is installed but does not run privileged containers.
const refused = "A runtime is installed, but refuses for the reason above: allow privileged containers here, or run on another machine."

// temporary makes a folder whose name tells the process that it belongs to.
func temporary(purpose string) (string, error) {
	return os.MkdirTemp("", fmt.Sprintf("podorder-%s-%d-", purpose, os.Getpid()))
}

// leftFolders are the temporary folders in parent of processes that are gone.
func leftFolders(parent string, alive func(pid int) bool) (left []string, err error) {
	for _, purpose := range []string{"probe", "host"} {
		all, err := filepath.Glob(filepath.Join(parent, "podorder-"+purpose+"-*-*"))
		if err != nil {
			return nil, err
		}
		for _, dir := range all {
			if pid, err := strconv.Atoi(strings.Split(filepath.Base(dir), "-")[2]); err == nil && !alive(pid) {
				left = append(left, dir)
			}
		}
	}
	return left, nil
}

// removeLeft removes such folders, and what the runtime, which may be nil, has of the probes that were made in them.
func removeLeft(ctx context.Context, h *Host, left []string) error {
	for _, dir := range left {
		if h != nil && strings.HasPrefix(filepath.Base(dir), probePrefix) {
			h.removeProbe(ctx, probeRef(dir))
		}
		// Another user's folder is that user's to remove.
		if err := os.RemoveAll(dir); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

// alive reports whether a process runs, whoever it belongs to. One that has ended and only waits to be reaped does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil {
		// pid (command) state; the command may hold anything.
		f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		return len(f) == 0 || f[0] != "Z" && f[0] != "X"
	}
	return !errors.Is(unix.Kill(pid, 0), unix.ESRCH)
}

// advice says what the user has to do to get a runtime; it is empty where Podman may be installed at once.
func (f facts) advice(noInstall bool) string {
	switch {
	case !f.debian() && f.name != "":
		return fmt.Sprintf("This is %s. Install Podman, or Docker and start its daemon, so that this user may run privileged containers.", f.name)
	case !f.debian():
		return "Install Podman, or Docker and start its daemon, so that this user may run privileged containers."
	case f.uid != 0:
		return "As root: apt-get install " + strings.Join(podmanPackages, " ") + "; then run as root, or start a Docker daemon that this user may use."
	case noInstall:
		return "Nothing was installed, because -no-install was given. As root: apt-get install " + strings.Join(podmanPackages, " ")
	}
	return ""
}

// try probes one runtime and returns it ready for use.
func try(ctx context.Context, name string, f facts, image func() (probeImage, error)) (_ *Host, err error) {
	h := &Host{runtime: name, facts: f}
	if _, err := exec.LookPath(name); err != nil {
		return nil, errAbsent
	}
	defer func() {
		if err != nil {
			_ = h.Close()
		}
	}()
	if name == "podman" {
		_, err := exec.LookPath("runc")
		if text := containersConf(f, err == nil); text != "" {
			if h.private, err = temporary("host"); err != nil {
				return nil, fmt.Errorf("make a folder for private configuration: %w", err)
			}
			if err := os.WriteFile(filepath.Join(h.private, "containers.conf"), []byte(text), 0o600); err != nil {
				return nil, fmt.Errorf("write private configuration: %w", err)
			}
		}
	}
	if err := h.answers(ctx); err != nil {
		return nil, err
	}
	p, err := image()
	if err != nil {
		return nil, err
	}
	if err := h.probe(ctx, p); err != nil {
		return nil, err
	}
	if name != "docker" {
		if h.madeFolder, err = ensureModulesFolder(modulesFolder); err != nil {
			return nil, err
		}
	}
	h.storage = h.storageFolder(ctx)
	if h.disk, err = freeDisk(h.storage); err != nil {
		return nil, fmt.Errorf("see how much disk is free: %w", err)
	}
	return h, nil
}

// modulesFolder is where kernel modules are. kind mounts it into every node.
const modulesFolder = "/lib/modules"

// ensureModulesFolder makes the folder where a machine, having no modules, lacks it. Docker does so by itself when it is told to mount a
// folder; the other runtimes refuse to start the node. The folder stays, because the mounts of nodes that are kept refer to it.
func ensureModulesFolder(folder string) (made bool, err error) {
	if _, err := os.Stat(folder); err == nil {
		return false, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return false, fmt.Errorf("kind mounts %s into nodes, and this machine does not have it; as root: mkdir %[1]s (%w)", folder, err)
	}
	return true, nil
}

// storageFolder is where the runtime keeps images; the root folder if it does not say, or says one that is not on this machine.
func (h *Host) storageFolder(ctx context.Context) string {
	format := "{{.DockerRootDir}}"
	if h.runtime == "podman" {
		format = "{{.Store.GraphRoot}}"
	}
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	out, err := h.Command(ctx, "info", "--format", format).Output()
	if dir := strings.TrimSpace(string(out)); err == nil && dir != "" {
		if _, err := os.Stat(dir); err == nil {
			return dir
		}
	}
	return "/"
}

// Runtime is the command of the runtime: "docker", "podman" or "nerdctl".
func (h *Host) Runtime() string { return h.runtime }

// Environ is what every process that calls the runtime, kind included, needs in its environment, as KEY=VALUE.
func (h *Host) Environ() []string {
	env := []string{"KIND_EXPERIMENTAL_PROVIDER=" + h.runtime}
	if h.private != "" {
		env = append(env, "CONTAINERS_CONF="+filepath.Join(h.private, "containers.conf"))
	}
	return env
}

// Command is the runtime with these arguments, not started yet. When ctx ends it is interrupted, so that it can remove what it made, and
// killed 10 seconds later.
func (h *Host) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, h.runtime, args...)
	cmd.Env = append(os.Environ(), h.Environ()...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// KindOption makes kind's library use this runtime. The process itself must have [Host.Environ] in its environment.
func (h *Host) KindOption() cluster.ProviderOption {
	switch h.runtime {
	case "podman":
		return cluster.ProviderWithPodman()
	case "nerdctl":
		return cluster.ProviderWithNerdctl("nerdctl")
	}
	return cluster.ProviderWithDocker()
}

// KubeadmPatches are the kubeadmConfigPatches that a kind cluster of this Kubernetes version needs on this machine; usually none.
func (h *Host) KubeadmPatches(version string) []string { return kubeadmPatches(h.facts, version) }

// ContainerdPatches are the containerdConfigPatches that a kind cluster needs on this machine; usually none.
func (h *Host) ContainerdPatches() []string { return containerdPatches(h.facts) }

// Report says what was found and what is too small, in lines for a reader.
func (h *Host) Report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-18s %s %s; a privileged container was run\n", "container runtime", h.runtime, h.version)
	for _, note := range h.notes {
		fmt.Fprintf(&b, "%-18s %s\n", "  not used", note)
	}
	if h.facts.name != "" {
		fmt.Fprintf(&b, "%-18s %s, Linux %s\n", "system", h.facts.name, h.facts.kernel)
	}
	small := 0
	for _, l := range reportLines(h.facts, h.disk, h.storage) {
		fmt.Fprintf(&b, "%-18s %s\n", l.name, l.found)
		if l.small != "" {
			small++
			fmt.Fprintf(&b, "%-18s TOO SMALL: %s\n", "", l.small)
		}
	}
	for _, a := range h.adaptations() {
		fmt.Fprintf(&b, "%-18s %s\n", "adaptation", a)
	}
	if small == 0 {
		b.WriteString("Nothing is too small.\n")
	}
	return b.String()
}

// adaptations says what is done differently on this machine, and why.
func (h *Host) adaptations() []string {
	var all []string
	if h.madeFolder {
		all = append(all, "made the empty folder "+modulesFolder+", which kind mounts into nodes")
	}
	if h.private != "" {
		all = append(all, "Podman gets a private containers.conf (no raised limits without CAP_SYS_RESOURCE; runc on cgroup v1)")
	}
	if !h.facts.can(capSysResource) {
		all = append(all, "containerd in the nodes keeps OOM scores as they are (no CAP_SYS_RESOURCE)")
	}
	if h.facts.cgroup == 1 {
		all = append(all, "kubelets are told to accept cgroup v1 (failCgroupV1: false), and nodes use the cgroupfs driver")
	}
	return all
}

// Close removes the private configuration. Clusters that are running go on running.
func (h *Host) Close() error {
	if h.private == "" {
		return nil
	}
	if err := os.RemoveAll(h.private); err != nil {
		return fmt.Errorf("remove private configuration: %w", err)
	}
	return nil
}
