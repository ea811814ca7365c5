package host

import (
	"fmt"
	"strings"
)

// What a cluster of one control plane and two workers, and the building of a node image, are known to need. The first is a rule of thumb for
// reporting, never a reason to refuse: a machine that is a little too small is slow before it fails.
const (
	enoughCPUs      = 2
	enoughMemory    = 4 << 30
	enoughDisk      = 12 << 30
	enoughInstances = 128 // of inotify: about five nodes
	enoughWatches   = 65536
	enoughFiles     = 16384
)

// line is one line of the report: what was found and, if it is too small, what follows from that.
type line struct{ name, found, small string }

func reportLines(f facts, disk uint64, storage string) []line {
	var lines []line
	add := func(name, found string, tooSmall bool, small string) {
		if !tooSmall {
			small = ""
		}
		lines = append(lines, line{name, found, small})
	}
	add("cgroups", fmt.Sprintf("v%d", f.cgroup), false, "")
	caps := "all"
	if missing := f.missing(); len(missing) > 0 {
		caps = "without " + strings.Join(missing, ", ")
	}
	lines = append(lines, line{"capabilities", caps, adminNote(f)})
	add("open files", limitText(f.nofile), f.nofile < enoughFiles, fmt.Sprintf("at least %d are needed: raise the hard limit (ulimit -Hn)", enoughFiles))
	add("processes", limitText(f.nproc), f.nproc < 4096, "at least 4096 are needed: raise the hard limit (ulimit -Hu)")
	add("inotify instances", fmt.Sprint(f.instances), f.instances < enoughInstances,
		fmt.Sprintf("kind nodes need about 25 each: sysctl fs.inotify.max_user_instances=%d", 512))
	add("inotify watches", fmt.Sprint(f.watches), f.watches < enoughWatches,
		fmt.Sprintf("kind nodes share them: sysctl fs.inotify.max_user_watches=%d", 524288))
	add("CPUs", fmt.Sprint(f.cpus), f.cpus < enoughCPUs, fmt.Sprintf("kubeadm asks for %d; expect time-outs", enoughCPUs))
	add("memory available", gib(f.memory), f.memory < enoughMemory, "a cluster of three nodes needs about "+gib(enoughMemory))
	add("disk free", gib(disk)+" in "+storage, disk < enoughDisk, "building a node image needs about "+gib(enoughDisk))
	return lines
}

func adminNote(f facts) string {
	if !f.can(capSysAdmin) {
		return "without CAP_SYS_ADMIN no kind node can run here"
	}
	return ""
}

func limitText(n uint64) string {
	if n == unlimited {
		return "unlimited"
	}
	return fmt.Sprint(n)
}

func gib(n uint64) string { return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30)) }
