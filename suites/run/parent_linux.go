package run

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/podorder/podorder/harness/cluster"
)

// withGo makes this process, whose temporary folder is tmp, one with the go command
// that started it: it ends, as on SIGTERM, when that one does. Who sends SIGTERM to make
// or to go means the whole run, but neither of them passes it on. A go command that ends
// before its test does not remove the folder it works in, so that is done here.
func withGo(end ending, tmp string) error {
	parent := os.Getppid()
	comm, err := os.ReadFile("/proc/" + strconv.Itoa(parent) + "/comm")
	if err != nil || strings.TrimSpace(string(comm)) != "go" {
		return nil // started by hand, perhaps to go on without its shell
	}
	if work := cluster.WorkFolder(os.Args[0]); work != "" {
		if err := cluster.WithScratch(tmp, parent, work); err != nil {
			return err
		}
		end.OnEnd("removing the working folder of go test", func(context.Context) error {
			if os.Getppid() == parent {
				return nil
			}
			return os.RemoveAll(work)
		})
	}
	fd, err := unix.PidfdOpen(parent, 0)
	if err != nil {
		return nil // an old kernel; then the run goes on to its end, and cleans up there
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
	return nil
}
