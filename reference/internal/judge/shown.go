package judge

import (
	"strings"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"

	corev1 "k8s.io/api/core/v1"
)

// updates lists what updates of the Pod can show. Each is the earliest object which shows that, so
// what need not come before it is not in it.
func updates(k rules.Kubelet, p *podspec.Pod) []Possible {
	var nodes []Possible
	add := func(says string, actor trace.Actor, shows int, pod *corev1.Pod) {
		nodes = append(nodes, Possible{Name: "status: " + says, pod: pod, shows: shows, Container: -1, Actor: actor})
	}
	if p.Regulars > 0 {
		add(names(p, podspec.Regular)+" running", "shown", p.Inits, shownPod(k, p, p.Inits, -1))
	}
	for c, s := range p.Containers {
		if s.Readiness.Declared && (s.Role == podspec.Regular || s.Role == podspec.Sidecar) {
			at := c
			if s.Role == podspec.Regular {
				at = p.Inits
			}
			add(s.Name+" ready", trace.Actor("ready "+s.Name), c, shownPod(k, p, at, c))
		}
	}
	return nodes
}

// names names the containers of a role.
func names(p *podspec.Pod, role podspec.Role) string {
	var out []string
	for _, s := range p.Containers {
		if s.Role == role {
			out = append(out, s.Name)
		}
	}
	return strings.Join(out, " and ")
}

// shownPod is the object in which the Pod has come as far as entry at of its list of containers, where
// the regular ones count as one: what is listed before has been started, and what is listed after has not. Container
// ready, if it is not -1, is ready; of the others those are that always are.
func shownPod(k rules.Kubelet, p *podspec.Pod, at, ready int) *corev1.Pod {
	pod := &corev1.Pod{}
	st := &pod.Status
	st.Phase = corev1.PodPending
	if at >= p.Inits {
		st.Phase = corev1.PodRunning
	}
	all := true
	for c, s := range p.Containers {
		cs := corev1.ContainerStatus{Name: s.Name}
		list := &st.ContainerStatuses
		if c < p.Inits {
			list = &st.InitContainerStatuses
		}
		switch {
		case s.Role == podspec.Ephemeral:
			continue
		case c > at && at < p.Inits:
			cs.Started = new(bool)
			cs.State.Waiting = &corev1.ContainerStateWaiting{Reason: "PodInitializing"}
		case s.Role == podspec.InitContainer:
			cs.Ready, cs.Started = true, new(bool)
			cs.State.Terminated = &corev1.ContainerStateTerminated{Reason: "Completed"}
		default:
			// A sidecar that let others start has succeeded in its startup probe.
			started := !s.Startup.Declared || c == ready || c < at && c < p.Inits
			cs.Started, cs.State.Running = &started, &corev1.ContainerStateRunning{}
			cs.Ready = c == ready || started && !s.Readiness.Declared
		}
		all = all && cs.Ready
		*list = append(*list, cs)
	}
	condition := func(t corev1.PodConditionType, is bool) {
		status := corev1.ConditionFalse
		if is {
			status = corev1.ConditionTrue
		}
		st.Conditions = append(st.Conditions, corev1.PodCondition{Type: t, Status: status})
	}
	condition(corev1.ContainersReady, all)
	condition(corev1.PodReady, all)
	if k.Enabled(rules.GateSandboxCondition) {
		condition(corev1.PodReadyToStartContainers, true)
	}
	return pod
}
