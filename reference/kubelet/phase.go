package kubelet

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// phase is Pending until every init container has ended and every other container
// has been started, then Running, and Succeeded or Failed where all regular
// containers have ended for good.
//
// status/phase
func (k *kubelet) phase(s *corev1.PodStatus, v snapshot) corev1.PodPhase {
	if was := k.api.pod.Status.Phase; terminal(was) { // it stays
		return was
	}
	running, waiting, stopped, succeeded, comes := 0, 0, 0, 0, false
	for c := len(k.pod.Init); c < len(k.specs); c++ {
		cs := k.find(s, c)
		exit := cs.State.Terminated
		switch {
		case cs.State.Running != nil:
			running++
		case exit != nil:
			stopped++
			if exit.ExitCode == 0 {
				succeeded++
			}
		case cs.LastTerminationState.Terminated != nil:
			stopped++
			exit = cs.LastTerminationState.Terminated
		default:
			waiting++
		}
		comes = comes || exit != nil && k.startsAgain(c, exit)
	}
	// lost: the end has come while the Pod started over in another sandbox.
	unfinished, lost := false, false
	for c := range k.pod.Init {
		cs := k.find(s, c)
		last := cs.LastTerminationState.Terminated
		switch {
		case k.isInit(c):
			exit := cs.State.Terminated
			if exit == nil && cs.State.Waiting != nil {
				exit = last
			}
			if exit != nil && exit.ExitCode != 0 && !k.startsAgain(c, exit) {
				return corev1.PodFailed
			}
			if (exit == nil || exit.ExitCode != 0) && (k.has(PendingAgain) || !hasStarted(s)) {
				unfinished = true
			}
			lost = lost || exit == nil && k.has(PendingAgain)
		case cs.State.Running != nil:
			running++
			unfinished = unfinished || !k.hadStarted(c, cs) && !k.hasInitialized(s, v)
		case cs.State.Waiting != nil && last == nil:
			waiting++ // even where regular containers have started, unlike an init container that has not ended
			lost = true
		}
	}
	if k.allStopped {
		if lost || succeeded < len(k.pod.Containers) || k.evicted && k.has(EvictedStaysFailed) {
			return corev1.PodFailed
		}
		return corev1.PodSucceeded
	}
	switch {
	case (unfinished || waiting > 0 || comes) && k.sandboxLostForGood(v):
		return corev1.PodFailed
	case unfinished || waiting > 0:
		return corev1.PodPending
	case running > 0 || comes:
		return corev1.PodRunning
	case succeeded == stopped:
		return corev1.PodSucceeded
	}
	return corev1.PodFailed
}

// sandboxLostForGood reports whether nothing of the Pod runs, and nothing will be started, since
// its sandbox is lost and its policy is Never.
//
// status/final-phase
func (k *kubelet) sandboxLostForGood(v snapshot) bool {
	had := slices.ContainsFunc(v.newest, func(i *instance) bool { return i != nil })
	return k.pod.Policy == corev1.RestartPolicyNever && v.sandbox >= 0 && !v.ready && had && len(v.alive()) == 0 && !k.allRestart(v) && !k.pod.Faults.StuckWithoutSandbox
}

// hasStarted reports whether any regular container has ever been started.
func hasStarted(s *corev1.PodStatus) bool {
	for _, cs := range s.ContainerStatuses {
		if cs.State.Running != nil || cs.State.Terminated != nil {
			return true
		}
	}
	return false
}

// hasInitialized reports whether a regular container has been started, for a sidecar that
// counts as not started yet: one that is shown so, and from 1.33 one of the sandbox.
func (k *kubelet) hasInitialized(s *corev1.PodStatus, v snapshot) bool {
	if !k.has(SandboxTells) {
		return hasStarted(s)
	}
	return v.ready && slices.ContainsFunc(v.all, func(i *instance) bool { return k.isRegular(i.c) && i.sandbox == v.sandbox })
}

// startsAgain reports whether a container is started again after an end that is shown.
func (k *kubelet) startsAgain(c int, end *corev1.ContainerStateTerminated) bool {
	return end.Reason == restartingAll || k.restarts(c, int(end.ExitCode))
}

// hadStarted reports whether the phase counts a sidecar that runs as started: what was
// shown before counts, and up to 1.34 nothing does
// (pkg/kubelet/kubelet_pods.go, getPhase, which comes before the probes are asked).
func (k *kubelet) hadStarted(c int, cs *corev1.ContainerStatus) bool {
	old := k.previous(c)
	return k.has(KeptOverRestart) && old != nil && old.ContainerID == cs.ContainerID && old.Started != nil && *old.Started
}
