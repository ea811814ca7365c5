package reference

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// objectFits checks what a single object must satisfy by itself.
func (r *reading) objectFits(pod *corev1.Pod, n int) *denial {
	v := viewOf(r.p, pod)
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for k := range list {
			cs := &list[k]
			i, known := r.p.index[cs.Name]
			if !known {
				continue
			}
			if d := r.containerFits(&r.p.containers[i], cs, n); d != nil {
				return d
			}
		}
	}
	if want := r.phases(pod, v); !slices.Contains(want, pod.Status.Phase) {
		return because(deny(rulePhase), "status.phase is %s; the container states allow %s", pod.Status.Phase, joinPhases(want))
	}
	return r.conditionsFit(pod, v)
}

// containerFits checks the flags of one container's status.
func (r *reading) containerFits(spec *spec, cs *corev1.ContainerStatus, n int) *denial {
	runs := cs.State.Running != nil
	if spec.role == initContainer {
		if exited := cs.State.Terminated != nil && cs.State.Terminated.ExitCode == 0; cs.Ready && !exited && !r.roundsInTrace() {
			return because(deny(ruleReady), "status of init container %s says ready while it is %s", cs.Name, stateWord(cs))
		}
		return nil
	}
	started := cs.Started != nil && *cs.Started
	// A restarted kubelet forgets what the probes had said; see forgotten for
	// how much of it.
	forgot := r.kubeletRestarted(n)
	switch {
	case started && !runs:
		return because(deny(ruleStarted), "status of container %s says started while it is %s", cs.Name, stateWord(cs))
	case !spec.startup.declared && runs && !started:
		return because(deny(ruleStarted), "status of container %s says running and not started, and it has no startup probe", cs.Name)
	case cs.Ready && !(runs && started) && !(runs && (forgot || r.takenBack(spec, cs))):
		return because(deny(ruleReady), "status of container %s says ready while it is %s, started %t", cs.Name, stateWord(cs), started)
	case !spec.readiness.declared && runs && started && !cs.Ready && !spec.startup.declared:
		return because(deny(ruleReady), "status of container %s says not ready while it runs, and it has no readiness probe", cs.Name)
	}
	return nil
}

// takenBack reports whether a startup probe that was run once more behind its
// success may have failed then: that is published at once, what follows from it
// by the next sync.
func (r *reading) takenBack(spec *spec, cs *corev1.ContainerStatus) bool {
	i := r.p.index[spec.name]
	x := r.h[i].at(cs.RestartCount)
	failed := spec.startup.network || !r.ev.writes(i, trace.StartupProbe) || r.unlogged(i, r.n) || x.started != 0 && x.failures[rowOf(trace.StartupProbe)] > 0
	return spec.startup.declared && !r.k.startupProbeStops() && failed
}

// view counts what the container states of one object come to, as getPhase
// does (pkg/kubelet/kubelet_pods.go).
type view struct {
	// ready: every regular container and sidecar is ready. initialized: every
	// init container is ready, every sidecar started.
	ready, initialized bool
	// initsOpen, initsFailed and sidecarsOpen count init containers that have
	// not ended, those that failed, and sidecars that have not started.
	initsOpen, initsFailed, sidecarsOpen int
	// initsOver: an init container has failed for good.
	initsOver bool
	// sidecarsProbed counts the sidecars that a startup probe has started.
	sidecarsProbed int
	// begun: a regular container has been started at some time; begunNow: its
	// state is not waiting.
	begun, begunNow bool
	// Of the regular containers, and running of the sidecars too.
	waiting, running, stopped, failed int
	// restartable: one that stopped is started again by its policy or rules.
	restartable bool
	// shown counts the containers that are shown as started.
	shown int
}

