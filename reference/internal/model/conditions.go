// The conditions of a Pod, pkg/kubelet/status/generate.go of the kubelet: what they can be beside
// the container states in the same update. Rules: status/conditions, status/ready-to-start.

package model

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// conditionsFit says which condition does not follow from the container states.
func (r *Reading) conditionsFit(pod *corev1.Pod, v view) *Denial {
	var sandbox *corev1.PodCondition
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		var d *Denial
		switch c.Type {
		case corev1.ContainersReady:
			d = r.containersReadyFits(pod, c, v)
		case corev1.PodReady:
			d = readyConditionFits(pod, c, v)
		case corev1.PodInitialized:
			d = r.initializedFits(pod, c, v)
		case corev1.PodReadyToStartContainers:
			sandbox = c
		}
		if d != nil {
			return d
		}
	}
	return r.sandboxFits(pod, sandbox, v)
}

// containersReadyFits says why condition ContainersReady is wrong.
func (r *Reading) containersReadyFits(pod *corev1.Pod, c *corev1.PodCondition, v view) *Denial {
	is, final := c.Status == corev1.ConditionTrue, record.IsFinal(pod.Status.Phase)
	if !is && c.Reason == "PodFailed" && r.endedByOthers(r.n) {
		return nil // a deadline or an eviction, which the phase shows once the containers have stopped
	}
	if is != (v.ready && !final) {
		return because(deny(rules.Conditions), "condition ContainersReady is %s, but %s", c.Status, v.readiness())
	}
	return nil
}

// readyConditionFits says why condition Ready is wrong. Somebody else may take Ready away
// (when the node is lost), and then gives another reason; so does a readiness gate.
func readyConditionFits(pod *corev1.Pod, c *corev1.PodCondition, v view) *Denial {
	is, final := c.Status == corev1.ConditionTrue, record.IsFinal(pod.Status.Phase)
	if is && (!v.ready || final) || !is && v.ready && !final && c.Reason == "ContainersNotReady" {
		return because(deny(rules.Conditions), "condition Ready is %s, but %s", c.Status, v.readiness())
	}
	if gate := missingGate(pod); is && gate != "" {
		return because(deny(rules.Conditions), "condition Ready is True, but readiness gate %s has no condition", gate)
	}
	return nil
}

// readiness says in words whether the containers are ready.
func (v *view) readiness() string {
	if v.ready {
		return "every container is ready"
	}
	return "not every container is ready"
}

// initializedFits says why condition Initialized is wrong.
func (r *Reading) initializedFits(pod *corev1.Pod, c *corev1.PodCondition, v view) *Denial {
	if pod.Status.Reason != "" || r.excused(rules.NotInitializedAgain, -1, r.n, 0) {
		return nil // whoever ended the Pod wrote it, or it is of an earlier round
	}
	is := c.Status == corev1.ConditionTrue
	// With RestartAllContainers a Pod that was initialized once stays so.
	stays := r.k.Enabled(rules.GateRestartAll) && (r.initialized || r.hadInitialized(pod))
	done := v.initialized || v.begun || stays || r.startedBefore(pod)
	// A new kubelet first takes back that a sidecar has started.
	if is && !done && pod.Status.Phase != corev1.PodSucceeded && !r.excused(rules.InitializedNotYet, -1, r.n, 0) {
		return because(deny(rules.Conditions), "condition Initialized is True, but an init container has not succeeded, or a sidecar has not started")
	}
	// The success of a startup probe is published at once. The condition follows with the
	// next sync.
	late := pod.DeletionTimestamp != nil || !v.begunNow && slices.ContainsFunc(r.p.Containers[:r.p.Inits], func(s podspec.Container) bool { return s.Startup.Declared })
	if !is && (v.initialized || v.begunNow) && !late && len(pod.Status.InitContainerStatuses) == r.p.Inits {
		return because(deny(rules.Conditions), "condition Initialized is %s, but every init container has succeeded and every sidecar has started", c.Status)
	}
	return nil
}

// startedBefore reports whether every init container has succeeded, and every sidecar that
// is not shown as started may have been started until just now; see startupTakenBack.
func (r *Reading) startedBefore(pod *corev1.Pod) bool {
	return r.allInitialized(pod, func(_ int, spec *podspec.Container, cs *corev1.ContainerStatus) bool {
		return spec.Role == podspec.Sidecar && cs.State.Running != nil && r.startupTakenBack(spec, cs)
	})
}

// hadInitialized reports whether an update that was not delivered may have shown the Pod as
// initialized: each sidecar that is not started now has run, and its startup probe has
// succeeded.
func (r *Reading) hadInitialized(pod *corev1.Pod) bool {
	return r.allInitialized(pod, func(i int, spec *podspec.Container, cs *corev1.ContainerStatus) bool {
		started := !spec.Startup.Declared || !r.ev.Writes(i, trace.StartupProbe) || slices.ContainsFunc(r.h[i].runs, func(x seen) bool { return x.started != 0 })
		return spec.Role == podspec.Sidecar && started && (cs.State.Terminated != nil || cs.LastTerminationState.Terminated != nil)
	})
}

// allInitialized reports whether every init container and sidecar is shown, and each has
// succeeded or started, or had done so by what was says.
func (r *Reading) allInitialized(pod *corev1.Pod, was func(i int, spec *podspec.Container, cs *corev1.ContainerStatus) bool) bool {
	list := pod.Status.InitContainerStatuses
	for k := range list {
		cs := &list[k]
		i, ok := r.p.Index[cs.Name]
		if !ok {
			continue
		}
		spec := &r.p.Containers[i]
		if !cs.Ready && !(spec.Role == podspec.Sidecar && isStarted(cs)) && !was(i, spec, cs) {
			return false
		}
	}
	return len(list) == r.p.Inits
}

// sandboxFits says why condition PodReadyToStartContainers, nil where it is absent, is wrong.
func (r *Reading) sandboxFits(pod *corev1.Pod, c *corev1.PodCondition, v view) *Denial {
	is := c != nil && c.Status == corev1.ConditionTrue
	switch {
	case !r.k.Enabled(rules.GateSandboxCondition):
		if c != nil {
			return because(deny(rules.Sandbox), "condition PodReadyToStartContainers is set, but kubelet %s has its feature gate off", r.k)
		}
	case is && !r.k.SandboxConditionEarly() && v.started == 0 && !r.excused(rules.SandboxBeforeContainers, -1, r.n, 0):
		return because(deny(rules.Sandbox), "condition PodReadyToStartContainers is True and no container is shown as started; before 1.36 both come with the same sync")
	case !is && v.running > 0 && pod.DeletionTimestamp == nil && !r.excused(rules.SandboxWhileRunning, -1, r.n, 0) && v.stopped < r.p.Regulars:
		return because(deny(rules.Sandbox), "condition PodReadyToStartContainers is not True, but a container is shown as running")
	}
	return nil
}

// missingGate is a readiness gate of the Pod whose condition nobody has set; empty if there
// is none. A gate that is False now may have been True when the kubelet looked
// (pkg/kubelet/status/generate.go, GeneratePodReadyCondition).
func missingGate(pod *corev1.Pod) corev1.PodConditionType {
	for _, g := range pod.Spec.ReadinessGates {
		if !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == g.ConditionType }) {
			return g.ConditionType
		}
	}
	return ""
}
