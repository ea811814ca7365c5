package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// What a cluster takes of this machine, measured and rounded up. In a node systemd, containerd, the kubelet and kube-proxy each watch files, and
// beside a control plane its components; each case that runs has a log reader that watches the log.
const (
	inotifyControlPlane = 32
	inotifyWorker       = 20
	inotifyCases        = 40
	memoryWorker        = 450 << 20
	// For the control plane, and for the Pods on all nodes.
	memoryReserve = 3 << 30
)

// Capacity is what this machine has left for nodes of kind clusters.
type Capacity struct {
	// InotifyLimit is fs.inotify.max_user_instances, and InotifyUsed what of it the processes of the user that nodes run as have already; a limit of 0
	// stands for none that could be found.
	InotifyLimit, InotifyUsed int
	// Memory is what is available, in bytes; 0 if that could not be found out.
	Memory int64
}

// MachineCapacity looks at this machine. Where it does not tell something, as on systems other than Linux, that limits nothing.
func MachineCapacity() (Capacity, error) { return capacity("/proc", os.Getuid()) }

// inotifyLimit is the file with the limit, below the folder of proc.
const inotifyLimit = "sys/fs/inotify/max_user_instances"

func capacity(proc string, uid int) (c Capacity, err error) {
	limit, err := readNumber(filepath.Join(proc, inotifyLimit))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("looking at the limit of inotify instances: %w", err)
	}
	c.InotifyLimit = limit
	if c.InotifyUsed, err = inotifyUsed(proc, uid); err != nil {
		return c, fmt.Errorf("counting inotify instances: %w", err)
	}
	b, err := os.ReadFile(filepath.Join(proc, "meminfo"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("looking at the available memory: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "MemAvailable:" {
			kib, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				return c, fmt.Errorf("looking at the available memory: %q: %w", strings.TrimSpace(line), err)
			}
			c.Memory = kib << 10
		}
	}
	return c, nil
}

func readNumber(path string) (int, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(b)))
}

// inotifyUsed counts the inotify instances of a user's processes. Those that end meanwhile, or cannot be looked into, count as nothing.
func inotifyUsed(proc string, uid int) (int, error) {
	processes, err := os.ReadDir(proc)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n := 0
	for _, p := range processes {
		if _, err := strconv.Atoi(p.Name()); err != nil {
			continue
		}
		dir := filepath.Join(proc, p.Name())
		status, err := os.ReadFile(filepath.Join(dir, "status"))
		if err != nil || !hasUID(string(status), uid) {
			continue
		}
		files, err := os.ReadDir(filepath.Join(dir, "fd"))
		if err != nil {
			continue
		}
		for _, f := range files {
			if to, err := os.Readlink(filepath.Join(dir, "fd", f.Name())); err == nil && strings.HasSuffix(to, "inotify") {
				n++
			}
		}
	}
	return n, nil
}

func hasUID(status string, uid int) bool {
	for line := range strings.Lines(status) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "Uid:" {
			return f[1] == strconv.Itoa(uid)
		}
	}
	return false
}

// Workers returns how many workers of one more cluster this machine carries beside the control plane, and what limits it: empty where nothing was
// found that does.
func (c Capacity) Workers() (n int, limit string) {
	const many = 1 << 20
	n = many
	if c.InotifyLimit > 0 {
		n = max(0, c.InotifyLimit-c.InotifyUsed-inotifyControlPlane-inotifyCases) / inotifyWorker
		limit = fmt.Sprintf("fs.inotify.max_user_instances is %d, of which %d are in use; a control plane takes up to %d, a worker %d, and the cases on them %d",
			c.InotifyLimit, c.InotifyUsed, inotifyControlPlane, inotifyWorker, inotifyCases)
	}
	if c.Memory > 0 {
		if m := int(max(0, c.Memory-memoryReserve) / memoryWorker); m < n {
			n, limit = m, fmt.Sprintf("%d MiB of memory are available; control plane and Pods take up to %d MiB, and a worker %d MiB",
				c.Memory>>20, memoryReserve>>20, memoryWorker>>20)
		}
	}
	return n, limit
}

