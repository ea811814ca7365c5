package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/podorder/podorder/harness/cluster"
	"github.com/podorder/podorder/harness/nodeimage"
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
)

// column is one kubelet on which the cases are run, and where.
type column struct {
	// kubelet is its version.
	kubelet string
	// nodes run it. The empty name leaves the choice to the harness.
	nodes []string
	// spare are nodes that are kept for cases which disturb theirs.
	spare []string
}

// parseKubelets reads the list of -kubelets: each version once, the oldest first.
func parseKubelets(list string) ([]string, error) {
	var out []string
	for v := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		if _, err := reference.ParseKubelet(v); err != nil {
			return nil, fmt.Errorf("-kubelets: %w", err)
		}
		if !strings.HasPrefix(v, "v") {
			v = "v" + v
		}
		if slices.Contains(out, v) {
			return nil, fmt.Errorf("-kubelets: %s is there twice", v)
		}
		out = append(out, v)
	}
	slices.SortFunc(out, compareVersions)
	return out, nil
}

// kubeletFiles reads the list of -kubelet-files: each is run, and says which version it is. A
// relative path starts at root.
func kubeletFiles(root, list string) (map[string]string, error) {
	files := map[string]string{}
	for path := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' }) {
		path = absolute(root, path)
		v, err := askVersion(path)
		if err != nil {
			return nil, fmt.Errorf("-kubelet-files: %s: %w", path, err)
		}
		if other, ok := files[v]; ok {
			return nil, fmt.Errorf("-kubelet-files: %s and %s both say that they are %s, and a cluster has one kubelet of each version", other, path, v)
		}
		files[v] = path
	}
	return files, nil
}

// askPatience is for how long a kubelet may take to say its version.
const askPatience = 20 * time.Second

// askVersion runs a kubelet for the version that it will have as a node.
func askVersion(path string) (string, error) {
	if st, err := os.Stat(path); err != nil {
		return "", err
	} else if st.IsDir() {
		return "", errors.New("it is a folder, not a kubelet")
	}
	ctx, cancel := context.WithTimeout(context.Background(), askPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("asking for its version: %w", err)
	}
	v, ok := strings.CutPrefix(strings.TrimSpace(string(out)), "Kubernetes ")
	if ok && strings.HasPrefix(v, "v0.0.0-") {
		return "", fmt.Errorf("it was built without a version and says %q; link it with -ldflags '-X k8s.io/component-base/version.gitVersion=v1.37.2', or what it is", v)
	}
	if _, err := reference.ParseKubelet(v); !ok || err != nil {
		return "", fmt.Errorf("asked for its version it says %q, and not a line such as \"Kubernetes v1.37.2\"; is it a kubelet?", strings.TrimSpace(string(out)))
	}
	return v, nil
}

// withFiles adds the versions of the user's own kubelets to those of -kubelets.
func withFiles(kubelets []string, files map[string]string) ([]string, error) {
	for _, v := range slices.Sorted(maps.Keys(files)) {
		if slices.Contains(kubelets, v) {
			return nil, fmt.Errorf("-kubelet-files: %s is %s, which -kubelets names as well, and a cluster has one kubelet of each version", files[v], v)
		}
		kubelets = append(kubelets, v)
	}
	slices.SortFunc(kubelets, compareVersions)
	return kubelets, nil
}

// compareVersions orders versions.
func compareVersions(a, b string) int {
	v, errA := trace.ParseRelease(a)
	w, errB := trace.ParseRelease(b)
	if errA != nil || errB != nil {
		return strings.Compare(a, b)
	}
	return cmp.Or(v.Compare(w), strings.Compare(a, b))
}

// waves divides kubelets among clusters, one after the other, of at most so many
// workers each. The clusters are about equally large.
func waves(kubelets []string, most int) [][]string {
	if len(kubelets) == 0 {
		return nil
	}
	n := (len(kubelets) + most - 1) / most
	var out [][]string
	for i := range n {
		from, to := i*len(kubelets)/n, (i+1)*len(kubelets)/n
		out = append(out, kubelets[from:to])
	}
	return out
}

// plan divides kubelets into waves as this machine has room for them. why says
// what limits it where they do not fit into one.
func plan(kubelets []string, c cluster.Capacity) (out [][]string, why string, err error) {
	most, limit := c.Workers()
	if most == 0 {
		return nil, "", fmt.Errorf("this machine has no room for a cluster with a worker: %s; as root, -raise-inotify raises the limit of inotify for the run", limit)
	}
	if out = waves(kubelets, most); len(out) > 1 {
		why = limit
	}
	return out, why, nil
}

// spares returns how many nodes to keep for the cases that disturb theirs, which
// would otherwise have to wait until nothing else runs.
func spares(disturbing int, c cluster.Capacity) int {
	const most = 2 // they are few, and each node takes time to come up
	workers, _ := c.Workers()
	return min(disturbing, most, workers)
}

// nodeInfo is a node that takes Pods.
type nodeInfo struct {
	name, kubelet, runtime string
	spare                  bool
}

// columns returns the kubelets of a cluster that cases are run on: those that are
// wanted, or all that there are.
func columns(nodes []nodeInfo, want []string) ([]column, error) {
	by := map[string]*column{}
	var there []string
	for _, n := range nodes {
		c := by[n.kubelet]
		if c == nil {
			c = &column{kubelet: n.kubelet}
			by[n.kubelet] = c
			there = append(there, n.kubelet)
		}
		if n.spare {
			c.spare = append(c.spare, n.name)
		} else {
			c.nodes = append(c.nodes, n.name)
		}
	}
	slices.SortFunc(there, compareVersions)
	if want == nil {
		want = there
	}
	var out []column
	for _, v := range want {
		c := by[v]
		if c == nil {
			return nil, fmt.Errorf("no node that takes Pods has kubelet %s; there are %s", v, strings.Join(there, ", "))
		}
		if len(c.nodes) == 0 { // a spare node must do
			c.nodes, c.spare = c.spare, nil
		}
		out = append(out, *c)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no node takes Pods")
	}
	if len(there) == 1 && len(out[0].spare) == 0 {
		out[0].nodes = []string{""} // whatever node it is
	}
	return out, nil
}

// kubeletSource returns the path of a kubelet of a version.
type kubeletSource func(ctx context.Context, version string) (path string, err error)

// workers returns a worker for each kubelet. The user may have given its file, and the
// image has one of its own. Those that are missing are built, one after the other, as
// each has much in common with the one before.
func workers(ctx context.Context, kubelets []string, files map[string]string, image nodeimage.Image, source kubeletSource) ([]cluster.Worker, error) {
	var out []cluster.Worker
	for _, v := range kubelets {
		w := cluster.Worker{Kubelet: files[v]}
		if w.Kubelet == "" && v != image.Version {
			path, err := source(ctx, v)
			if err != nil {
				return nil, fmt.Errorf("getting kubelet %s: %w", v, err)
			}
			w.Kubelet = path
		}
		out = append(out, w)
	}
	return out, nil
}

// gang returns what of the control plane the cases of package fixtures need that
// is off by default in a version: the scheduling of groups of Pods.
func gang(version string) (gates map[string]bool, apis map[string]string) {
	v, err := trace.ParseRelease(version)
	if err != nil || v.Major != 1 || v.Minor != 37 {
		return nil, nil
	}
	return map[string]bool{"GenericWorkload": true}, map[string]string{"scheduling.k8s.io/v1beta1": "true"}
}
