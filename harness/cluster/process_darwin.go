package cluster

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// bootID is another one after each boot of the machine.
func bootID() (string, error) {
	at, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return "", fmt.Errorf("asking when it was: %w", err)
	}
	return fmt.Sprintf("%d.%06d", at.Sec, at.Usec), nil
}

// zombieState is the state of a process that has ended and only waits to be reaped (SZOMB in sys/proc.h).
const zombieState = 5

// processStart returns when a process started, in microseconds since 1970, and whether it has ended and only waits to be reaped.
func processStart(pid int) (start uint64, zombie bool, err error) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0, false, fmt.Errorf("asking for the state of process %d: %w", pid, err)
	}
	at := p.Proc.P_starttime
	return uint64(at.Sec)*1e6 + uint64(at.Usec), p.Proc.P_stat == zombieState, nil
}
