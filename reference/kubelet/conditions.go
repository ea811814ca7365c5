package kubelet

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// conditions follow from the statuses of the containers.
//
// status/conditions
func (k *kubelet) conditions(s *corev1.PodStatus, sandbox bool) {
	initialized, were := true, conditionIs(k.previousStatus(), corev1.PodInitialized)
	for c := range k.pod.Init {
		cs := k.find(s, c)
		initialized = initialized && (k.isInit(c) && cs.Ready || k.isSidecar(c) && *cs.Started)
	}
	initialized = initialized || hasStarted(s) || were && k.has(RestartAllContainers)
	initial := corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}
	switch {
	case s.Phase == corev1.PodSucceeded:
		initial.Reason = "PodCompleted"
	case !initialized:
		initial.Status, initial.Reason = corev1.ConditionFalse, "ContainersNotInitialized"
	}
	if k.has(ReadyToStartCondition) {
		s.Conditions = append(s.Conditions, k.readyToStart(sandbox))
	}
	s.Conditions = append(s.Conditions, initial)
	s.Conditions = append(s.Conditions, k.readyConditions(s)...)
	s.Conditions = append(s.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})
}

// readyConditions are Ready and ContainersReady.
func (k *kubelet) readyConditions(s *corev1.PodStatus) []corev1.PodCondition {
	var unready []string
	for c := range k.specs {
		if cs := k.find(s, c); !k.isInit(c) && !cs.Ready {
			unready = append(unready, cs.Name)
		}
	}
	ready := corev1.PodCondition{Status: corev1.ConditionTrue}
	switch {
	case s.Phase == corev1.PodSucceeded:
		ready.Status, ready.Reason = corev1.ConditionFalse, "PodCompleted"
	case s.Phase == corev1.PodFailed:
		ready.Status, ready.Reason = corev1.ConditionFalse, "PodFailed"
	case len(unready) > 0:
		ready.Status, ready.Reason = corev1.ConditionFalse, "ContainersNotReady"
		ready.Message = "containers with unready status: [" + strings.Join(unready, " ") + "]"
	}
	containers := ready
	ready.Type, containers.Type = corev1.PodReady, corev1.ContainersReady
	return []corev1.PodCondition{ready, containers}
}

// readyToStart is the condition PodReadyToStartContainers.
//
// status/ready-to-start
func (k *kubelet) readyToStart(sandbox bool) corev1.PodCondition {
	c := corev1.PodCondition{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse}
	switch {
	case sandbox:
		c.Status = corev1.ConditionTrue
	case k.has(SandboxReason):
		c.Reason = "PodSandboxNotReady"
	}
	return c
}

// allContainersRestarting is the condition of that name (pkg/kubelet/status/generate.go,
// GenerateAllContainersRestartingCondition).
func (k *kubelet) allContainersRestarting(s *corev1.PodStatus, v snapshot, restarting bool) corev1.PodCondition {
	is := corev1.PodCondition{Type: corev1.AllContainersRestarting, Status: corev1.ConditionFalse}
	switch {
	case s.Phase == corev1.PodSucceeded:
		is.Reason = "PodCompleted"
	case s.Phase == corev1.PodFailed:
		is.Reason = "PodFailed"
	case restarting && len(v.all) > 0:
		is.Status, is.Reason = corev1.ConditionTrue, "RestartAllContainersStarted"
	}
	return is
}

func conditionIs(s *corev1.PodStatus, kind corev1.PodConditionType) bool {
	for _, c := range s.Conditions {
		if c.Type == kind {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
