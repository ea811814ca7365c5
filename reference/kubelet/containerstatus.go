package kubelet

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podorder/podorder/reference/trace"
)

// containerStatus is the status of one container: what the runtime has of it, and what
// was shown before of one that it has no more (pkg/kubelet/kubelet_pods.go,
// convertToAPIContainerStatuses).
func (k *kubelet) containerStatus(c int, v snapshot, restarting bool) corev1.ContainerStatus {
	old := k.previous(c)
	cs := corev1.ContainerStatus{Name: k.specs[c].Name, Image: image}
	cs.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
	if len(k.pod.Init) > 0 {
		cs.State.Waiting.Reason = "PodInitializing"
	}
	switch {
	case old == nil:
	case old.State.Terminated != nil:
		cs = *old.DeepCopy()
	default:
		cs.RestartCount, cs.LastTerminationState = old.RestartCount, *old.LastTerminationState.DeepCopy()
	}
	i, started := v.newest[c], false
	if i == nil {
		k.amendMissing(&cs, old, restarting)
	} else {
		cs = k.statusOf(i, old)
		if before := v.before[c]; before != nil {
			cs.LastTerminationState = stateOf(before)
		}
	}
	cs.Started = &started
	switch {
	case i != nil && i.running:
		started = k.isStarted(c, i)
		cs.Ready = started && !k.isInit(c) && k.isReady(c, i) // status/ready
		return cs
	case i == nil && k.isInit(c) && k.has(LostInitInferred) && cs.State.Waiting != nil && slices.ContainsFunc(v.newest[len(k.pod.Init):], func(i *instance) bool { return i != nil }):
		// Its status was lost, and what it was for is done.
		cs.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}
	case k.startErrors[c] != "" && k.comesBack(c, i):
		if cs.State.Terminated != nil {
			cs.LastTerminationState = cs.State
		}
		cs.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: k.startErrors[c]}}
	}
	if end := cs.State.Terminated; k.isInit(c) && end != nil && end.ExitCode == 0 {
		cs.Ready = true // status/ready
	}
	return cs
}

const (
	restartingAll = "RestartingAllContainers"
	statusUnknown = "ContainerStatusUnknown"
)

// madeUp is the end of a container of which nothing is left.
func madeUp(reason string) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{ExitCode: 137, Reason: reason}
}

// amendMissing amends the status of a container that the runtime does not have.
func (k *kubelet) amendMissing(cs, old *corev1.ContainerStatus, restarting bool) {
	switch {
	case old == nil:
	case restarting && old.State.Waiting == nil:
		cs.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: restartingAll}}
		cs.LastTerminationState.Terminated = madeUp(restartingAll)
		cs.RestartCount = old.RestartCount + 1
	case old.State.Running != nil && cs.LastTerminationState.Terminated == nil:
		cs.LastTerminationState.Terminated = madeUp(statusUnknown)
		if !k.deleted {
			cs.RestartCount++
		}
	}
}

// statusOf is the status of a container that the runtime has.
func (k *kubelet) statusOf(i *instance, old *corev1.ContainerStatus) corev1.ContainerStatus {
	cs := corev1.ContainerStatus{Name: k.specs[i.c].Name, Image: image, ContainerID: i.id, RestartCount: int32(i.run), State: stateOf(i)}
	if old == nil || !k.has(RestartAllContainers) {
		return cs
	}
	switch {
	case old.ContainerID != i.id && old.State.Terminated != nil:
		cs.LastTerminationState.Terminated = old.State.Terminated.DeepCopy()
	case old.LastTerminationState.Terminated != nil:
		cs.LastTerminationState.Terminated = old.LastTerminationState.Terminated.DeepCopy()
	}
	if i.running && old.State.Terminated != nil && int(old.RestartCount) >= i.run {
		cs.RestartCount = old.RestartCount + 1
	}
	cs.RestartCount = max(cs.RestartCount, old.RestartCount)
	return cs
}

func stateOf(i *instance) corev1.ContainerState {
	if i.running {
		return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: whole(i.startedAt)}}
	}
	return corev1.ContainerState{Terminated: exitOf(i)}
}

func exitOf(i *instance) *corev1.ContainerStateTerminated {
	t := &corev1.ContainerStateTerminated{ExitCode: int32(i.exit), Reason: "Completed", StartedAt: whole(i.startedAt), FinishedAt: whole(i.finished), ContainerID: i.id}
	if i.exit != 0 {
		t.Reason = "Error"
	}
	if i.oom {
		t.Reason = "OOMKilled"
	}
	if i.neverStarted { // the runtime gives the beginning of its epoch
		t.Reason, t.StartedAt = "StartError", metav1.Unix(0, 0)
	}
	return t
}

