package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	"pgregory.net/rapid"

	"github.com/podorder/podorder/harness/cluster"
	"github.com/podorder/podorder/harness/nodeimage"
	"github.com/podorder/podorder/report"
)

// eleven are the kubelets that the suite is measured on.
var eleven = strings.Fields("v1.28.5 v1.29.6 v1.30.14 v1.31.14 v1.32.13 v1.33.13 v1.34.4 v1.35.4 v1.36.3 v1.37.2 v1.38.0-beta.0")

func TestParseKubelets(t *testing.T) {
	for in, want := range map[string][]string{
		"":                        nil,
		"v1.37.2":                 {"v1.37.2"},
		"v1.37.2,v1.28.5":         {"v1.28.5", "v1.37.2"},
		"v1.28.15 1.28.5, v1.9.0": {"v1.9.0", "v1.28.5", "v1.28.15"},
		"v1.38.0,v1.38.0-beta.0":  {"v1.38.0-beta.0", "v1.38.0"},
	} {
		got, err := parseKubelets(in)
		assert.NilError(t, err)
		assert.DeepEqual(t, got, want)
	}
	_, err := parseKubelets("v1.37.2,newest")
	assert.ErrorContains(t, err, `-kubelets: "newest"`)
	_, err = parseKubelets("v1.37.2,1.37.2")
	assert.ErrorContains(t, err, "v1.37.2 is given twice")
}

func TestPlan(t *testing.T) {
	sizes := func(ws [][]string) (out []int) {
		for _, w := range ws {
			out = append(out, len(w))
		}
		return out
	}
	const gib = 1 << 30
	tests := []struct {
		name     string
		kubelets []string
		c        cluster.Capacity
		want     []int
		why      string
	}{
		{"all at once", eleven, cluster.Capacity{InotifyLimit: 1024, Memory: 20 * gib}, []int{11}, ""},
		{"nothing known", eleven, cluster.Capacity{}, []int{11}, ""},
		{"the default limit of inotify", eleven, cluster.Capacity{InotifyLimit: 128, Memory: 20 * gib}, []int{1, 2, 2, 2, 2, 2}, "max_user_instances is 128"},
		{"little memory", eleven, cluster.Capacity{InotifyLimit: 1024, Memory: 6 * gib}, []int{5, 6}, "6144 MiB of memory"},
		{"one kubelet fits anyhow", eleven[:1], cluster.Capacity{InotifyLimit: 128}, []int{1}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, why, err := plan(tt.kubelets, tt.c)
			assert.NilError(t, err)
			assert.DeepEqual(t, sizes(got), tt.want)
			assert.Check(t, is.Contains(why, tt.why))
			assert.Check(t, (why == "") == (len(got) == 1))
		})
	}
	_, _, err := plan(eleven, cluster.Capacity{InotifyLimit: 128, InotifyUsed: 120})
	assert.ErrorContains(t, err, "max_user_instances is 128")
	assert.ErrorContains(t, err, "-raise-inotify")
}

// TestWaves: every kubelet is in one wave, in order, and no wave is too large or
// much smaller than another.
func TestWaves(t *testing.T) {
	assert.Equal(t, len(waves(nil, 3)), 0)
	rapid.Check(t, func(rt *rapid.T) {
		n, most := rapid.IntRange(1, 40).Draw(rt, "n"), rapid.IntRange(1, 12).Draw(rt, "most")
		var all, got []string
		for i := range n {
			all = append(all, strings.Repeat("x", i+1))
		}
		small, large := n, 0
		for _, w := range waves(all, most) {
			got = append(got, w...)
			small, large = min(small, len(w)), max(large, len(w))
		}
		if strings.Join(got, " ") != strings.Join(all, " ") || large > most || large-small > 1 {
			rt.Fatalf("%d kubelets in waves of %d to %d, at most %d", n, small, large, most)
		}
	})
}

