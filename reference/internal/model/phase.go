// The phase of a Pod, getPhase of the kubelet: what it can be beside the container states in
// the same update. Rules: status/phase.

package model

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
)

// view counts the container states of one update, as the kubelet does for the phase
// (pkg/kubelet/kubelet_pods.go, getPhase).
type view struct {
	// ready: every regular container and sidecar is ready. initialized: every
	// init container is ready, every sidecar started.
	ready, initialized bool
	// initsOpen, initsFailed and sidecarsOpen count the init containers that have
	// not ended, those that failed, and the sidecars that have not started.
	initsOpen, initsFailed, sidecarsOpen int
	// initFailedForGood: an init container has failed and is not started again.
	initFailedForGood bool
	// sidecarsProbed counts the sidecars that a startup probe has started.
	sidecarsProbed int
	// begun: a regular container has been started at some time. begunNow: one is
	// running or terminated, not waiting.
	begun, begunNow bool
	// These count regular containers; running counts sidecars too.
	waiting, running, stopped, failed int
	// restartable: a regular container that stopped is started again by its policy
	// or rules.
	restartable bool
	// started counts the containers that are shown to have been started.
	started int
}

func viewOf(p *podspec.Pod, pod *corev1.Pod) view {
	st := &pod.Status
	v := view{waiting: p.Regulars - len(st.ContainerStatuses), initsOpen: p.Inits - len(st.InitContainerStatuses)}
	v.ready, v.initialized = v.waiting <= 0, v.initsOpen <= 0
	for _, list := range [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses} {
		for k := range list {
			cs := &list[k]
			i, ok := p.Index[cs.Name]
			if !ok {
				continue
			}
			if record.ShownOf(cs).Started() {
				v.started++
			}
			end := cs.State.Terminated
			if cs.State.Waiting != nil {
				end = cs.LastTerminationState.Terminated
			}
			switch spec := &p.Containers[i]; spec.Role {
			case podspec.InitContainer:
				v.countInit(spec, cs, end)
			case podspec.Sidecar:
				v.countSidecar(spec, cs, end)
			default:
				v.countRegular(spec, cs, end)
			}
		}
	}
	return v
}

// countInit counts an init container; end is its latest end, if it does not run.
func (v *view) countInit(spec *podspec.Container, cs *corev1.ContainerStatus, end *corev1.ContainerStateTerminated) {
	runs := cs.State.Running != nil
	v.initialized = v.initialized && cs.Ready
	switch {
	case !runs && end != nil && end.ExitCode != 0:
		v.initsFailed++
		v.initFailedForGood = v.initFailedForGood || spec.Policy == corev1.RestartPolicyNever && !spec.RestartsFor(end.ExitCode)
	case runs || end == nil:
		v.initsOpen++
	}
}

// countSidecar counts a sidecar.
func (v *view) countSidecar(spec *podspec.Container, cs *corev1.ContainerStatus, end *corev1.ContainerStateTerminated) {
	runs, started := cs.State.Running != nil, isStarted(cs)
	v.initialized = v.initialized && started
	v.ready = v.ready && cs.Ready
	if runs {
		v.running++
	}
	if started && spec.Startup.Declared {
		v.sidecarsProbed++
	}
	if runs && !started || !runs && end == nil {
		v.sidecarsOpen++
	}
}

// countRegular counts a regular container.
func (v *view) countRegular(spec *podspec.Container, cs *corev1.ContainerStatus, end *corev1.ContainerStateTerminated) {
	runs := cs.State.Running != nil
	v.ready = v.ready && cs.Ready
	v.begun = v.begun || runs || end != nil
	v.begunNow = v.begunNow || runs || cs.State.Terminated != nil
	switch {
	case runs:
		v.running++
	case end != nil:
		v.stopped++
		if end.ExitCode != 0 || cs.State.Waiting != nil {
			v.failed++ // a container that waits to be started again has not succeeded
		}
		again := spec.RestartsFor(end.ExitCode) || end.Reason == record.RestartingAll ||
			spec.Policy == corev1.RestartPolicyAlways || spec.Policy == corev1.RestartPolicyOnFailure && end.ExitCode != 0
		v.restartable = v.restartable || again
	default:
		v.waiting++
	}
}

