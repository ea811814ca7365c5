package run

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// endWithGo ends this process, as SIGTERM would, when the go command that
// started it ends. Who sends SIGTERM to make or to go means the whole run, but
// neither of them passes it on.
func endWithGo() {
	parent := os.Getppid()
	comm, err := os.ReadFile("/proc/" + strconv.Itoa(parent) + "/comm")
	if err != nil || strings.TrimSpace(string(comm)) != "go" {
		return // started by hand, perhaps to go on without its shell
	}
	fd, err := unix.PidfdOpen(parent, 0)
	if err != nil {
		return // an old kernel; then the run goes on to its end, and cleans up there
	}
	go func() {
		defer unix.Close(fd)
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		for {
			_, err := unix.Poll(fds, -1)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if err == nil {
				_ = unix.Kill(os.Getpid(), unix.SIGTERM)
			}
			return
		}
	}()
}