// isStarted reports whether an instance that runs counts as started: where it has a
// startup probe, once that has succeeded.
//
// status/started, status/started-after-probe, status/kept-over-restart
func (k *kubelet) isStarted(c int, i *instance) bool {
	if r, known := k.results.lookup(trace.StartupProbe, i.id); known {
		return r == success
	}
	if k.specs[c].Startup == nil || k.lacksWorker(c, trace.StartupProbe) {
		return true
	}
	old := k.previous(c)
	if old == nil || old.Started == nil || !*old.Started {
		return false
	}
	if k.pod.Faults.StartedInherited {
		return true
	}
	// After a restart of the kubelet the first status comes before the workers.
	return old.ContainerID == i.id && (k.probeWorkers[workerKey{c, trace.StartupProbe}] == nil || k.has(KeptOverRestart))
}

// isReady reports whether an instance that has started counts as ready: where it has a
// readiness probe, once that has succeeded. If it has not, a probe is triggered.
//
// status/ready, status/ready-after-probe, probes/readiness-bunch, status/kept-over-restart
func (k *kubelet) isReady(c int, i *instance) bool {
	if k.specs[c].Readiness == nil {
		return true
	}
	r, known := k.results.lookup(trace.ReadinessProbe, i.id)
	if r == success {
		return true
	}
	if b := k.probeWorkers[workerKey{c, trace.ReadinessProbe}]; b != nil {
		b.trigger = true
		// In a Pod that was ready what outlived the kubelet before stays so until it is probed
		// (pkg/kubelet/prober/prober_manager.go, setReadyStateOnKubeletRestart).
		st := corev1.ContainerStatus{ContainerID: i.id, State: stateOf(i)}
		return !known && k.outlivedKubelet(c, &st) && conditionIs(k.previousStatus(), corev1.PodReady)
	}
	if k.lacksWorker(c, trace.ReadinessProbe) {
		st := corev1.ContainerStatus{ContainerID: i.id, State: stateOf(i)}
		return !k.outlivedKubelet(c, &st) || conditionIs(k.previousStatus(), corev1.PodReady)
	}
	old := k.previous(c)
	return !known && old != nil && old.ContainerID == i.id && old.Ready
}

// fillInStatus fills in what is not known of a Pod that has ended
// (pkg/kubelet/status/status_manager.go, TerminatePod).
func (k *kubelet) fillInStatus() {
	k.amend(func(s *corev1.PodStatus) {
		known := func(cs *corev1.ContainerStatus) bool {
			return cs.State.Waiting == nil || cs.LastTerminationState.Terminated != nil
		}
		api, inits := &k.api.pod.Status, s.InitContainerStatuses
		initialized := len(inits) == 0
		for i := range api.ContainerStatuses {
			initialized = initialized || known(&api.ContainerStatuses[i])
		}
		if n := len(api.InitContainerStatuses); n > 0 {
			cs := &api.InitContainerStatuses[n-1]
			if k.isSidecar(n - 1) {
				initialized = initialized || cs.State.Running != nil && cs.Started != nil && *cs.Started
			} else {
				last, end := cs.LastTerminationState.Terminated, cs.State.Terminated
				initialized = initialized || last != nil && last.ExitCode == 0 || end != nil && end.ExitCode == 0
			}
		}
		fill := func(cs *corev1.ContainerStatus) {
			if cs.State.Terminated == nil {
				cs.State = corev1.ContainerState{Terminated: madeUp(statusUnknown)}
			}
		}
		if initialized {
			for i := range s.ContainerStatuses {
				fill(&s.ContainerStatuses[i])
			}
		}
		last := 0
		for i := range inits {
			if known(&inits[i]) {
				last = i
			}
		}
		for i := range inits {
			if i <= last {
				fill(&inits[i])
			}
		}
		if !terminal(s.Phase) {
			s.Phase = corev1.PodFailed
		}
	})
}

// outlivedKubelet reports whether started and ready of an instance are kept since it
// is older than this kubelet. A correct kubelet keeps them for the same container ID
// only; what 1.35 to 1.37 do beyond that is wrong.
//
// status/kept-over-restart
func (k *kubelet) outlivedKubelet(c int, st *corev1.ContainerStatus) bool {
	if !k.has(KeptOverRestart) || st.State.Running == nil || stamp(k.started).Sub(st.State.Running.StartedAt.Time).Seconds() <= 10 {
		return false
	}
	old := k.atStartStatus[c]
	return old != nil && old.ContainerID == st.ContainerID && old.Started != nil
}