// phases returns the phases that the shown container states allow. If containers may
// start over, one status may show some of the old round beside some of the new one. When
// somebody ended the Pod, the last phase stays until the containers have stopped
// (pkg/kubelet/status/status_manager.go, mergePodStatus).
func (r *Reading) phases(s *State, pod *corev1.Pod, v view) []corev1.PodPhase {
	all := r.phasesOfRound(pod, v)
	if r.deadlineIsOver(r.n) || v.running == 0 && r.endRequested(r.n) {
		all = append(all, r.phase)
	}
	if v.started > 0 && v.running == 0 && (r.sandboxLostForGoodBefore(record.PlaceOf(r.n)) || r.stoppedWithItsPod(s)) {
		// Whatever was never started, or should have been again. Until the Pod has been
		// terminated the last phase stays.
		if all = append(all, corev1.PodFailed, r.phase); v.failed == 0 {
			all = append(all, corev1.PodSucceeded)
		}
	}
	for _, other := range []corev1.PodPhase{corev1.PodPending, corev1.PodRunning} {
		if r.mayEverStartOver() && !slices.Contains(all, other) {
			all = append(all, other)
		}
	}
	return all
}

// stoppedWithItsPod reports whether the sandbox of the Pod may have been stopped with a regular
// container that a probe failed in, as nothing else was left to run. It is not replaced, even if a
// rule would have the container started again.
func (r *Reading) stoppedWithItsPod(s *State) bool {
	if r.p.Policy != corev1.RestartPolicyNever {
		return false
	}
	for j := r.p.Inits; j < r.p.Inits+r.p.Regulars; j++ {
		if r.stoppedForGood(s, j) {
			return true
		}
	}
	return false
}

// phasesOfRound returns the phases if all containers are of the same round.
func (r *Reading) phasesOfRound(pod *corev1.Pod, v view) []corev1.PodPhase {
	final := corev1.PodSucceeded
	if v.failed > 0 {
		final = corev1.PodFailed
	}
	deleted := pod.DeletionTimestamp != nil
	pending := v.initsOpen > 0 || v.sidecarsOpen > 0 || v.waiting > 0
	switch {
	case pod.Status.Reason != "":
		// Eviction, preemption, node shutdown or a deadline set the phase.
		return []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed}
	case v.initFailedForGood:
		return []corev1.PodPhase{corev1.PodFailed, corev1.PodPending}
	case v.waiting > 0 && deleted && v.running == 0, pending && deleted:
		// It was deleted before all was started, or while it was started over.
		all := []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodFailed}
		if v.stopped == r.p.Regulars && v.sidecarsOpen == 0 && r.k.ForgetsInits() && final != corev1.PodFailed {
			all = append(all, final)
		}
		return all
	case v.waiting > 0:
		return []corev1.PodPhase{corev1.PodPending}
	case v.initsOpen > 0 || v.initsFailed > 0:
		// Every regular container was started before, yet an init container has not
		// ended: its status was lost, and what it was is not known.
		return []corev1.PodPhase{corev1.PodRunning, corev1.PodPending, corev1.PodFailed, final}
	case v.running > 0 && v.sidecarsOpen > 0 && v.stopped == r.p.Regulars, v.sidecarsProbed > 0 && !v.begunNow:
		// The success of a startup probe is published at once. The phase follows with
		// the next sync.
		return []corev1.PodPhase{corev1.PodRunning, corev1.PodPending, final}
	case v.running > 0 && v.stopped == r.p.Regulars && r.p.Inits > 0 && !v.restartable:
		// Only sidecars still run.
		return []corev1.PodPhase{corev1.PodRunning, final}
	case v.running > 0 && !v.begunNow && r.k.ForgetsSidecars():
		return []corev1.PodPhase{corev1.PodPending}
	case v.running > 0:
		return []corev1.PodPhase{corev1.PodRunning}
	case v.restartable && !deleted:
		return []corev1.PodPhase{corev1.PodRunning}
	}
	// The final phase is published when the kubelet has stopped all that is left. Until
	// then the last phase stays.
	return []corev1.PodPhase{corev1.PodRunning, final, r.phase}
}

func joinPhases(p []corev1.PodPhase) string {
	var words []string
	for _, x := range p {
		words = append(words, string(x))
	}
	return strings.Join(words, " or ")
}