func TestSpares(t *testing.T) {
	assert.Equal(t, spares(0, cluster.Capacity{}), 0)
	assert.Equal(t, spares(1, cluster.Capacity{}), 1)
	assert.Equal(t, spares(5, cluster.Capacity{}), 2)
	assert.Equal(t, spares(5, cluster.Capacity{InotifyLimit: 100}), 1)
	assert.Equal(t, spares(5, cluster.Capacity{InotifyLimit: 10}), 0)
}

func TestColumns(t *testing.T) {
	node := func(name, kubelet string) nodeInfo { return nodeInfo{name: name, kubelet: kubelet} }
	spare := nodeInfo{name: "s", kubelet: "v1.37.2", spare: true}
	tests := []struct {
		name  string
		nodes []nodeInfo
		want  []string
		cols  []column
	}{
		{"one node", []nodeInfo{node("a", "v1.37.2")}, nil, []column{{"v1.37.2", []string{""}, nil}}},
		{"several of one version", []nodeInfo{node("a", "v1.37.2"), node("b", "v1.37.2")}, nil, []column{{"v1.37.2", []string{""}, nil}}},
		{"with a spare one", []nodeInfo{node("a", "v1.37.2"), spare}, nil, []column{{"v1.37.2", []string{"a"}, []string{"s"}}}},
		{"only a spare one", []nodeInfo{spare}, nil, []column{{"v1.37.2", []string{""}, nil}}},
		{
			"in the middle of an upgrade", []nodeInfo{node("a", "v1.37.2"), node("b", "v1.9.0"), node("c", "v1.37.2")}, nil,
			[]column{{"v1.9.0", []string{"b"}, nil}, {"v1.37.2", []string{"a", "c"}, nil}},
		},
		{
			"only those that are wanted", []nodeInfo{node("a", "v1.37.2"), node("b", "v1.28.5")}, []string{"v1.28.5"},
			[]column{{"v1.28.5", []string{"b"}, nil}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := columns(tt.nodes, tt.want)
			assert.NilError(t, err)
			assert.Equal(t, len(got), len(tt.cols))
			for i := range got {
				assert.Equal(t, got[i].kubelet, tt.cols[i].kubelet)
				assert.DeepEqual(t, got[i].nodes, tt.cols[i].nodes)
				assert.DeepEqual(t, got[i].spare, tt.cols[i].spare)
			}
		})
	}
	_, err := columns([]nodeInfo{node("a", "v1.37.2")}, []string{"v1.28.5"})
	assert.Equal(t, statusOf(fmt.Errorf("cluster a: %w", err)), exitUsage)
	assert.ErrorContains(t, err, "kubelet v1.28.5; there are v1.37.2")
	_, err = columns(nil, nil)
	assert.ErrorContains(t, err, "no node takes Pods")
}

func TestWorkers(t *testing.T) {
	var asked []string
	source := func(_ context.Context, version string) (string, error) {
		asked = append(asked, version)
		return "/cache/" + version, nil
	}
	got, err := workers(t.Context(), []string{"v1.28.5", "v1.31.14", "v1.33.13", "v1.37.2"}, map[string]string{"v1.31.14": "/own/kubelet"}, nodeimage.Image{Version: "v1.37.2"}, source)
	assert.NilError(t, err)
	assert.DeepEqual(t, asked, []string{"v1.28.5", "v1.33.13"})
	assert.DeepEqual(t, got, []cluster.Worker{
		{Kubelet: "/cache/v1.28.5"}, {Kubelet: "/own/kubelet"}, {Kubelet: "/cache/v1.33.13"}, {},
	})
	got, err = workers(t.Context(), []string{"v1.37.2"}, map[string]string{"v1.37.2": "/own/kubelet"}, nodeimage.Image{Version: "v1.37.2"}, source)
	assert.NilError(t, err)
	assert.DeepEqual(t, got, []cluster.Worker{{Kubelet: "/own/kubelet"}}) // not that of the image
	_, err = workers(t.Context(), []string{"v1.28.5"}, nil, nodeimage.Image{Version: "v1.37.2"}, func(context.Context, string) (string, error) {
		return "", errors.New("no compiler")
	})
	assert.Error(t, err, "getting kubelet v1.28.5: no compiler")
}

