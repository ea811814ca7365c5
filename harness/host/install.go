package host

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// podmanPackages are Podman and what a kind node needs of it: runc for cgroup v1, netavark and aardvark-dns for the network in which nodes
// find each other by name. Those that a release of the distribution does not have are left out.
var podmanPackages = []string{"podman", "runc", "conmon", "netavark", "aardvark-dns", "iptables"}

// InstallPackages installs packages of Debian or Ubuntu, as root, with the mirrors that the system is configured for, and says so. Packages
// named in optional are left out where the distribution does not have them.
func InstallPackages(ctx context.Context, progress func(string, ...any), packages []string, optional ...string) error {
	known := func(p string) bool {
		out, err := exec.CommandContext(ctx, "apt-cache", "policy", p).Output()
		return err == nil && bytes.Contains(out, []byte("Candidate:")) && !bytes.Contains(out, []byte("Candidate: (none)"))
	}
	start := time.Now()
	progress("installing %s with apt-get", strings.Join(append(packages[:len(packages):len(packages)], optional...), ", "))
	for _, p := range packages {
		if !known(p) {
			// The lists of a new machine are empty, or older than what the mirrors serve.
			if err := UpdatePackageLists(ctx); err != nil {
				return err
			}
			break
		}
	}
	install := func() error {
		args := append([]string{"install", "-y", "--no-install-recommends"}, packages...)
		for _, p := range optional {
			if known(p) {
				args = append(args, p)
			}
		}
		return aptGet(ctx, args...)
	}
	if err := install(); err != nil {
		// A mirror drops packages that have been replaced since the lists were read.
		if err := UpdatePackageLists(ctx); err != nil {
			return err
		}
		if err := install(); err != nil {
			return err
		}
	}
	progress("installed in %s", time.Since(start).Round(time.Second))
	return nil
}

// UpdatePackageLists reads the lists of the distribution's packages anew, as root.
func UpdatePackageLists(ctx context.Context) error { return aptGet(ctx, "update") }

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
