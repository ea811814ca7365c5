// Command probe runs inside a privileged container and does what the entrypoint of a kind node is about to do: mount, bind, and look at its
// own capabilities. It prints one line, "ok CAPABILITIES", and exits with 0, or says what failed and exits with 1.
//
// It uses the standard library only, because it is compiled from its embedded source on the machine that is being probed.
package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

func main() {
	if err := run(); err != nil {
		fmt.Println("cannot", err)
		os.Exit(1)
	}
}

func run() error {
	for _, dir := range []string{"/probe-a", "/probe-b"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make a folder: %w", err)
		}
	}
	if err := syscall.Mount("tmpfs", "/probe-a", "tmpfs", 0, ""); err != nil {
		return fmt.Errorf("mount a tmpfs: %w", err)
	}
	if err := os.WriteFile("/probe-a/file", []byte("x"), 0o644); err != nil {
		return fmt.Errorf("write to a tmpfs: %w", err)
	}
	if err := syscall.Mount("/probe-a", "/probe-b", "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind a folder: %w", err)
	}
	if _, err := os.Stat("/probe-b/file"); err != nil {
		return fmt.Errorf("see a file through a bind mount: %w", err)
	}
	// A kind node makes its cgroup tree private before it changes it.
	if err := syscall.Mount("", "/sys/fs/cgroup", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make /sys/fs/cgroup private: %w", err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return fmt.Errorf("read its capabilities: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if caps, ok := strings.CutPrefix(line, "CapEff:"); ok {
			fmt.Println("ok", strings.TrimSpace(caps))
			return nil
		}
	}
	return fmt.Errorf("find CapEff in /proc/self/status")
}
