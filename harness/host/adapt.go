package host

import (
	"fmt"
	"strings"

	"golang.org/x/mod/semver"
)

// mostFiles is the limit of open files that Podman gives by default where nothing limits it.
const mostFiles = 1 << 20

// containersConf is the text of the private containers.conf that Podman needs on this machine; empty where it needs none. A file named by
// CONTAINERS_CONF replaces the system's, so it is made only where Podman could not run a kind node without it.
func containersConf(f facts, haveRunc bool) string {
	var b strings.Builder
	if !f.can(capSysResource) {
		// Podman gives containers of root more than a million open files and processes; raising a hard limit takes the missing
		// capability. It also starts containers with no more processes than there are process numbers.
		fmt.Fprintf(&b, "[containers]\ndefault_ulimits = [\"nofile=%[1]d:%[1]d\", \"nproc=%[2]d:%[2]d\"]\n",
			min(f.nofile, mostFiles), min(f.nproc, uint64(f.pidMax)))
	}
	if f.cgroup == 1 && haveRunc {
		// crun refuses hybrid hierarchies.
		b.WriteString("[engine]\nruntime = \"runc\"\n")
	}
	return b.String()
}

// kubeadmPatches are the kubeadmConfigPatches that a cluster of this Kubernetes version needs on this machine.
func kubeadmPatches(f facts, version string) []string {
	if f.cgroup == 2 {
		return nil
	}
	patch := "kind: KubeletConfiguration\ncgroupDriver: cgroupfs\n"
	// The field exists since v1.31 and decides since v1.35, where a kubelet refuses cgroup v1 by default.
	if !semver.IsValid(version) || semver.Compare(version, "v1.31.0-0") >= 0 {
		patch += "failCgroupV1: false\n"
	}
	return []string{patch}
}

// containerdPatches are the containerdConfigPatches that a kind node needs on this machine.
func containerdPatches(f facts) []string {
	var patches []string
	if !f.can(capSysResource) {
		patches = append(patches, "[plugins.\"io.containerd.grpc.v1.cri\"]\n  restrict_oom_score_adj = true\n")
	}
	if f.cgroup == 1 {
		// With systemd's cgroups, runc freezes each container of cgroup v1 for a moment before it starts, and gives up where the machine
		// is busy ("unable to freeze"): the kubelet then starts the container a second time. A suite about the order of starts cannot
		// have that, so the nodes use cgroupfs.
		for _, handler := range []string{"runc", "test-handler"} {
			patches = append(patches, fmt.Sprintf("[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.%s.options]\n  SystemdCgroup = false\n", handler))
		}
	}
	return patches
}