func viewOf(p *plan, pod *corev1.Pod) view {
	v := view{ready: true, initialized: true}
	st := &pod.Status
	v.waiting = p.regulars - len(st.ContainerStatuses)
	v.initsOpen = p.inits - len(st.InitContainerStatuses)
	if v.waiting > 0 {
		v.ready = false
	}
	if v.initsOpen > 0 {
		v.initialized = false
	}
	for _, list := range [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses} {
		for k := range list {
			cs := &list[k]
			i, ok := p.index[cs.Name]
			if !ok {
				continue
			}
			spec := &p.containers[i]
			if rankOf(cs) > 0 {
				v.shown++
			}
			end := cs.State.Terminated
			if cs.State.Waiting != nil {
				end = cs.LastTerminationState.Terminated
			}
			runs := cs.State.Running != nil
			switch spec.role {
			case initContainer:
				v.initialized = v.initialized && cs.Ready
				switch {
				case !runs && end != nil && end.ExitCode != 0:
					v.initsFailed++
					v.initsOver = v.initsOver || spec.policy == corev1.RestartPolicyNever && !spec.restartsFor(end.ExitCode)
				case runs || end == nil:
					v.initsOpen++
				}
			case sidecar:
				started := cs.Started != nil && *cs.Started
				v.initialized = v.initialized && started
				v.ready = v.ready && cs.Ready
				if runs {
					v.running++
				}
				if started && spec.startup.declared {
					v.sidecarsProbed++
				}
				if runs && !started || !runs && end == nil {
					v.sidecarsOpen++
				}
			default:
				v.ready = v.ready && cs.Ready
				v.begun = v.begun || runs || end != nil
				v.begunNow = v.begunNow || runs || cs.State.Terminated != nil
				switch {
				case runs:
					v.running++
				case end != nil:
					v.stopped++
					if end.ExitCode != 0 || cs.State.Waiting != nil {
						v.failed++ // one that waits to be started again has not succeeded
					}
					again := spec.restartsFor(end.ExitCode) || end.Reason == restartingAll ||
						spec.policy == corev1.RestartPolicyAlways || spec.policy == corev1.RestartPolicyOnFailure && end.ExitCode != 0
					v.restartable = v.restartable || again
				default:
					v.waiting++
				}
			}
		}
	}
	return v
}

// phases returns the phases that the shown container states allow. Containers
// of two rounds may stand beside each other in one status.
func (r *reading) phases(pod *corev1.Pod, v view) []corev1.PodPhase {
	all := r.phasesOfRound(pod, v)
	for _, other := range []corev1.PodPhase{corev1.PodPending, corev1.PodRunning} {
		if r.roundsInTrace() && !slices.Contains(all, other) {
			all = append(all, other)
		}
	}
	return all
}

func (r *reading) phasesOfRound(pod *corev1.Pod, v view) []corev1.PodPhase {
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
	case v.initsOver:
		return []corev1.PodPhase{corev1.PodFailed, corev1.PodPending}
	case v.waiting > 0 && deleted && v.running == 0, pending && deleted:
		// It was deleted before it was started, or while it began anew.
		all := []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodFailed}
		if v.stopped == r.p.regulars && v.sidecarsOpen == 0 && r.k.forgetsInits() && final != corev1.PodFailed {
			all = append(all, final)
		}
		return all
	case v.waiting > 0:
		return []corev1.PodPhase{corev1.PodPending}
	case v.initsOpen > 0 || v.initsFailed > 0:
		// Every regular container was started before, and an init container
		// has not ended: its status was lost, and what it was is not known.
		return []corev1.PodPhase{corev1.PodRunning, corev1.PodPending, corev1.PodFailed, final}
	case v.running > 0 && v.sidecarsOpen > 0 && v.stopped == r.p.regulars, v.sidecarsProbed > 0 && !v.begunNow:
		// The success of a startup probe is published at once, what follows from
		// it by the next sync.
		return []corev1.PodPhase{corev1.PodRunning, corev1.PodPending, final}
	case v.running > 0 && v.stopped == r.p.regulars && r.p.inits > 0 && !v.restartable:
		// Only sidecars run on.
		return []corev1.PodPhase{corev1.PodRunning, final}
	case v.running > 0 && !v.begunNow && r.k.forgetsSidecars():
		return []corev1.PodPhase{corev1.PodPending}
	case v.running > 0:
		return []corev1.PodPhase{corev1.PodRunning}
	case v.restartable && !deleted:
		return []corev1.PodPhase{corev1.PodRunning}
	}
	// The final phase is published when the kubelet has stopped all that is
	// left; until then the last one stays.
	return []corev1.PodPhase{corev1.PodRunning, final, r.phase}
}

