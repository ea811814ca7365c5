package reference

import (
	"fmt"
	"strconv"
	"strings"
)

// Kubelet is the version of a kubelet and what the model knows of it. The
// version of the API server does not matter.
type Kubelet struct{ v version }

// The span of releases that the model was written for and measured on.
var (
	oldest = version{1, 28, 0, ""}
	newest = version{1, 38, 0, "beta.0"}
)

type version struct {
	major, minor, patch int
	pre                 string // "beta.0"; empty for a release
}

// ParseKubelet reads a version such as "v1.37.2", "1.28.5" or
// "v1.38.0-beta.0". Build metadata ("+k3s1", "-gke.100", "-eks-1234") is
// dropped: a distribution's kubelet is judged by the release that it is built
// from.
func ParseKubelet(s string) (Kubelet, error) {
	v, err := parseVersion(s)
	if err != nil {
		return Kubelet{}, err
	}
	if v.major != 1 {
		return Kubelet{}, fmt.Errorf("kubelet version %q: only Kubernetes 1.x is known", s)
	}
	return Kubelet{v}, nil
}

func parseVersion(s string) (version, error) {
	bad := func() (version, error) {
		return version{}, fmt.Errorf("%q is not a Kubernetes version such as v1.37.2 or v1.38.0-beta.0", s)
	}
	core, _, _ := strings.Cut(strings.TrimPrefix(s, "v"), "+")
	core, pre, _ := strings.Cut(core, "-")
	switch stage, n, _ := strings.Cut(pre, "."); stage {
	case "alpha", "beta", "rc":
		if _, err := strconv.ParseUint(n, 10, 16); err != nil {
			return bad()
		}
	default:
		pre = "" // a distribution's suffix
	}
	parts := strings.Split(core, ".")
	if len(parts) != 3 {
		return bad()
	}
	var n [3]int
	for i, p := range parts {
		u, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return bad()
		}
		n[i] = int(u)
	}
	return version{n[0], n[1], n[2], pre}, nil
}

// less orders versions; a pre-release comes before its release.
func (v version) less(w version) bool {
	switch {
	case v.major != w.major:
		return v.major < w.major
	case v.minor != w.minor:
		return v.minor < w.minor
	case v.patch != w.patch:
		return v.patch < w.patch
	case v.pre == "" || w.pre == "":
		return v.pre != "" && w.pre == ""
	}
	vs, vn, _ := strings.Cut(v.pre, ".")
	ws, wn, _ := strings.Cut(w.pre, ".")
	if vs != ws {
		return vs < ws // alpha, beta, rc happen to be in order
	}
	a, _ := strconv.Atoi(vn)
	b, _ := strconv.Atoi(wn)
	return a < b
}

// String returns the version as Kubernetes writes it.
func (k Kubelet) String() string {
	s := fmt.Sprintf("v%d.%d.%d", k.v.major, k.v.minor, k.v.patch)
	if k.v.pre != "" {
		s += "-" + k.v.pre
	}
	return s
}

// Known reports whether the model covers the version. Another is judged as the
// nearest one that it covers, and can then not pass.
func (k Kubelet) Known() bool {
	return !k.v.less(oldest) && !newest.less(k.v)
}

// since reports whether the kubelet is of the given minor or newer; a
// pre-release counts as its minor.
func (k Kubelet) since(minor int) bool { return k.v.minor >= minor }

// hasSandboxCondition: PodReadyToStartContainers is an alpha gate, off, in
// 1.28; beta and on from 1.29 (pkg/features/kube_features.go).
func (k Kubelet) hasSandboxCondition() bool { return k.since(29) }

// sandboxConditionEarly: from 1.36 a callback publishes the condition as soon
// as the sandbox exists (pkg/kubelet/kubelet.go, OnPodSandboxReady).
func (k Kubelet) sandboxConditionEarly() bool { return k.since(36) }

// Range is a set of versions: all bounds hold. The empty range holds them all.
type Range struct{ bounds []bound }

type bound struct {
	op string
	v  version
}

// ParseRange reads bounds such as ">=1.35.0 <1.38.0". A bound may leave out
// the patch behind >= and <, and then means the minor with its pre-releases:
// ">=1.38" includes v1.38.0-beta.0 and "<1.38" does not.
func ParseRange(s string) (Range, error) {
	var r Range
	for _, f := range strings.Fields(s) {
		op := strings.TrimRight(f, "v0123456789.-abcehlpqrt")
		switch op {
		case ">=", "<=", ">", "<", "=":
		default:
			return Range{}, fmt.Errorf("version range %q: %q does not begin with >=, <=, >, < or =", s, f)
		}
		num := strings.TrimPrefix(f[len(op):], "v")
		pre := ""
		if strings.Count(num, ".") == 1 {
			if op != ">=" && op != "<" {
				return Range{}, fmt.Errorf("version range %q: a bound with %s needs a patch version", s, op)
			}
			num += ".0"
			pre = "alpha.0" // the whole minor, from its first pre-release
		}
		v, err := parseVersion(num)
		if err != nil {
			return Range{}, fmt.Errorf("version range %q: %w", s, err)
		}
		if pre != "" {
			v.pre = pre
		}
		r.bounds = append(r.bounds, bound{op, v})
	}
	return r, nil
}

// Includes reports whether the version of the kubelet is in the range.
func (r Range) Includes(k Kubelet) bool {
	for _, b := range r.bounds {
		lt, gt := k.v.less(b.v), b.v.less(k.v)
		ok := false
		switch b.op {
		case ">=":
			ok = !lt
		case ">":
			ok = gt
		case "<=":
			ok = !gt
		case "<":
			ok = lt
		case "=":
			ok = !lt && !gt
		}
		if !ok {
			return false
		}
	}
	return true
}
