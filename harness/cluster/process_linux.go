package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// bootID is another one after each boot of the machine.
func bootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(b), err
}

// processStart returns when a process started, in clock ticks since boot, and whether it has ended and only waits to be reaped.
func processStart(pid int) (ticks uint64, zombie bool, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false, fmt.Errorf("reading the state of process %d: %w", pid, err)
	}
	// The second field is the command in parentheses and may hold anything, so count after the last of them.
	i := strings.LastIndexByte(string(b), ')')
	f := strings.Fields(string(b[i+1:]))
	if i < 0 || len(f) < 20 {
		return 0, false, fmt.Errorf("the state of process %d has an unknown form", pid)
	}
	ticks, err = strconv.ParseUint(f[19], 10, 64)
	if err != nil {
		return 0, false, fmt.Errorf("the start of process %d: %w", pid, err)
	}
	return ticks, f[0] == "Z" || f[0] == "X", nil
}

// orphanPatience is how long a process that was killed may take to be gone.
const orphanPatience = 5 * time.Second

// endOrphans ends the go commands, and what they run, that have a folder for their temporary files: a build goes on when the process that wanted it is
// killed, and would fill the folder while it is removed. Nothing else is ended: what keeps the nodes of a kept cluster has the same environment.
func endOrphans(dir string) error {
	// One that is just being started shows up in the next round.
	for range 10 {
		all, err := orphans(dir)
		if err != nil || len(all) == 0 {
			return err
		}
		for _, pid := range all {
			if err := end(pid); err != nil {
				return fmt.Errorf("ending process %d, which a killed run left: %w", pid, err)
			}
		}
	}
	return fmt.Errorf("processes that use %s are started again and again", dir)
}

func orphans(dir string) (pids []int, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("looking for what a killed run left: %w", err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		exe, err := os.Readlink(filepath.Join("/proc", e.Name(), "exe"))
		if err != nil || filepath.Base(exe) != "go" && !strings.Contains(exe, "/pkg/tool/") {
			continue // it has ended, is another user's, or is none of those
		}
		environ, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err == nil && slices.ContainsFunc(bytes.Split(environ, []byte{0}), func(v []byte) bool { return string(v) == "GOTMPDIR="+dir }) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// end kills a process and waits until it is gone.
func end(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	for deadline := time.Now().Add(orphanPatience); ; {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(max(0, time.Until(deadline)).Milliseconds()))
		switch {
		case n > 0:
			return nil
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		default:
			return fmt.Errorf("it is not gone after %v", orphanPatience)
		}
	}
}
