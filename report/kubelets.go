package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/podorder/podorder/reference/trace"
)

// ByName parts the version of a kubelet in its name from what tells it from others of that
// version: "v1.37.2@patched".
const ByName = "@"

// VersionOf returns the version of the kubelet that has a name.
func VersionOf(name string) string {
	version, _, _ := strings.Cut(name, ByName)
	return version
}

// CompareKubelets orders kubelets by their versions, and those of one version by name.
func CompareKubelets(a, b string) int {
	v, errA := trace.ParseRelease(VersionOf(a))
	w, errB := trace.ParseRelease(VersionOf(b))
	if errA != nil || errB != nil {
		return strings.Compare(a, b)
	}
	return cmp.Or(v.Compare(w), strings.Compare(a, b))
}

// Names returns the names of the kubelets that have runs, in the order of Kubelets: the
// oldest first. Those that are not among Kubelets come last.
func (r *Report) Names() []string {
	has := map[string]bool{}
	for i := range r.Runs {
		has[r.Runs[i].Kubelet] = true
	}
	var out []string
	for _, k := range r.Kubelets {
		if has[k.Name] {
			out = append(out, k.Name)
			delete(has, k.Name)
		}
	}
	return append(out, slices.SortedFunc(maps.Keys(has), CompareKubelets)...)
}

// Gates are the feature gates of a kubelet that differ from the defaults of its version.
func (r *Report) Gates(kubelet string) string {
	for _, k := range r.Kubelets {
		if k.Name == kubelet {
			return k.Gates
		}
	}
	return ""
}
