package orphans

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

// patience is how long a process that was killed may take to be gone.
const patience = 5 * time.Second

// End ends the go commands, and what they run, that keep their temporary files in a folder or below it: a build goes on when the process that wanted it is
// killed, and would fill the folder while it is removed. Nothing else is ended: what keeps the nodes of a kept cluster has the same environment.
func End(dir string) error {
	// One that is just being started shows up in the next round.
	for range 10 {
		all, err := of(dir)
		if err != nil || len(all) == 0 {
			return err
		}
		for _, pid := range all {
			if err := kill(pid); err != nil {
				return fmt.Errorf("ending process %d, which a killed run left: %w", pid, err)
			}
		}
	}
	return fmt.Errorf("processes that use %s are started again and again", dir)
}

func of(dir string) (pids []int, err error) {
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
		if err == nil && slices.ContainsFunc(bytes.Split(environ, []byte{0}), func(v []byte) bool {
			tmp, ok := bytes.CutPrefix(v, []byte("GOTMPDIR="))
			return ok && (string(tmp) == dir || bytes.HasPrefix(tmp, []byte(dir+"/")))
		}) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// kill kills a process and waits until it is gone.
func kill(pid int) error {
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
	for deadline := time.Now().Add(patience); ; {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(max(0, time.Until(deadline)).Milliseconds()))
		switch {
		case n > 0:
			return nil
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		default:
			return fmt.Errorf("it is not gone after %v", patience)
		}
	}
}