// A kubelet says itself which version it is.
func TestKubeletFiles(t *testing.T) {
	root := t.TempDir()
	write := func(name, script string, mode os.FileMode) {
		assert.NilError(t, os.WriteFile(filepath.Join(root, name), []byte("#!/bin/sh\n"+script+"\n"), mode))
	}
	write("kubelet", `test "$*" = --version && echo Kubernetes v1.38.0-alpha.1.123+a1b2c3d`, 0o755)
	write("other", "echo Kubernetes v1.34.4", 0o755)
	write("twin", "echo Kubernetes v1.34.4", 0o755)
	write("text", "", 0o644)
	write("server", "echo kubectl v1.34.4", 0o755)
	write("bare", "echo 'Kubernetes v0.0.0-master+$Format:%H$'", 0o755)
	write("fails", "echo no such flag >&2; exit 3", 0o755)
	files, err := kubeletFiles(root, "kubelet,"+filepath.Join(root, "other"), nil)
	assert.NilError(t, err)
	assert.DeepEqual(t, files, map[string]string{"v1.38.0-alpha.1.123+a1b2c3d": filepath.Join(root, "kubelet"), "v1.34.4": filepath.Join(root, "other")})
	assert.DeepEqual(t, withFiles([]string{"v1.37.2"}, files), []string{"v1.34.4", "v1.37.2", "v1.38.0-alpha.1.123+a1b2c3d"})
	none, err := kubeletFiles(root, "", nil)
	assert.NilError(t, err)
	assert.Assert(t, withFiles(nil, none) == nil)
	for list, want := range map[string]string{
		"missing":       "missing: no such file",
		".":             "it is a folder, not a kubelet",
		"text":          "text: asking for its version: ",
		"fails":         "fails: asking for its version: exit status 3",
		"server":        `it prints "kubectl v1.34.4" instead of a line such as "Kubernetes v1.37.2"; is it a kubelet?`,
		"bare":          "it was built without a version and prints \"v0.0.0-master+",
		"other,./other": "other is given twice",
	} {
		_, err := kubeletFiles(root, list, nil)
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "-kubelet-files: ")
	}
}

// Kubelets of the same version are named by their files as well.
func TestKubeletNames(t *testing.T) {
	root := t.TempDir()
	kubelet := func(path string) string {
		path = filepath.Join(root, path)
		assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		assert.NilError(t, os.WriteFile(path, []byte("#!/bin/sh\necho Kubernetes v1.34.4\n"), 0o755))
		return path
	}
	one, other, patched := kubelet("one/kubelet"), kubelet("other/kubelet"), kubelet("patched")
	tests := []struct {
		list   string
		others []string
		want   map[string]string
	}{
		{"one/kubelet", nil, map[string]string{"v1.34.4": one}},
		{"one/kubelet", []string{"v1.28.5"}, map[string]string{"v1.34.4": one}},
		{"one/kubelet", []string{"v1.34.4"}, map[string]string{"v1.34.4@kubelet": one}},
		{"one/kubelet,patched", nil, map[string]string{"v1.34.4@kubelet": one, "v1.34.4@patched": patched}},
		{"one/kubelet,other/kubelet", nil, map[string]string{"v1.34.4@one-kubelet": one, "v1.34.4@other-kubelet": other}},
	}
	for _, tt := range tests {
		got, err := kubeletFiles(root, tt.list, tt.others)
		assert.NilError(t, err)
		assert.DeepEqual(t, got, tt.want)
		for name := range got {
			assert.Equal(t, report.VersionOf(name), "v1.34.4")
		}
	}
	files, err := kubeletFiles(root, "patched,one/kubelet", []string{"v1.34.4"})
	assert.NilError(t, err)
	all := withFiles([]string{"v1.34.4", "v1.37.2"}, files)
	assert.DeepEqual(t, all, []string{"v1.34.4", "v1.34.4@kubelet", "v1.34.4@patched", "v1.37.2"})

	// Each has a worker of its own, of which the run knows which it is: the node
	// reports the version alone.
	made, err := workers(t.Context(), all, files, nodeimage.Image{Version: "v1.37.2"}, func(context.Context, string) (string, error) { return "/cache", nil })
	assert.NilError(t, err)
	var nodes []nodeInfo
	for i, w := range made {
		reported := report.VersionOf(all[i])
		nodes = append(nodes, nodeInfo{name: string(rune('a' + i)), kubelet: kubeletOf(reported, w.Kind, all)})
	}
	cols, err := columns(nodes, all)
	assert.NilError(t, err)
	for i, c := range cols {
		assert.Equal(t, c.kubelet, all[i])
		assert.DeepEqual(t, c.nodes, []string{string(rune('a' + i))})
	}
	assert.Equal(t, made[1].Kubelet, one)
	assert.Equal(t, made[2].Kubelet, patched)

	assert.DeepEqual(t, distinct([]string{"/x/a b", "/x/a-b"}), []string{"x-a-b.1", "x-a-b.2"})
}

