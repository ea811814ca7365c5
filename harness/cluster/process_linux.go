package cluster

import (
	"fmt"
	"os"
	"strconv"
	"strings"
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