// Cases returns how many cases can be followed at once on a cluster that is up, of so many nodes; 0 if nothing limits that.
func (c Capacity) Cases(nodes int) int {
	if c.InotifyLimit == 0 {
		return 0
	}
	// Not everyone may count what the processes of others have taken.
	used := max(c.InotifyUsed, inotifyControlPlane+(nodes-1)*inotifyWorker)
	const margin = 8
	return max(1, c.InotifyLimit-used-margin)
}

// inotifyRecord is kept while the limit is raised, so that a sweeper can put it back.
type inotifyRecord struct {
	Owner  string `json:"owner"`
	Before int    `json:"before"`
	Raised int    `json:"raised"`
}

const inotifyFile = "inotify.json"

// RaiseInotify raises the limit of inotify instances, if need be, so that this machine carries one more cluster of so many workers. It takes root.
// The function that it returns puts the limit back; if this process is killed before, Sweep does.
func RaiseInotify(workers int) (back func() error, err error) {
	s, err := openState()
	if err != nil {
		return nil, fmt.Errorf("raising the limit of inotify instances: %w", err)
	}
	self, err := Self()
	if err != nil {
		return nil, fmt.Errorf("raising the limit of inotify instances: %w", err)
	}
	return raiseInotify("/proc", os.Getuid(), s, self, workers)
}

func raiseInotify(proc string, uid int, s state, self Owner, workers int) (func() error, error) {
	nothing := func() error { return nil }
	c, err := capacity(proc, uid)
	if err != nil {
		return nil, err
	}
	const more = 8 * inotifyCases // of CPUs there may be more
	want := c.InotifyUsed + inotifyControlPlane + workers*inotifyWorker + more
	if c.InotifyLimit == 0 || c.InotifyLimit >= want {
		return nothing, nil
	}
	record := filepath.Join(s.root, inotifyFile)
	b, err := json.Marshal(inotifyRecord{Owner: self.String(), Before: c.InotifyLimit, Raised: want})
	if err != nil {
		return nil, fmt.Errorf("raising the limit of inotify instances: %w", err)
	}
	// Who finds the file knows that another run has raised it, and would lower it under this one.
	f, err := os.OpenFile(record, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("raising the limit of inotify instances: another run has raised it to %d; wait for that one, or remove what it left behind with: go run ./scripts/sweep", c.InotifyLimit)
	}
	if err == nil {
		_, err = f.Write(b)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("raising the limit of inotify instances: %w", err), os.RemoveAll(record))
	}
	path := filepath.Join(proc, inotifyLimit)
	if err := os.WriteFile(path, []byte(strconv.Itoa(want)), 0o644); err != nil {
		return nil, errors.Join(fmt.Errorf("raising the limit of inotify instances from %d to %d takes root: %w", c.InotifyLimit, want, err), os.Remove(record))
	}
	return func() error {
		defer s.prune()
		return lowerInotify(proc, record)
	}, nil
}

// lowerInotify puts the limit back, unless someone else has changed it meanwhile.
func lowerInotify(proc, record string) error {
	b, err := os.ReadFile(record)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var r inotifyRecord
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	path := filepath.Join(proc, inotifyLimit)
	if err == nil {
		var now int
		if now, err = readNumber(path); err == nil && now == r.Raised {
			err = os.WriteFile(path, []byte(strconv.Itoa(r.Before)), 0o644)
		}
	}
	if err != nil {
		return fmt.Errorf("restoring the limit of inotify instances (%s): %w", record, err)
	}
	return os.Remove(record)
}

// sweepInotify puts the limit back that a killed run had raised.
func sweepInotify(proc string, s state, self Owner) error {
	record := filepath.Join(s.root, inotifyFile)
	b, err := os.ReadFile(record)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var r inotifyRecord
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", record, err)
	}
	owner, err := ParseOwner(r.Owner)
	if err != nil || owner.Liveness(self) != Dead {
		return nil
	}
	return lowerInotify(proc, record)
}
