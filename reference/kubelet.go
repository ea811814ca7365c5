package reference

import (
	"fmt"

	"github.com/podorder/podorder/reference/trace"
)

// Kubelet is the version of a kubelet and what the model knows of it. The
// version of the API server does not matter.
type Kubelet struct{ v trace.Release }

// The span of releases that the model was written for and measured on.
var (
	oldest = trace.Release{Major: 1, Minor: 28}
	newest = trace.Release{Major: 1, Minor: 38, Stage: "beta"}
)

// ParseKubelet reads a version; see [trace.ParseRelease] for its form.
func ParseKubelet(s string) (Kubelet, error) {
	v, err := trace.ParseRelease(s)
	if err != nil {
		return Kubelet{}, err
	}
	if v.Major != 1 {
		return Kubelet{}, fmt.Errorf("kubelet version %q: only Kubernetes 1.x is known", s)
	}
	return Kubelet{v}, nil
}

// String returns the version as Kubernetes writes it.
func (k Kubelet) String() string { return k.v.String() }

// Known reports whether the model covers the version. Another is judged as the
// nearest one that it covers, and can then not pass.
func (k Kubelet) Known() bool {
	return k.v.Compare(oldest) >= 0 && k.v.Compare(newest) <= 0
}

// since reports whether the kubelet is of the given minor or newer; a
// pre-release counts as its minor.
func (k Kubelet) since(minor int) bool { return k.v.Minor >= minor }

// hasSandboxCondition: PodReadyToStartContainers is an alpha gate, off, in
// 1.28; beta and on from 1.29 (pkg/features/kube_features.go).
func (k Kubelet) hasSandboxCondition() bool { return k.since(29) }

// sandboxConditionEarly: from 1.36 a callback publishes the condition as soon
// as the sandbox exists (pkg/kubelet/kubelet.go, OnPodSandboxReady).
func (k Kubelet) sandboxConditionEarly() bool { return k.since(36) }
