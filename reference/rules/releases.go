package rules

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podorder/podorder/reference/trace"
)

// Kubelet is the version of a kubelet, its feature gates, and what the model
// knows of it. The version of the API server does not matter.
type Kubelet struct {
	v trace.Release
	// set are the gates that differ from the default of the version.
	set map[string]bool
	// most is the longest back-off that it is configured with; 0 for that of the version.
	most time.Duration
}

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
	return Kubelet{v: v}, nil
}

// String returns the version as Kubernetes writes it.
func (k Kubelet) String() string { return k.v.String() }

// Known reports whether the model covers the version. Any other is judged as the
// nearest one that is covered, and cannot pass.
func (k Kubelet) Known() bool {
	return k.v.Compare(oldest) >= 0 && k.v.Compare(newest) <= 0
}

// Uncovered is a sentence for a kubelet that the model does not cover: which ones
// it covers, and as which of them this one is judged. It is empty for one that is covered.
func (k Kubelet) Uncovered() string {
	if k.Known() {
		return ""
	}
	nearest := oldest
	if k.v.Compare(newest) > 0 {
		nearest = newest
	}
	return fmt.Sprintf("the model covers kubelets from %s to %s, and %s is judged as %s", oldest, newest, k, nearest)
}

// since reports whether the kubelet is of the given minor or newer; a
// pre-release counts as its minor.
func (k Kubelet) since(minor int) bool { return k.v.Minor >= minor }

// The feature gates that affect order.
const (
	GateSidecars         = "SidecarContainers"
	GateSandboxCondition = "PodReadyToStartContainersCondition"
	GateRestartRules     = "ContainerRestartRules"
	GateRestartAll       = "RestartAllContainersOnContainerExits"
	GateShortBackoff     = "ReduceDefaultCrashLoopBackOffDecay"
	GateStopSignals      = "ContainerStopSignals"
	GateSleepHooks       = "PodLifecycleSleepAction"
	GateRestartForgets   = "ChangeContainerStatusOnKubeletRestart"
	GateResize           = "InPlacePodVerticalScaling"
)

// gates has for each the minor release that brought it and the one from which it
// is on by default; 0 if it is off in all that are covered
// (pkg/features/kube_features.go of each release).
var gates = map[string]struct{ since, on int }{
	GateSidecars:         {28, 29},
	GateSandboxCondition: {28, 29},
	GateRestartRules:     {34, 35},
	GateRestartAll:       {35, 36},
	GateShortBackoff:     {33, 0},
	GateStopSignals:      {33, 0},
	GateSleepHooks:       {29, 30},
	GateRestartForgets:   {35, 0},
	GateResize:           {27, 33},
}

// Gates are the names of the feature gates that affect order, sorted.
func Gates() []string { return slices.Sorted(maps.Keys(gates)) }

// Enabled reports whether a feature gate that affects order is on.
func (k Kubelet) Enabled(gate string) bool {
	if on, ok := k.set[gate]; ok {
		return on
	}
	g := gates[gate]
	return g.on != 0 && k.since(g.on)
}

// WithGates returns the kubelet with feature gates set, written as the kubelet
// takes them ("SidecarContainers=true,ContainerRestartRules=false"). A gate
// that does not affect order, or that the version does not have, is an error:
// a verdict that ignored it would be about another kubelet.
func (k Kubelet) WithGates(list string) (Kubelet, error) {
	k.set = maps.Clone(k.set)
	for _, pair := range strings.Split(list, ",") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		on, err := strconv.ParseBool(value)
		if err != nil {
			return k, fmt.Errorf("feature gate %q: write it as Name=true or Name=false", pair)
		}
		g, ok := gates[name]
		if !ok {
			return k, fmt.Errorf("feature gate %q does not affect order; those that do: %s", name, strings.Join(Gates(), ", "))
		}
		if !k.since(g.since) {
			return k, fmt.Errorf("feature gate %s came with 1.%d, so kubelet %s does not have it", name, g.since, k)
		}
		if k.set == nil {
			k.set = map[string]bool{}
		}
		k.set[name] = on
	}
	return k, nil
}

