package host

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// unlimited stands for a resource limit that is not set.
const unlimited = math.MaxUint64

// Capabilities, by their numbers (linux/capability.h): other systems have no names for them.
const (
	capSysAdmin    = 21
	capSysResource = 24
)

// facts is what the machine offers, as read from /proc, /sys and /etc before any container runtime is asked.
type facts struct {
	uid       int
	distro    string   // ID of os-release: "debian", "ubuntu", ...
	like      []string // ID_LIKE of os-release
	name      string   // PRETTY_NAME of os-release
	kernel    string
	cgroup    int    // 1 (a hybrid hierarchy counts as 1) or 2
	caps      uint64 // capability bounding set
	nofile    uint64 // hard limit
	nproc     uint64 // hard limit
	pidMax    int    // kernel.pid_max
	instances int    // fs.inotify.max_user_instances
	watches   int    // fs.inotify.max_user_watches
	cpus      int
	memory    uint64 // bytes available without swapping
}

// readFacts reads the facts from fsys, which is the root folder of the machine. What cannot be read is an error that names the file: a
// wrong guess about the machine would surface much later, as a node that does not boot.
func readFacts(fsys fs.FS, uid, cpus int) (facts, error) {
	f := facts{uid: uid, cpus: cpus}
	if b, err := fs.ReadFile(fsys, "etc/os-release"); err == nil {
		f.readRelease(b)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return f, fmt.Errorf("read the name of the distribution: %w", err)
	}
	if b, err := fs.ReadFile(fsys, "proc/sys/kernel/osrelease"); err == nil {
		f.kernel = strings.TrimSpace(string(b))
	}
	f.cgroup = 1
	if _, err := fs.Stat(fsys, "sys/fs/cgroup/cgroup.controllers"); err == nil {
		f.cgroup = 2
	}
	var err error
	if f.caps, err = boundingSet(fsys); err != nil {
		return f, err
	}
	if f.nofile, f.nproc, err = hardLimits(fsys); err != nil {
		return f, err
	}
	if f.pidMax, err = readInt(fsys, "proc/sys/kernel/pid_max"); err != nil {
		return f, err
	}
	if f.instances, err = readInt(fsys, "proc/sys/fs/inotify/max_user_instances"); err != nil {
		return f, err
	}
	if f.watches, err = readInt(fsys, "proc/sys/fs/inotify/max_user_watches"); err != nil {
		return f, err
	}
	f.memory, err = availableMemory(fsys)
	return f, err
}

func (f *facts) readRelease(b []byte) {
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = strings.Trim(value, `"'`)
		switch key {
		case "ID":
			f.distro = value
		case "ID_LIKE":
			f.like = strings.Fields(value)
		case "PRETTY_NAME":
			f.name = value
		}
	}
}

// debian reports whether the distribution's packages are installed with apt-get.
func (f facts) debian() bool {
	return f.distro == "debian" || f.distro == "ubuntu"
}

// can reports whether the bounding set holds the capability with this number.
func (f facts) can(capability int) bool { return f.caps&(1<<capability) != 0 }

// missing names the capabilities that a privileged container is expected to have and that nothing on this machine can have.
func (f facts) missing() []string {
	var names []string
	for number, name := range capabilityNames {
		if !f.can(number) {
			names = append(names, name)
		}
	}
	return names
}

// capabilityNames are the Linux capabilities by number.
var capabilityNames = []string{
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETGID", "CAP_SETUID",
	"CAP_SETPCAP", "CAP_LINUX_IMMUTABLE", "CAP_NET_BIND_SERVICE", "CAP_NET_BROADCAST", "CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_IPC_LOCK",
	"CAP_IPC_OWNER", "CAP_SYS_MODULE", "CAP_SYS_RAWIO", "CAP_SYS_CHROOT", "CAP_SYS_PTRACE", "CAP_SYS_PACCT", "CAP_SYS_ADMIN",
	"CAP_SYS_BOOT", "CAP_SYS_NICE", "CAP_SYS_RESOURCE", "CAP_SYS_TIME", "CAP_SYS_TTY_CONFIG", "CAP_MKNOD", "CAP_LEASE",
	"CAP_AUDIT_WRITE", "CAP_AUDIT_CONTROL", "CAP_SETFCAP", "CAP_MAC_OVERRIDE", "CAP_MAC_ADMIN", "CAP_SYSLOG", "CAP_WAKE_ALARM",
	"CAP_BLOCK_SUSPEND", "CAP_AUDIT_READ", "CAP_PERFMON", "CAP_BPF", "CAP_CHECKPOINT_RESTORE",
}

func boundingSet(fsys fs.FS) (uint64, error) {
	b, err := fs.ReadFile(fsys, "proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("read the capability bounding set: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		if hex, ok := strings.CutPrefix(line, "CapBnd:"); ok {
			caps, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
			if err != nil {
				return 0, fmt.Errorf("/proc/self/status: CapBnd: %w", err)
			}
			return caps, nil
		}
	}
	return 0, errors.New("/proc/self/status has no line CapBnd")
}

// hardLimits reads the hard limits of open files and of processes.
func hardLimits(fsys fs.FS) (nofile, nproc uint64, err error) {
	b, err := fs.ReadFile(fsys, "proc/self/limits")
	if err != nil {
		return 0, 0, fmt.Errorf("read the resource limits: %w", err)
	}
	read := func(name string) (uint64, error) {
		for line := range strings.Lines(string(b)) {
			rest, ok := strings.CutPrefix(line, name)
			if !ok {
				continue
			}
			fields := strings.Fields(rest)
			if len(fields) < 2 {
				return 0, fmt.Errorf("/proc/self/limits: %q has no hard limit", name)
			}
			if fields[1] == "unlimited" {
				return unlimited, nil
			}
			n, err := strconv.ParseUint(fields[1], 10, 64)
			if err != nil {
				return 0, fmt.Errorf("/proc/self/limits: %s: %w", name, err)
			}
			return n, nil
		}
		return 0, fmt.Errorf("/proc/self/limits has no line %q", name)
	}
	if nofile, err = read("Max open files"); err != nil {
		return 0, 0, err
	}
	nproc, err = read("Max processes")
	return nofile, nproc, err
}

func readInt(fsys fs.FS, name string) (int, error) {
	b, err := fs.ReadFile(fsys, name)
	if err != nil {
		return 0, fmt.Errorf("read a kernel setting: %w", err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0, fmt.Errorf("/%s: %w", name, err)
	}
	return n, nil
}

func availableMemory(fsys fs.FS) (uint64, error) {
	b, err := fs.ReadFile(fsys, "proc/meminfo")
	if err != nil {
		return 0, fmt.Errorf("read the memory: %w", err)
	}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), "MemAvailable:"); ok {
			kib, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("/proc/meminfo: MemAvailable: %w", err)
			}
			return kib << 10, nil
		}
	}
	return 0, errors.New("/proc/meminfo has no line MemAvailable")
}

// freeDisk is the number of bytes that can be written below dir, or below its nearest parent that exists.
func freeDisk(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return st.Bavail * uint64(st.Bsize), nil
}