// isFinal reports whether a Pod stays in the phase
// (pkg/kubelet/kubelet_pods.go, generateAPIPodStatus).
func isFinal(p corev1.PodPhase) bool { return p == corev1.PodSucceeded || p == corev1.PodFailed }

func joinPhases(p []corev1.PodPhase) string {
	var words []string
	for _, x := range p {
		words = append(words, string(x))
	}
	return strings.Join(words, " or ")
}

func (r *reading) conditionsFit(pod *corev1.Pod, v view) *denial {
	final := isFinal(pod.Status.Phase)
	var sandbox *corev1.PodCondition
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		is := c.Status == corev1.ConditionTrue
		switch c.Type {
		case corev1.ContainersReady:
			if !is && c.Reason == "PodFailed" && r.ev.endsAnyTime {
				break // a deadline or an eviction, which the phase shows once the containers have stopped
			}
			if is != (v.ready && !final) {
				return because(deny(ruleConditions), "condition ContainersReady is %s while the containers are ready: %t", c.Status, v.ready)
			}
		case corev1.PodReady:
			// Another than the kubelet may take Ready away (a lost node), and
			// then gives another reason, as does a readiness gate.
			if is && (!v.ready || final) || !is && v.ready && !final && c.Reason == "ContainersNotReady" {
				return because(deny(ruleConditions), "condition Ready is %s while the containers are ready: %t", c.Status, v.ready)
			}
			if gate := missingGate(pod); is && gate != "" {
				return because(deny(ruleConditions), "condition Ready is True, and readiness gate %s has no condition", gate)
			}
		case corev1.PodInitialized:
			if pod.Status.Reason != "" || r.roundsInTrace() {
				break // who ended the Pod wrote it, or it is of an earlier round
			}
			// Where the gate is on, a Pod that was initialized once stays so.
			done := v.initialized || v.begun
			done = done || r.k.Enabled(gateRestartAll) && (r.initialized || r.hadInitialized(pod))
			done = done || r.startedBefore(pod)
			// A new kubelet takes back first that a sidecar has started.
			if is && !done && pod.Status.Phase != corev1.PodSucceeded && !r.kubeletRestarted(r.n) {
				return because(deny(ruleConditions), "condition Initialized is True while an init container or sidecar is not through")
			}
			// The success of a startup probe is published at once, what follows
			// from it by the next sync.
			late := pod.DeletionTimestamp != nil || !v.begunNow && slices.ContainsFunc(r.p.containers[:r.p.inits], func(s spec) bool { return s.startup.declared })
			if !is && (v.initialized || v.begunNow) && !late && len(pod.Status.InitContainerStatuses) == r.p.inits {
				return because(deny(ruleConditions), "condition Initialized is %s though nothing is left to initialize", c.Status)
			}
		case corev1.PodReadyToStartContainers:
			sandbox = c
		}
	}
	return r.sandboxFits(pod, sandbox, v)
}

// startedBefore reports whether every init container is through, and every sidecar that is
// not shown as started may have been until just now; see takenBack.
func (r *reading) startedBefore(pod *corev1.Pod) bool {
	return r.through(pod, func(_ int, spec *spec, cs *corev1.ContainerStatus) bool {
		return spec.role == sidecar && cs.State.Running != nil && r.takenBack(spec, cs)
	})
}

