package host

import (
	"fmt"
	"strings"

	"golang.org/x/mod/semver"
	"golang.org/x/sys/unix"
)

// mostFiles is the limit of open files that Podman gives by default where nothing limits it.
const mostFiles = 1 << 20

// containersConf is the text of the private containers.conf that Podman needs on this machine; empty where it needs none. A file named by
// CONTAINERS_CONF replaces the system's, so it is made only where Podman could not run a kind node without it.
func containersConf(f facts, haveRunc bool) string {
	var b strings.Builder
	if !f.can(unix.CAP_SYS_RESOURCE) {
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
	// The field exists since v1.31 and decides since v1.35, where a kubelet refuses cgroup v1 by default.
	if f.cgroup == 2 || semver.IsValid(version) && semver.Compare(version, "v1.31.0-0") < 0 {
		return nil
	}
	return []string{"kind: KubeletConfiguration\nfailCgroupV1: false\n"}
}

// containerdPatches are the containerdConfigPatches that a kind node needs on this machine.
func containerdPatches(f facts) []string {
	if f.can(unix.CAP_SYS_RESOURCE) {
		return nil
	}
	return []string{"[plugins.\"io.containerd.grpc.v1.cri\"]\n  restrict_oom_score_adj = true\n"}
}
