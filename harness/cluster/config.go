package cluster

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
)

// Worker is one worker node of a kind cluster.
type Worker struct {
	// Kubelet is the path of a kubelet on this machine that the node runs instead of the one in its image; empty for that.
	Kubelet string
	// Spare keeps the node for the cases that disturb whatever else is on theirs: it gets the label LabelSpare.
	Spare bool
	// Kind, unless empty, is the value of LabelKubelet of the node: it tells kubelets of one version apart.
	Kind string
}

// kubeletPath is where a kind node has its kubelet.
const kubeletPath = "/usr/bin/kubelet"

// Config returns the kind configuration of a cluster: the image on each node, because kind's own image option overrides all of them, and the
// patches that the machine needs.
func Config(rt Runtime, o Options) *v1alpha4.Cluster {
	c := &v1alpha4.Cluster{
		TypeMeta:      v1alpha4.TypeMeta{Kind: "Cluster", APIVersion: "kind.x-k8s.io/v1alpha4"},
		RuntimeConfig: o.RuntimeConfig,
		Nodes:         []v1alpha4.Node{{Role: v1alpha4.ControlPlaneRole, Image: o.Image}},
	}
	for _, w := range o.Workers {
		n := v1alpha4.Node{Role: v1alpha4.WorkerRole, Image: o.Image}
		if w.Kubelet != "" {
			n.ExtraMounts = append(n.ExtraMounts, v1alpha4.Mount{HostPath: w.Kubelet, ContainerPath: kubeletPath, Readonly: true})
		}
		if w.Spare {
			n.Labels = map[string]string{LabelSpare: "true"}
		}
		if w.Kind != "" {
			n.Labels = map[string]string{LabelKubelet: w.Kind}
		}
		c.Nodes = append(c.Nodes, n)
	}
	if o.Schedulable && len(o.Workers) > 0 {
		// kind leaves the taint away where there are no workers.
		c.KubeadmConfigPatches = append(c.KubeadmConfigPatches, "kind: InitConfiguration\nnodeRegistration:\n  taints: []\n")
	}
	// One KubeletConfiguration serves all nodes of a cluster, so the control plane's version decides; kubelets ignore what they do not know.
	c.KubeadmConfigPatches = append(c.KubeadmConfigPatches, rt.KubeadmPatches(o.Version)...)
	c.ContainerdConfigPatches = append(c.ContainerdConfigPatches, rt.ContainerdPatches()...)
	c.FeatureGates = maps.Clone(o.FeatureGates)
	if len(o.ControlPlaneGates) > 0 {
		// kind gives feature gates to every component of the cluster. A kubelet does not start with one that it does not know.
		if c.FeatureGates == nil {
			c.FeatureGates = map[string]bool{}
		}
		maps.Copy(c.FeatureGates, o.ControlPlaneGates)
		patch := "kind: KubeletConfiguration\nfeatureGates:\n"
		for _, gate := range slices.Sorted(maps.Keys(o.ControlPlaneGates)) {
			patch += "  " + gate + ": null\n"
		}
		c.KubeadmConfigPatches = append(c.KubeadmConfigPatches, patch)
	}
	electNobody(c, o.Version)
	c.ContainerdConfigPatches = append(c.ContainerdConfigPatches, plainSpec, noStats)
	return c
}

// plainSpec starts containers from containerd's own runtime spec. That of a kind node differs from it by a hook alone, which hides the
// machine's DMI product from the processes of each container: a shell, jq and cp for every start, and no order depends on it.
const plainSpec = "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]\n  base_runtime_spec = \"\"\n"

// noStats keeps containerd (2.2 and later) from reading every control group of every container and Pod once a second, for a figure of CPU use that the
// kubelet takes from elsewhere: about an eighth of the machine while all cases run. Earlier ones ignore a key that they do not know.
const noStats = "[plugins.\"io.containerd.cri.v1.runtime\"]\n  stats_collect_period = \"1h\"\n"

// listedArgs is the first version for which kind writes the arguments of the control plane as a list (kubeadm's v1beta4) and not as a map.
const listedArgs = "v1.36.0"

// electNobody lets the controller manager and the scheduler run without leader election: there is one control plane. Where the machine is so busy that
// a lease cannot be renewed in time both would end, and nothing would be scheduled until they are back.
func electNobody(c *v1alpha4.Cluster, version string) {
	if semver.Compare(version, listedArgs) < 0 && semver.IsValid(version) {
		c.KubeadmConfigPatches = append(c.KubeadmConfigPatches,
			"kind: ClusterConfiguration\ncontrollerManager:\n  extraArgs:\n    leader-elect: \"false\"\nscheduler:\n  extraArgs:\n    leader-elect: \"false\"\n")
		return
	}
	const arg = "{name: leader-elect, value: \"false\"}"
	scheduler := "- {op: add, path: /scheduler/extraArgs, value: [" + arg + "]}\n"
	if len(c.FeatureGates) > 0 { // then kind gives it arguments
		scheduler = "- {op: add, path: /scheduler/extraArgs/-, value: " + arg + "}\n"
	}
	c.KubeadmConfigPatchesJSON6902 = append(c.KubeadmConfigPatchesJSON6902, v1alpha4.PatchJSON6902{
		Group: "kubeadm.k8s.io", Version: "v1beta4", Kind: "ClusterConfiguration",
		Patch: "- {op: add, path: /controllerManager/extraArgs/-, value: " + arg + "}\n" + scheduler,
	})
}

// fingerprint stands for everything about a configuration that a cluster cannot change later.
func fingerprint(c *v1alpha4.Cluster) string {
	b, err := json.Marshal(c)
	if err != nil {
		// The type holds nothing that JSON could refuse.
		panic(fmt.Sprintf("encoding a kind configuration: %v", err))
	}
	return digest(10, string(b))
}

// label marks every node with its owner, start and configuration.
func label(c *v1alpha4.Cluster, owner Owner, at time.Time, print string) {
	for i := range c.Nodes {
		l := maps.Clone(c.Nodes[i].Labels)
		if l == nil {
			l = map[string]string{}
		}
		maps.Copy(l, owner.Labels(at))
		delete(l, LabelManagedBy) // a kubelet refuses to set labels of kubernetes.io on its own node
		l[labelConfig] = print
		c.Nodes[i].Labels = l
	}
}

const (
	namePrefix = "podorder-"
	keptPrefix = "podorder-keep-"
	whichLen   = 4
)

// ownedName returns the name of a cluster that belongs to one process; which tells those of one process apart.
func ownedName(o Owner, which string) string { return namePrefix + o.String() + "-" + which }

// keptName returns the name of a cluster that outlives its process.
func keptName(print string) string { return keptPrefix + print }

// ownerOfName returns the owner that the name of a cluster carries. It is false for kept clusters and for those of others.
func ownerOfName(name string) (Owner, bool) {
	s, ok := strings.CutPrefix(name, namePrefix)
	i := strings.LastIndexByte(s, '-')
	if !ok || i < 0 || len(s)-i-1 != whichLen {
		return Owner{}, false
	}
	o, err := ParseOwner(s[:i])
	return o, err == nil
}
