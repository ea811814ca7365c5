package shutdown

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// killDescendants ends every process that descends from pid, and waits for none of them.
func killDescendants(pid int) {
	// One that is just being started shows up in the next round.
	for range 10 {
		all := descendants(pid)
		if len(all) == 0 {
			return
		}
		for _, p := range all {
			_ = unix.Kill(p, unix.SIGKILL) // it may have ended meanwhile
		}
	}
}

// descendants returns the processes that descend from pid and still run, by what /proc says of their parents.
func descendants(pid int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	for _, e := range entries {
		p, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		b, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		// pid (command) state parent ...; the command may hold anything.
		f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		if len(f) < 2 || f[0] == "Z" || f[0] == "X" {
			continue
		}
		if parent, err := strconv.Atoi(f[1]); err == nil {
			children[parent] = append(children[parent], p)
		}
	}
	var all []int
	for todo := slices.Clone(children[pid]); len(todo) > 0; todo = todo[1:] {
		all = append(all, todo[0])
		todo = append(todo, children[todo[0]]...)
	}
	return all
}
