package model

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// objectFits checks what a single object must satisfy by itself.
func (r *Reading) objectFits(pod *corev1.Pod, n int) *Denial {
	v := viewOf(r.p, pod)
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for k := range list {
			cs := &list[k]
			i, known := r.p.Index[cs.Name]
			if !known {
				continue
			}
			if d := r.containerFits(&r.p.Containers[i], cs, n); d != nil {
				return d
			}
		}
	}
	if want := r.phases(pod, v); !slices.Contains(want, pod.Status.Phase) {
		return because(deny(rules.Phase), "status.phase is %s; the container states allow %s", pod.Status.Phase, joinPhases(want))
	}
	return r.conditionsFit(pod, v)
}

// containerFits checks the flags of one container's status.
func (r *Reading) containerFits(spec *podspec.Container, cs *corev1.ContainerStatus, n int) *Denial {
	runs := cs.State.Running != nil
	if spec.Role == podspec.InitContainer {
		if exited := cs.State.Terminated != nil && cs.State.Terminated.ExitCode == 0; cs.Ready && !exited && !r.excused(rules.InitReady, -1, n, 0) {
			return because(deny(rules.Ready), "status of init container %s says ready while it is %s", cs.Name, record.StateWord(cs))
		}
		return nil
	}
	started := cs.Started != nil && *cs.Started
	// A restarted kubelet forgets what the probes had said; see forgotten for
	// how much of it.
	forgot := r.kubeletRestarted(n)
	switch {
	case started && !runs:
		return because(deny(rules.Started), "status of container %s says started while it is %s", cs.Name, record.StateWord(cs))
	case !spec.Startup.Declared && runs && !started:
		return because(deny(rules.Started), "status of container %s says running and not started, and it has no startup probe", cs.Name)
	case cs.Ready && !(runs && started) && !(runs && (forgot || r.startupTakenBack(spec, cs))):
		return because(deny(rules.Ready), "status of container %s says ready while it is %s, started %t", cs.Name, record.StateWord(cs), started)
	case !spec.Readiness.Declared && runs && started && !cs.Ready && !spec.Startup.Declared:
		return because(deny(rules.Ready), "status of container %s says not ready while it runs, and it has no readiness probe", cs.Name)
	}
	return nil
}