// hadInitialized reports whether an update that was not delivered may have shown
// every init container and sidecar as through: the sidecars that are not have
// run, and a startup probe of theirs has succeeded.
func (r *reading) hadInitialized(pod *corev1.Pod) bool {
	return r.through(pod, func(i int, spec *spec, cs *corev1.ContainerStatus) bool {
		started := !spec.startup.declared || !r.ev.writes(i, trace.StartupProbe) || slices.ContainsFunc(r.h[i].runs, func(x seen) bool { return x.started != 0 })
		return spec.role == sidecar && started && (cs.State.Terminated != nil || cs.LastTerminationState.Terminated != nil)
	})
}

// through reports whether every init container and sidecar is shown, and is through or was.
func (r *reading) through(pod *corev1.Pod, was func(i int, spec *spec, cs *corev1.ContainerStatus) bool) bool {
	list := pod.Status.InitContainerStatuses
	for k := range list {
		cs := &list[k]
		i, ok := r.p.index[cs.Name]
		if !ok {
			continue
		}
		spec := &r.p.containers[i]
		if started := cs.Started != nil && *cs.Started; !cs.Ready && !(spec.role == sidecar && started) && !was(i, spec, cs) {
			return false
		}
	}
	return len(list) == r.p.inits
}

func (r *reading) sandboxFits(pod *corev1.Pod, c *corev1.PodCondition, v view) *denial {
	is := c != nil && c.Status == corev1.ConditionTrue
	switch {
	case !r.k.Enabled(gateSandboxCondition):
		if c != nil {
			return because(deny(ruleSandbox), "condition PodReadyToStartContainers is there; a kubelet %s has the gate off", r.k)
		}
	case is && !r.k.sandboxConditionEarly() && v.shown == 0 && !r.kubeletRestarted(r.n) && !slices.ContainsFunc(r.ev.c, func(c containerEvidence) bool { return c.startFailed }):
		return because(deny(ruleSandbox), "condition PodReadyToStartContainers is True before a container is shown; before 1.36 both come from the same sync")
	case !is && v.running > 0 && pod.DeletionTimestamp == nil && !r.ev.newSandbox && v.stopped < r.p.regulars:
		return because(deny(ruleSandbox), "condition PodReadyToStartContainers is not True while a container is shown as running")
	}
	return nil
}

func stateWord(cs *corev1.ContainerStatus) string {
	switch {
	case cs.State.Running != nil:
		return "running"
	case cs.State.Terminated != nil:
		return fmt.Sprintf("terminated (exit code %d)", cs.State.Terminated.ExitCode)
	case cs.State.Waiting != nil && cs.State.Waiting.Reason != "":
		return "waiting (" + cs.State.Waiting.Reason + ")"
	}
	return "waiting"
}

// describePod names an update in an explanation.
func describePod(e *trace.Entry) string {
	var b strings.Builder
	b.WriteString("pod " + e.Type)
	if e.Pod.Status.Phase != "" {
		fmt.Fprintf(&b, " %s", e.Pod.Status.Phase)
	}
	if e.Pod.DeletionTimestamp != nil {
		b.WriteString(" (being deleted)")
	}
	for _, list := range [][]corev1.ContainerStatus{e.Pod.Status.InitContainerStatuses, e.Pod.Status.ContainerStatuses, e.Pod.Status.EphemeralContainerStatuses} {
		for i := range list {
			cs := &list[i]
			fmt.Fprintf(&b, "; %s#%d %s ready=%t", cs.Name, cs.RestartCount, stateWord(cs), cs.Ready)
		}
	}
	return b.String()
}

// missingGate is a readiness gate of the Pod that nobody has set the condition of;
// empty if there is none. One that is False may have been True when the kubelet looked
// (pkg/kubelet/status/generate.go, GeneratePodReadyCondition).
func missingGate(pod *corev1.Pod) corev1.PodConditionType {
	for _, g := range pod.Spec.ReadinessGates {
		if !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == g.ConditionType }) {
			return g.ConditionType
		}
	}
	return ""
}