// A distribution's build of a release is one of that release, a pre-release is not.
func TestOfRelease(t *testing.T) {
	for kubelet, want := range map[string]bool{
		"v1.33.5": true, "v1.33.5-eks-3025e55": true, "v1.33.5-gke.1080000": true, "v1.33.5+k3s1": true, "v1.33.5+rke2r1": true, "v1.33.5-rhel": true,
		"v1.33.5-alpha.1": false, "v1.33.5-beta.0": false, "v1.33.5-rc.1": false, "v1.33.5-rc.1+k3s1": false,
		"v1.33.50": false, "v1.33.50-eks-3025e55": false, "v1.33.4-eks-3025e55": false, "v1.33.5-12+8a1b2c3d4e5f67": false,
	} {
		assert.Equal(t, ofRelease(kubelet, "v1.33.5"), want, kubelet)
	}
	assert.Assert(t, ofRelease("v1.34.0-rc.1+k3s1", "v1.34.0-rc.1"))
	assert.Assert(t, !ofRelease("v1.34.0", "v1.34.0-rc.1"))

	s := &Suite{options: Options{Kubernetes: "v1.33.5"}}
	cl := &cluster.Cluster{Name: "eks", Nodes: []cluster.Node{{Name: "a", Kubelet: "v1.33.5-eks-3025e55"}, {Name: "b", Kubelet: "v1.33.5"}}}
	assert.NilError(t, s.agrees(cl))
	cl.Nodes[1].Kubelet = "v1.33.5-rc.1"
	err := s.agrees(cl)
	assert.ErrorContains(t, err, "node b of cluster eks has kubelet v1.33.5-rc.1, not v1.33.5")
	assert.Equal(t, statusOf(err), exitUsage)

	nodes := []nodeInfo{{name: "a", kubelet: "v1.33.5-eks-3025e55"}, {name: "b", kubelet: "v1.32.9-eks-3025e55"}}
	cols, err := columns(nodes, []string{"v1.33.5"})
	assert.NilError(t, err)
	assert.Equal(t, len(cols), 1)
	assert.Equal(t, cols[0].kubelet, "v1.33.5-eks-3025e55")
	_, err = columns(nodes, []string{"v1.33.6"})
	assert.ErrorContains(t, err, "no node that takes Pods has kubelet v1.33.6")
	assert.DeepEqual(t, s.kubeletLabels("v1.33.5-eks-3025e55"), []string{"v1.33.5-eks-3025e55", "v1.33.5"})
	assert.DeepEqual(t, s.kubeletLabels("v1.33.5@patched"), []string{"v1.33.5@patched", "v1.33.5"})
}

func TestExtras(t *testing.T) {
	gates, apis := extras("v1.37.2")
	assert.DeepEqual(t, gates, map[string]bool{"GenericWorkload": true, "ContainerStopSignals": true, "GRPCContainerProbeTLS": true, "H2CContainerProbe": true})
	assert.DeepEqual(t, apis, map[string]string{"scheduling.k8s.io/v1beta1": "true"})
	for _, v := range []string{"v1.28.5", "v1.36.3", "", "x"} {
		gates, apis := extras(v)
		assert.Check(t, gates == nil && apis == nil, v)
	}
}
