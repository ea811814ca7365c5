package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// podmanPackages are Podman and what a kind node needs of it: runc for cgroup v1, netavark and aardvark-dns for the network in which nodes
// find each other by name. Those that a release of the distribution does not have are left out.
var podmanPackages = []string{"podman", "runc", "conmon", "netavark", "aardvark-dns", "iptables"}

// InstallPackages installs packages of Debian or Ubuntu with the mirrors that the system is configured for, and says so. It refuses, naming
// the command to run, where [Options.NoInstall] was given or the user is not root.
func (h *Host) InstallPackages(ctx context.Context, progress func(format string, args ...any), packages ...string) error {
	if h.noInstall || h.facts.uid != 0 || !h.facts.debian() {
		return fmt.Errorf("packages are missing; on Debian or Ubuntu, as root: apt-get install %s", strings.Join(packages, " "))
	}
	return install(ctx, progress, packages)
}

// install installs packages as root. Those named in optional are left out where the distribution does not have them.
func install(ctx context.Context, progress func(string, ...any), packages []string, optional ...string) error {
	known := func(p string) bool {
		out, err := exec.CommandContext(ctx, "apt-cache", "policy", p).Output()
		return err == nil && bytes.Contains(out, []byte("Candidate:")) && !bytes.Contains(out, []byte("Candidate: (none)"))
	}
	start := time.Now()
	progress("installing %s with apt-get", strings.Join(append(packages[:len(packages):len(packages)], optional...), ", "))
	for _, p := range packages {
		if !known(p) {
			// The lists of a new machine are empty, or older than what the mirrors serve.
			if err := aptGet(ctx, "update"); err != nil {
				return err
			}
			break
		}
	}
	attempt := func() error {
		args := append([]string{"install", "-y", "--no-install-recommends"}, packages...)
		for _, p := range optional {
			if known(p) {
				args = append(args, p)
			}
		}
		return aptGet(ctx, args...)
	}
	if err := attempt(); err != nil {
		// A mirror drops packages that have been replaced since the lists were read.
		if err := aptGet(ctx, "update"); err != nil {
			return err
		}
		if err := attempt(); err != nil {
			return err
		}
	}
	progress("installed in %s", time.Since(start).Round(time.Second))
	return nil
}

// UpdatePackageLists reads the lists of the distribution's packages again. It refuses as [Host.InstallPackages] does.
func (h *Host) UpdatePackageLists(ctx context.Context) error {
	if h.noInstall || h.facts.uid != 0 || !h.facts.debian() {
		return errors.New("the lists of packages are missing; on Debian or Ubuntu, as root: apt-get update")
	}
	return aptGet(ctx, "update")
}

func aptGet(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"-q", "-o", "DPkg::Lock::Timeout=300"}, args...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // dpkg is not to be killed half-way
	cmd.WaitDelay = time.Minute
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("apt-get %s: %w: %s", strings.Join(args, " "), err, lastLines(out, 5))
	}
	return nil
}

func lastLines(b []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}