// startupTakenBack reports whether a startup probe that was run once more behind its
// success may have failed then: that is published at once, what follows from it
// by the next sync.
func (r *Reading) startupTakenBack(spec *podspec.Container, cs *corev1.ContainerStatus) bool {
	i := r.p.Index[spec.Name]
	x := r.h[i].at(cs.RestartCount)
	failed := spec.Startup.Network || !r.ev.Writes(i, trace.StartupProbe) || r.mayFailUnlogged(i, r.n) || x.started != 0 && x.failures[record.RowOf(trace.StartupProbe)] > 0
	return spec.Startup.Declared && !r.k.StartupProbeStops() && failed
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

func viewOf(p *podspec.Pod, pod *corev1.Pod) view {
	v := view{ready: true, initialized: true}
	st := &pod.Status
	v.waiting = p.Regulars - len(st.ContainerStatuses)
	v.initsOpen = p.Inits - len(st.InitContainerStatuses)
	if v.waiting > 0 {
		v.ready = false
	}
	if v.initsOpen > 0 {
		v.initialized = false
	}
	for _, list := range [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses} {
		for k := range list {
			cs := &list[k]
			i, ok := p.Index[cs.Name]
			if !ok {
				continue
			}
			spec := &p.Containers[i]
			if record.ShownOf(cs).Started() {
				v.shown++
			}
			end := cs.State.Terminated
			if cs.State.Waiting != nil {
				end = cs.LastTerminationState.Terminated
			}
			runs := cs.State.Running != nil
			switch spec.Role {
			case podspec.InitContainer:
				v.initialized = v.initialized && cs.Ready
				switch {
				case !runs && end != nil && end.ExitCode != 0:
					v.initsFailed++
					v.initsOver = v.initsOver || spec.Policy == corev1.RestartPolicyNever && !spec.RestartsFor(end.ExitCode)
				case runs || end == nil:
					v.initsOpen++
				}
			case podspec.Sidecar:
				started := cs.Started != nil && *cs.Started
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
					again := spec.RestartsFor(end.ExitCode) || end.Reason == record.RestartingAll ||
						spec.Policy == corev1.RestartPolicyAlways || spec.Policy == corev1.RestartPolicyOnFailure && end.ExitCode != 0
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
func (r *Reading) phases(pod *corev1.Pod, v view) []corev1.PodPhase {
	all := r.phasesOfRound(pod, v)
	for _, other := range []corev1.PodPhase{corev1.PodPending, corev1.PodRunning} {
		if r.mayEverStartOver() && !slices.Contains(all, other) {
			all = append(all, other)
		}
	}
	return all
}

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
	case v.initsOver:
		return []corev1.PodPhase{corev1.PodFailed, corev1.PodPending}
	case v.waiting > 0 && deleted && v.running == 0, pending && deleted:
		// It was deleted before it was started, or while it began anew.
		all := []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodFailed}
		if v.stopped == r.p.Regulars && v.sidecarsOpen == 0 && r.k.ForgetsInits() && final != corev1.PodFailed {
			all = append(all, final)
		}
		return all
	case v.waiting > 0:
		return []corev1.PodPhase{corev1.PodPending}
	case v.initsOpen > 0 || v.initsFailed > 0:
		// Every regular container was started before, and an init container
		// has not ended: its status was lost, and what it was is not known.
		return []corev1.PodPhase{corev1.PodRunning, corev1.PodPending, corev1.PodFailed, final}
	case v.running > 0 && v.sidecarsOpen > 0 && v.stopped == r.p.Regulars, v.sidecarsProbed > 0 && !v.begunNow:
		// The success of a startup probe is published at once, what follows from
		// it by the next sync.
		return []corev1.PodPhase{corev1.PodRunning, corev1.PodPending, final}
	case v.running > 0 && v.stopped == r.p.Regulars && r.p.Inits > 0 && !v.restartable:
		// Only sidecars run on.
		return []corev1.PodPhase{corev1.PodRunning, final}
	case v.running > 0 && !v.begunNow && r.k.ForgetsSidecars():
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

func joinPhases(p []corev1.PodPhase) string {
	var words []string
	for _, x := range p {
		words = append(words, string(x))
	}
	return strings.Join(words, " or ")
}

func (r *Reading) conditionsFit(pod *corev1.Pod, v view) *Denial {
	final := record.IsFinal(pod.Status.Phase)
	var sandbox *corev1.PodCondition
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		is := c.Status == corev1.ConditionTrue
		switch c.Type {
		case corev1.ContainersReady:
			if !is && c.Reason == "PodFailed" && r.ev.EndTimeUnknown {
				break // a deadline or an eviction, which the phase shows once the containers have stopped
			}
			if is != (v.ready && !final) {
				return because(deny(rules.Conditions), "condition ContainersReady is %s while the containers are ready: %t", c.Status, v.ready)
			}
		case corev1.PodReady:
			// Another than the kubelet may take Ready away (a lost node), and
			// then gives another reason, as does a readiness gate.
			if is && (!v.ready || final) || !is && v.ready && !final && c.Reason == "ContainersNotReady" {
				return because(deny(rules.Conditions), "condition Ready is %s while the containers are ready: %t", c.Status, v.ready)
			}
			if gate := missingGate(pod); is && gate != "" {
				return because(deny(rules.Conditions), "condition Ready is True, and readiness gate %s has no condition", gate)
			}
		case corev1.PodInitialized:
			if pod.Status.Reason != "" || r.excused(rules.NotInitializedAgain, -1, r.n, 0) {
				break // who ended the Pod wrote it, or it is of an earlier round
			}
			// Where the gate is on, a Pod that was initialized once stays so.
			done := v.initialized || v.begun
			done = done || r.k.Enabled(rules.GateRestartAll) && (r.initialized || r.hadInitialized(pod))
			done = done || r.startedBefore(pod)
			// A new kubelet takes back first that a sidecar has started.
			if is && !done && pod.Status.Phase != corev1.PodSucceeded && !r.excused(rules.InitializedNotYet, -1, r.n, 0) {
				return because(deny(rules.Conditions), "condition Initialized is True while an init container or sidecar is not through")
			}
			// The success of a startup probe is published at once, what follows
			// from it by the next sync.
			late := pod.DeletionTimestamp != nil || !v.begunNow && slices.ContainsFunc(r.p.Containers[:r.p.Inits], func(s podspec.Container) bool { return s.Startup.Declared })
			if !is && (v.initialized || v.begunNow) && !late && len(pod.Status.InitContainerStatuses) == r.p.Inits {
				return because(deny(rules.Conditions), "condition Initialized is %s though nothing is left to initialize", c.Status)
			}
		case corev1.PodReadyToStartContainers:
			sandbox = c
		}
	}
	return r.sandboxFits(pod, sandbox, v)
}

// startedBefore reports whether every init container is through, and every sidecar that is
// not shown as started may have been until just now; see takenBack.
func (r *Reading) startedBefore(pod *corev1.Pod) bool {
	return r.allInitialized(pod, func(_ int, spec *podspec.Container, cs *corev1.ContainerStatus) bool {
		return spec.Role == podspec.Sidecar && cs.State.Running != nil && r.startupTakenBack(spec, cs)
	})
}

// hadInitialized reports whether an update that was not delivered may have shown
// every init container and sidecar as through: the sidecars that are not have
// run, and a startup probe of theirs has succeeded.
func (r *Reading) hadInitialized(pod *corev1.Pod) bool {
	return r.allInitialized(pod, func(i int, spec *podspec.Container, cs *corev1.ContainerStatus) bool {
		started := !spec.Startup.Declared || !r.ev.Writes(i, trace.StartupProbe) || slices.ContainsFunc(r.h[i].runs, func(x seen) bool { return x.started != 0 })
		return spec.Role == podspec.Sidecar && started && (cs.State.Terminated != nil || cs.LastTerminationState.Terminated != nil)
	})
}

// allInitialized reports whether every init container and sidecar is shown, and is through or was.
func (r *Reading) allInitialized(pod *corev1.Pod, was func(i int, spec *podspec.Container, cs *corev1.ContainerStatus) bool) bool {
	list := pod.Status.InitContainerStatuses
	for k := range list {
		cs := &list[k]
		i, ok := r.p.Index[cs.Name]
		if !ok {
			continue
		}
		spec := &r.p.Containers[i]
		if started := cs.Started != nil && *cs.Started; !cs.Ready && !(spec.Role == podspec.Sidecar && started) && !was(i, spec, cs) {
			return false
		}
	}
	return len(list) == r.p.Inits
}

func (r *Reading) sandboxFits(pod *corev1.Pod, c *corev1.PodCondition, v view) *Denial {
	is := c != nil && c.Status == corev1.ConditionTrue
	switch {
	case !r.k.Enabled(rules.GateSandboxCondition):
		if c != nil {
			return because(deny(rules.Sandbox), "condition PodReadyToStartContainers is there; a kubelet %s has the gate off", r.k)
		}
	case is && !r.k.SandboxConditionEarly() && v.shown == 0 && !r.excused(rules.SandboxBeforeContainers, -1, r.n, 0):
		return because(deny(rules.Sandbox), "condition PodReadyToStartContainers is True before a container is shown; before 1.36 both come from the same sync")
	case !is && v.running > 0 && pod.DeletionTimestamp == nil && !r.excused(rules.SandboxWhileRunning, -1, r.n, 0) && v.stopped < r.p.Regulars:
		return because(deny(rules.Sandbox), "condition PodReadyToStartContainers is not True while a container is shown as running")
	}
	return nil
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

// wentBack says what of the status of container i goes back that never does, also where
// the containers begin anew: the count of its restarts, which the kubelet finds in the names
// of the log files, and a process that was shown to have ended. In a new sandbox, up to
// v1.35, the log files of init containers and sidecars are gone
// (pkg/kubelet/kuberuntime/kuberuntime_manager.go, purgeInitContainers), and where the node was
// restarted those of all may be (staging/src/k8s.io/api/core/v1/types.go, ContainerStatus).
func (r *Reading) wentBack(i int, cs *corev1.ContainerStatus) *Denial {
	h := &r.h[i]
	anew := r.ev.NodeRestarted || r.ev.NewSandbox && !r.p.IsRegular(i) && !r.k.Enabled(rules.GateRestartAll)
	switch {
	case cs.RestartCount < h.counted && !anew:
		return because(deny(rules.Forward, Cause{h.countedAt, rules.Forward}), "status of container %s goes back from restart count %d to %d", cs.Name, h.counted, cs.RestartCount)
	case cs.State.Running != nil && cs.ContainerID != "" && slices.Contains(h.dead, cs.ContainerID):
		return because(deny(rules.Forward, Cause{r.shownAt, rules.Forward}), "status of container %s says running with the ID of one that had ended", cs.Name)
	}
	return nil
}

// readyFits says why a container cannot be ready.
func (r *Reading) readyFits(i int, cs *corev1.ContainerStatus, n int) *Denial {
	spec := &r.p.Containers[i]
	if !spec.Readiness.Declared || spec.Role == podspec.InitContainer || !r.ev.Writes(i, trace.ReadinessProbe) {
		return nil
	}
	x := r.h[i].at(cs.RestartCount)
	if !cs.Ready {
		// What was shown as ready stays so until the probe has failed often enough.
		row, started := x.failures[record.RowOf(trace.ReadinessProbe)], cs.Started != nil && *cs.Started
		if r.ev.Containers[i].NewestRun > cs.RestartCount || r.ev.EndTimeUnknown || len(r.ev.Ends) > 0 {
			row++ // one may have died with its container, and left no line
		}
		loses := cs.State.Running != nil && started && r.h[i].shownReady == cs.RestartCount+1
		if !loses || row >= spec.Readiness.Failures || spec.Readiness.Network || r.excused(rules.UnreadyNeedsFailures, i, n, 0) {
			return nil
		}
		if x.readyLast != 0 && r.ob(n).Entry.At.Sub(r.writtenAt(x.readyLast)) < overtaken {
			return nil
		}
		return because(deny(rules.SuccessThreshold, Cause{x.readinessLast, rules.SuccessThreshold}), "status of container %s says ready no more after %d failures in a row; failureThreshold is %d", cs.Name, row, spec.Readiness.Failures)
	}
	switch {
	case r.excused(rules.ReadyNeedsSuccess, i, n, 0):
	case x.ready == 0:
		return because(deny(rules.ReadyAfterProbe), "status of container %s says ready, and no readiness probe of this instance has succeeded by then", cs.Name)
	case r.h[i].shownReady != cs.RestartCount+1 && r.h[i].best < spec.Readiness.Success:
		return because(deny(rules.SuccessThreshold, Cause{x.readinessLast, rules.SuccessThreshold}), "status of container %s says ready after %d successes in a row; successThreshold is %d", cs.Name, r.h[i].best, spec.Readiness.Success)
	}
	return nil
}

// overtaken is for how long a status may still be on its way that was computed
// before a readiness probe succeeded: it takes back, until the next sync, what the
// probe worker has published meanwhile (pkg/kubelet/kubelet.go, SyncPod). This is
// patience.
const overtaken = 2 * time.Second

// outlives is for how long a container must have run before its kubelet was
// started for that to take it over as it was shown
// (pkg/kubelet/prober/prober_manager.go, kubeletRestartGracePeriod). Two seconds
// are for the whole ones of its start, and for the two clocks.
const outlives = 10*time.Second + 2*time.Second

// lostOverRestart says what a restarted kubelet has made of a container that it should
// have taken over: one that was shown as started stays so, and one that was shown
// as ready, in a Pod that was, until its readiness probe fails.
func (r *Reading) lostOverRestart(i int, cs *corev1.ContainerStatus, n int) *Denial {
	h, spec, run := &r.h[i], &r.p.Containers[i], cs.RestartCount
	if cs.State.Running == nil || spec.Role == podspec.InitContainer || r.excused(rules.KeptByNewKubelet, i, n, 0) {
		return nil
	}
	var restart record.Place
	for _, a := range r.ev.Restarts {
		if a.After(n) {
			break
		}
		e := r.obAt(a).Entry
		if e.Did.Name != trace.ActRestart || e.Did.Target() != "kubelet" || e.At.Sub(cs.State.Running.StartedAt.Time) < outlives {
			return nil
		}
		restart = a
	}
	if restart == 0 {
		return nil
	}
	x, started := h.at(run), cs.Started != nil && *cs.Started
	if spec.Startup.Declared && (x.started == 0 || !r.ev.Writes(i, trace.StartupProbe)) {
		return nil // what is shown of it may be taken back
	}
	if h.wasStarted == run+1 && !started {
		return because(deny(rules.KeptOver, Cause{restart, rules.KeptOver}, Cause{r.shownAt, rules.KeptOver}, Cause{x.started, rules.KeptOver}), "status of container %s says not started any more behind a restart of the kubelet", cs.Name)
	}
	if h.wasReady != run+1 || cs.Ready || !r.ready {
		return nil
	}
	for j := range r.p.Containers {
		// One that is not ready makes the others so that have a probe.
		p := &r.p.Containers[j].Readiness
		failed := slices.ContainsFunc(r.h[j].runs, func(x seen) bool { return x.failures[record.RowOf(trace.ReadinessProbe)] > 0 })
		if p.Declared && (p.Network || failed || r.mayFailUnlogged(j, n) || r.eventsMayBeLate(n) || !r.ev.Writes(j, trace.ReadinessProbe)) {
			return nil
		}
	}
	return because(deny(rules.KeptOver, Cause{restart, rules.KeptOver}, Cause{r.shownAt, rules.KeptOver}, Cause{x.ready, rules.KeptOver}), "status of container %s says not ready any more behind a restart of the kubelet, and no readiness probe has failed", cs.Name)
}

// wholeSync checks that the regular containers, which one sync starts, are
// shown together.
func (r *Reading) wholeSync(pod *corev1.Pod, n int) *Denial {
	list := pod.Status.ContainerStatuses
	shown := slices.IndexFunc(list, func(cs corev1.ContainerStatus) bool { return record.ShownOf(&cs).Started() })
	for k := range list {
		if cs := &list[k]; shown >= 0 && !record.ShownOf(cs).Started() && !r.excused(rules.StartsShownTogether, r.p.Index[cs.Name], n, 0) {
			return because(deny(rules.WholeSync), "container %s is shown and container %s, started by the same sync, is still waiting", list[shown].Name, cs.Name)
		}
	}
	return nil
}

// together checks that containers which are stopped with their Pod are shown as
// terminated together.
func (r *Reading) together(s State, pod *corev1.Pod, n int) *Denial {
	if r.excused(rules.EndsShownTogether, -1, n, 0) {
		return nil
	}
	var stopped, runs string
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for k := range list {
			cs := &list[k]
			if c := &s.c[r.p.Index[cs.Name]]; record.IsEnd(cs.State.Terminated) && c.kill == byTermination && c.progress.isStarted() && c.run == cs.RestartCount {
				stopped = cs.Name
			}
			if cs.State.Running != nil {
				runs = cs.Name
			}
		}
	}
	if stopped != "" && runs != "" {
		return because(deny(rules.Together, s.terminating), "container %s is shown as terminated while container %s is shown as running", stopped, runs)
	}
	return nil
}