// Configured returns the kubelet with settings that differ from its defaults. Feature gates that
// do not affect order are left out.
func (k Kubelet) Configured(s *trace.Settings) (Kubelet, error) {
	if s == nil {
		return k, nil
	}
	var list []string
	for _, gate := range slices.Sorted(maps.Keys(s.FeatureGates)) {
		if _, affects := gates[gate]; affects {
			list = append(list, gate+"="+strconv.FormatBool(s.FeatureGates[gate]))
		}
	}
	k, err := k.WithGates(strings.Join(list, ","))
	if err != nil || s.CrashLoopBackOff == nil {
		return k, err
	}
	k.most = s.CrashLoopBackOff.MaxContainerRestartPeriod.Duration
	if k.most < time.Second || k.most > 5*time.Minute {
		return k, fmt.Errorf("maxContainerRestartPeriod %v is not from 1s to 5m", k.most)
	}
	if !k.since(limitedBackoff) {
		return k, fmt.Errorf("maxContainerRestartPeriod needs 1.%d, so kubelet %s does not have it", limitedBackoff, k)
	}
	return k, nil
}

// limitedBackoff is the minor release from which maxContainerRestartPeriod can be set without a
// feature gate (pkg/features/kube_features.go, KubeletCrashLoopBackOffMax).
const limitedBackoff = 35

// LongestBackoff is the longest back-off that the kubelet is configured with; 0 for that of its
// version. The first one is no longer than that
// (pkg/kubelet/kubelet.go, newCrashLoopBackOff).
func (k Kubelet) LongestBackoff() time.Duration { return k.most }

// SandboxConditionEarly: from 1.36 a callback publishes the condition as soon
// as the sandbox exists (pkg/kubelet/kubelet.go, OnPodSandboxReady).
func (k Kubelet) SandboxConditionEarly() bool { return k.since(36) }

// ResizesSidecars: a sidecar can be resized like a regular container
// (pkg/kubelet/kuberuntime/kuberuntime_container.go, computeInitContainerActions).
func (k Kubelet) ResizesSidecars() bool { return k.since(33) }

// ReplacesSidecars: a sidecar that runs is replaced where its definition has
// changed (pkg/kubelet/kuberuntime/kuberuntime_container.go,
// computeInitContainerActions).
func (k Kubelet) ReplacesSidecars() bool { return k.since(32) }

// EndsBeforeSidecars: a Pod of which every regular container has exited counts as
// initialized, so that no sidecar is started again in it; up to 1.36 only once the
// last of its init containers has ended, or the last of its sidecars runs
// (pkg/kubelet/kuberuntime/kuberuntime_container.go, computeInitContainerActions).
func (k Kubelet) EndsBeforeSidecars() bool { return k.since(37) }

// Remembers: a kubelet that is restarted takes over what containers were shown
// as; up to 1.34, or with the gate on, all that have probes are not ready or not
// started until they have been probed again (pkg/kubelet/prober/prober_manager.go,
// isContainerStarted, setReadyStateOnKubeletRestart).
func (k Kubelet) Remembers() bool { return k.Holds(KeptOver) }

// ForgetsInits: in a Pod of which a regular container has been started, an init
// container that has not ended does not count for the phase
// (pkg/kubelet/kubelet_pods.go, getPhase).
func (k Kubelet) ForgetsInits() bool { return !k.since(32) }

// ForgetsSidecars: in a Pod of which each regular container waits, be it to be started
// again, a sidecar that runs counts as one that has not started
// (pkg/kubelet/kubelet_pods.go, getPhase).
func (k Kubelet) ForgetsSidecars() bool { return !k.since(33) }

// SidecarProbesStop: the liveness and startup probes of sidecars end when the
// termination begins, as those of regular containers always do
// (pkg/kubelet/prober/prober_manager.go, StopLivenessAndStartup).
func (k Kubelet) SidecarProbesStop() bool { return k.since(38) }

// StartupProbeStops: the startup probe stops at once when it has succeeded; up
// to 1.31 a tick may come before the status says so (pkg/kubelet/prober/worker.go,
// doProbe).
func (k Kubelet) StartupProbeStops() bool { return k.Holds(StartupStops) }
