package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podorder/podorder/harness/cluster"
	"github.com/podorder/podorder/harness/nodeimage"
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
	"github.com/podorder/podorder/report"
)

// column is one kubelet on which the cases are run, and where.
type column struct {
	// kubelet is its name; see report.ByName.
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
		v = withV(v)
		if slices.Contains(out, v) {
			return nil, fmt.Errorf("-kubelets: %s is given twice", v)
		}
		out = append(out, v)
	}
	slices.SortFunc(out, report.CompareKubelets)
	return out, nil
}

// withV writes a version as Kubernetes does, with a v. What is no version stays as it is.
func withV(version string) string {
	if version != "" && version[0] >= '0' && version[0] <= '9' {
		return "v" + version
	}
	return version
}

// kubeletFiles reads the list of -kubelet-files: each is run, and says which version it is. A
// relative path starts at root. It returns their paths by their names; others are the
// versions of the other kubelets.
func kubeletFiles(root, list string, others []string) (map[string]string, error) {
	of := map[string][]string{}
	for path := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' }) {
		path = filepath.Clean(absolute(root, path))
		v, err := askVersion(path)
		if err != nil {
			return nil, fmt.Errorf("-kubelet-files: %s: %w", path, err)
		}
		if slices.Contains(of[v], path) {
			return nil, fmt.Errorf("-kubelet-files: %s is given twice", path)
		}
		of[v] = append(of[v], path)
	}
	files := map[string]string{}
	for v, paths := range of {
		if len(paths) == 1 && !slices.Contains(others, v) {
			files[v] = paths[0]
			continue
		}
		for i, name := range distinct(paths) {
			files[v+report.ByName+name] = paths[i]
		}
	}
	return files, nil
}

// distinct names files: by no more of the ends of their paths than tells them apart,
// in letters that may stand in the path of a file and in a flag.
func distinct(paths []string) []string {
	plain := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
			return r
		}
		return '-'
	}
	out := make([]string, len(paths))
	for depth := 1; ; depth++ {
		seen := map[string]bool{}
		whole := true // no path has more to it
		for i, path := range paths {
			parts := strings.Split(strings.Trim(filepath.ToSlash(path), "/"), "/")
			whole = whole && depth >= len(parts)
			out[i] = strings.Map(plain, strings.Join(parts[max(0, len(parts)-depth):], "-"))
			seen[out[i]] = true
		}
		switch {
		case len(seen) == len(paths):
			return out
		case whole: // only signs that no name may have tell them apart
			for i := range out {
				out[i] += fmt.Sprintf(".%d", i+1)
			}
			return out
		}
	}
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
		return "", fmt.Errorf("it was built without a version and prints %q; link it with -ldflags '-X k8s.io/component-base/version.gitVersion=v1.37.2', or whichever version it is", v)
	}
	if _, err := reference.ParseKubelet(v); !ok || err != nil {
		return "", fmt.Errorf("asked for its version, it prints %q instead of a line such as \"Kubernetes v1.37.2\"; is it a kubelet?", strings.TrimSpace(string(out)))
	}
	return v, nil
}

// withFiles adds the names of the user's own kubelets to those of -kubelets.
func withFiles(kubelets []string, files map[string]string) []string {
	kubelets = slices.AppendSeq(kubelets, maps.Keys(files))
	slices.SortFunc(kubelets, report.CompareKubelets)
	return kubelets
}

// ofRelease reports whether a kubelet is one of a release: that very version, or what
// a distribution made of it ("v1.33.5-eks-3025e55", "v1.33.5-gke.1080000",
// "v1.33.5+k3s1", "v1.33.5+rke2r1"). A pre-release is another version, and so is what was
// built of a later commit ("v1.33.5-12+8a1b2c3d4e5f67").
func ofRelease(kubelet, version string) bool {
	suffix, ok := strings.CutPrefix(kubelet, version)
	if !ok || suffix == "" {
		return ok
	}
	return suffix[0] == '+' || vendor.MatchString(suffix) && !preRelease.MatchString(suffix)
}

var (
	vendor     = regexp.MustCompile(`^-[a-zA-Z]`)
	preRelease = regexp.MustCompile(`^-(alpha|beta|rc)([^a-zA-Z]|$)`)
)

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
	workers, _ := c.Workers()
	return min(disturbing, mostSpares, workers)
}

// mostSpares is how many nodes are kept at most: the cases are few, and each node
// takes time to come up.
const mostSpares = 2

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
	slices.SortFunc(there, report.CompareKubelets)
	if want == nil {
		want = there
	}
	var out []column
	for _, v := range want {
		all := []string{v}
		if by[v] == nil { // a distribution's builds of it
			all = slices.DeleteFunc(slices.Clone(there), func(name string) bool { return !ofRelease(name, v) })
		}
		if len(all) == 0 {
			return nil, usageError{fmt.Errorf("no node that takes Pods has kubelet %s; there are %s", v, strings.Join(there, ", "))}
		}
		for _, name := range all {
			c := by[name]
			if len(c.nodes) == 0 { // a spare node must do
				c.nodes, c.spare = c.spare, nil
			}
			out = append(out, *c)
		}
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

// kubeletOf is the name of the kubelet of a node that reports a version; label is that
// of its worker, its place among the kubelets of the run.
func kubeletOf(reported, label string, kubelets []string) string {
	if i, err := strconv.Atoi(label); err == nil && i >= 0 && i < len(kubelets) && report.VersionOf(kubelets[i]) == reported {
		return kubelets[i]
	}
	return reported
}

// workers returns a worker for each kubelet. The user may have given its file, and the
// image has one of its own. Those that are missing are built, one after the other, as
// each has much in common with the one before.
func workers(ctx context.Context, kubelets []string, files map[string]string, image nodeimage.Image, source kubeletSource) ([]cluster.Worker, error) {
	var out []cluster.Worker
	for i, v := range kubelets {
		w := cluster.Worker{Kubelet: files[v]}
		if report.VersionOf(v) != v {
			// What the node reports is the version alone.
			w.Kind = strconv.Itoa(i)
		}
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

// extras returns what of the control plane the cases of package fixtures need that
// is off by default in a version: the scheduling of groups of Pods, and fields of a Pod that some
// cases have their kubelet configured for.
func extras(version string) (gates map[string]bool, apis map[string]string) {
	v, err := trace.ParseRelease(version)
	if err != nil || v.Major != 1 || v.Minor != 37 {
		return nil, nil
	}
	gates = map[string]bool{"GenericWorkload": true, "ContainerStopSignals": true, "GRPCContainerProbeTLS": true, "H2CContainerProbe": true}
	return gates, map[string]string{"scheduling.k8s.io/v1beta1": "true"}
}
