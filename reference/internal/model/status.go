// The status of a container, generateAPIPodStatus of the kubelet: what an update can show by
// itself, after the updates before it, and across a restart of the kubelet. Rules: status/ready,
// status/ready-after-probe, status/started, status/forward, status/kept-over-restart,
// status/whole-sync-at-once, status/started-after-probe, terminate/shown-together,
// probes/success-threshold.

package model

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// objectFits checks what an update must satisfy by itself.
func (r *Reading) objectFits(s *State, pod *corev1.Pod, n int) *Denial {
	v := viewOf(r.p, pod)
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for k := range list {
			cs := &list[k]
			i, known := r.p.Index[cs.Name]
			if !known {
				continue
			}
			if d := r.containerFits(s, &r.p.Containers[i], cs, n); d != nil {
				return d
			}
		}
	}
	if want := r.phases(s, pod, v); !slices.Contains(want, pod.Status.Phase) {
		return because(deny(rules.Phase), "status.phase is %s, but the container states allow only %s", pod.Status.Phase, joinPhases(want))
	}
	return r.conditionsFit(pod, v)
}

// isStarted is the flag started of a status.
func isStarted(cs *corev1.ContainerStatus) bool { return cs.Started != nil && *cs.Started }

// containerFits checks the flags ready and started of one status.
func (r *Reading) containerFits(s *State, spec *podspec.Container, cs *corev1.ContainerStatus, n int) *Denial {
	runs, started, word := cs.State.Running != nil, isStarted(cs), record.StateWord(cs)
	if spec.Role == podspec.InitContainer {
		if exited := cs.State.Terminated != nil && cs.State.Terminated.ExitCode == 0; cs.Ready && !exited && !r.excused(rules.InitReady, -1, n, 0) {
			return because(deny(rules.Ready), "init container %s is shown as ready, but it is %s", cs.Name, word)
		}
		return nil
	}
	// A restarted kubelet may forget that a startup probe succeeded before it forgets that
	// the container was ready.
	forgot := r.kubeletRestarted(n)
	switch {
	case started && !runs:
		return because(deny(rules.Started), "container %s is shown as started, but it is %s", cs.Name, word)
	case !spec.Startup.Declared && runs && !started:
		return because(deny(rules.Started), "container %s is shown as running and not started, but it has no startup probe", cs.Name)
	case cs.Ready && !runs:
		return because(deny(rules.Ready), "container %s is shown as ready, but it is %s", cs.Name, word)
	case cs.Ready && !started && !forgot && !r.startupTakenBack(spec, cs) && !r.startedEarly(s, r.p.Index[cs.Name], cs.RestartCount, n):
		return because(deny(rules.Ready), "container %s is shown as ready, but not as started", cs.Name)
	case !spec.Readiness.Declared && runs && started && !cs.Ready && !spec.Startup.Declared:
		return because(deny(rules.Ready), "container %s is shown as running and not ready, but it has no readiness probe", cs.Name)
	}
	return nil
}

// startupTakenBack reports whether a startup probe that was run once more after its
// success may have failed then. That is published at once; what follows from it, with the
// next sync.
func (r *Reading) startupTakenBack(spec *podspec.Container, cs *corev1.ContainerStatus) bool {
	i := r.p.Index[spec.Name]
	x := r.h[i].at(cs.RestartCount)
	failed := spec.Startup.Network || !r.ev.Writes(i, trace.StartupProbe) || r.mayFailUnlogged(i, r.n) || x.started != 0 && x.failures[record.RowOf(trace.StartupProbe)] > 0
	return spec.Startup.Declared && !r.k.StartupProbeStops() && failed
}

// wentBack says what of the status of container i goes back that never does, even where
// the containers are started over: the count of its restarts, which the kubelet finds in the
// names of the log files, and the end of a process. In a new sandbox, up to v1.35, the log
// files of init containers and sidecars are gone (pkg/kubelet/kuberuntime/kuberuntime_manager.go,
// purgeInitContainers). Where the node was restarted, all of them may be
// (staging/src/k8s.io/api/core/v1/types.go, ContainerStatus).
func (r *Reading) wentBack(i int, cs *corev1.ContainerStatus) *Denial {
	h := &r.h[i]
	countsAgain := r.ev.NodeRestarted || r.ev.NewSandbox && !r.p.IsRegular(i) && !r.k.Enabled(rules.GateRestartAll)
	switch {
	case cs.RestartCount < h.counted && !countsAgain:
		return because(deny(rules.Forward, Cause{h.countedAt, rules.Forward}), "the restart count of container %s went back from %d to %d", cs.Name, h.counted, cs.RestartCount)
	case cs.State.Running != nil && cs.ContainerID != "" && slices.Contains(h.dead, cs.ContainerID):
		return because(deny(rules.Forward, Cause{r.shownAt, rules.Forward}), "container %s is shown as running, but with a container ID that was shown to have ended", cs.Name)
	}
	return nil
}

// startedTooSoon says which container cannot be shown as started yet: its startup probe has
// not succeeded.
func (r *Reading) startedTooSoon(s *State, st *corev1.PodStatus, n int) *Denial {
	for _, list := range [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses} {
		for k := range list {
			cs := &list[k]
			i, known := r.p.Index[cs.Name]
			if !known || !r.p.Containers[i].Startup.Declared || !isStarted(cs) || r.runIsUncertain(i, cs.RestartCount) {
				continue
			}
			x := r.h[i].at(cs.RestartCount)
			if x.started.Known() || !r.writesEachRun(i, trace.StartupProbe) || r.excused(rules.StartedNeedsSuccess, i, n, 0) || r.startedByNext(i, cs.RestartCount, n) || r.startedEarly(s, i, cs.RestartCount, n) {
				continue
			}
			return because(deny(rules.StartedAfterProbe, Cause{x.startupLast, rules.StartedAfterProbe}), "container %s is shown as started, but no startup probe of this instance has succeeded by then", cs.Name)
		}
	}
	return nil
}

// startedByNext reports whether instance run of container i may be shown as started for a success
// of the next one: the startup probe was meant for the first, and reached the second over the network.
func (r *Reading) startedByNext(i int, run int32, n int) bool {
	return r.h[i].at(run+1).started.Known() && r.startupAsksOld(i, run+1, n)
}

// readyFits says why container i cannot be ready, or unready, as it is shown.
func (r *Reading) readyFits(s *State, i int, cs *corev1.ContainerStatus, n int) *Denial {
	spec := &r.p.Containers[i]
	if !spec.Readiness.Declared || spec.Role == podspec.InitContainer || !r.ev.Writes(i, trace.ReadinessProbe) {
		return nil
	}
	if cs.Ready {
		return r.becameReadyTooSoon(s, i, cs, n)
	}
	return r.becameUnreadyTooSoon(s, i, cs, n)
}

// becameReadyTooSoon says why container i cannot be ready yet: its readiness probe has not
// succeeded successThreshold times.
func (r *Reading) becameReadyTooSoon(s *State, i int, cs *corev1.ContainerStatus, n int) *Denial {
	spec, h := &r.p.Containers[i], &r.h[i]
	x := h.at(cs.RestartCount)
	switch {
	case r.excused(rules.ReadyNeedsSuccess, i, n, 0):
	case !x.ready.Known():
		if r.readyEarly(s, i, cs.RestartCount, n) {
			return nil
		}
		return because(deny(rules.ReadyAfterProbe), "container %s is shown as ready, but no readiness probe of this instance has succeeded by then", cs.Name)
	case h.shownReady != cs.RestartCount+1 && h.longestStreak < spec.Readiness.Success && !r.readyEarly(s, i, cs.RestartCount, n):
		return because(deny(rules.SuccessThreshold, Cause{x.readinessLast, rules.SuccessThreshold}), "container %s is shown as ready after %d successes of its readiness probe in a row, but successThreshold is %d", cs.Name, h.longestStreak, spec.Readiness.Success)
	}
	return nil
}

// becameUnreadyTooSoon says why container i must still be ready: it was shown as ready, and
// its readiness probe has not failed failureThreshold times since.
func (r *Reading) becameUnreadyTooSoon(s *State, i int, cs *corev1.ContainerStatus, n int) *Denial {
	spec, x := &r.p.Containers[i], r.h[i].at(cs.RestartCount)
	failed := x.failures[record.RowOf(trace.ReadinessProbe)]
	if r.ev.Containers[i].NewestRun > cs.RestartCount || r.endedByOthers(n) || len(r.ev.Ends) > 0 {
		failed++ // one may have died with its container, and left no line
	}
	wasReady := cs.State.Running != nil && isStarted(cs) && r.h[i].shownReady == cs.RestartCount+1
	if !wasReady || failed >= spec.Readiness.Failures || spec.Readiness.Network || r.excused(rules.UnreadyNeedsFailures, i, n, 0) {
		return nil
	}
	became := x.ready // the status may have been computed before
	if spec.Readiness.Success > 1 {
		became = x.readyLast
	}
	if became.Known() && r.ob(n).Entry.At.Sub(r.writtenAt(became)) < r.patient(overtaken) || r.readyTakenBack(s, i, cs.RestartCount, n) {
		return nil
	}
	return because(deny(rules.SuccessThreshold, Cause{x.readinessLast, rules.SuccessThreshold}), "container %s is no longer shown as ready after %d failures of its readiness probe in a row, but failureThreshold is %d", cs.Name, failed, spec.Readiness.Failures)
}

// overtaken is how long a status may be on its way that was computed before a readiness
// probe succeeded. Until the next sync it takes back what the probe worker has published
// meanwhile (pkg/kubelet/kubelet.go, SyncPod). This is patience, and more on a busy node.
const overtaken = 2 * time.Second

// outlives is how long a container must have run before its kubelet was started for the
// new kubelet to take it over as it was shown
// (pkg/kubelet/prober/prober_manager.go, kubeletRestartGracePeriod). Two seconds are added:
// its start is told in whole seconds, and the two clocks differ.
const outlives = 10*time.Second + 2*time.Second

// lostOverRestart says what a restarted kubelet has forgotten of a container that it should
// have taken over. One that was shown as started stays so. One that was shown as ready, in
// a Pod that was ready, stays so until a readiness probe fails; of a static Pod the new kubelet
// does not know that it was.
func (r *Reading) lostOverRestart(i int, cs *corev1.ContainerStatus, n int) *Denial {
	h, spec, run := &r.h[i], &r.p.Containers[i], cs.RestartCount
	if cs.State.Running == nil || spec.Role == podspec.InitContainer || len(r.ev.Restarts) == 0 {
		return nil
	}
	restart := r.restartTakenOver(cs, n)
	if !restart.Known() {
		return nil
	}
	if d := r.readyOverRestart(i, cs, restart, n); d != nil {
		return d
	}
	if r.excused(rules.KeptByNewKubelet, i, n, 0) {
		return nil
	}
	x := h.at(run)
	if spec.Startup.Declared && (!x.started.Known() || !r.ev.Writes(i, trace.StartupProbe)) {
		return nil // what is shown of it may be taken back
	}
	if h.wasStarted == run+1 && !isStarted(cs) {
		return because(deny(rules.KeptOver, Cause{restart, rules.KeptOver}, Cause{r.shownAt, rules.KeptOver}, Cause{x.started, rules.KeptOver}), "container %s was shown as started, and is not any more after a restart of the kubelet", cs.Name)
	}
	if r.p.Static || h.wasReady != run+1 || cs.Ready || !r.ready || r.anyReadinessMayHaveFailed(n) {
		return nil
	}
	return because(deny(rules.KeptOver, Cause{restart, rules.KeptOver}, Cause{r.shownAt, rules.KeptOver}, Cause{x.ready, rules.KeptOver}), "container %s was shown as ready, and is not any more after a restart of the kubelet, but no readiness probe has failed", cs.Name)
}

// readyOverRestart says why a container that was not ready in a Pod that was not cannot be shown as
// ready after a restart of the kubelet: no readiness probe has succeeded since. A success of so short a
// time before that the old kubelet may just have shown it does not count.
func (r *Reading) readyOverRestart(i int, cs *corev1.ContainerStatus, restart record.Place, n int) *Denial {
	x, p := r.h[i].at(cs.RestartCount), &r.p.Containers[i].Readiness
	if !cs.Ready || r.h[i].wasReady == cs.RestartCount+1 || r.ready || !r.shownAt.Known() || r.shownAt > restart {
		return nil
	}
	if !p.Declared || p.Network || !r.ev.Writes(i, trace.ReadinessProbe) || r.excused(rules.UnreadyByNewKubelet, i, n, restart) {
		return nil
	}
	if x.readyLast > restart || x.readyLast.Known() && r.obAt(restart).Entry.At.Sub(r.writtenAt(x.readyLast)) < r.patient(prompt) {
		return nil
	}
	return because(deny(rules.KeptOver, Cause{restart, rules.KeptOver}, Cause{r.shownAt, rules.KeptOver}, Cause{x.readyLast, rules.KeptOver}), "container %s was not ready, and is shown so after a restart of the kubelet, but its readiness probe has not succeeded since", cs.Name)
}

// restartTakenOver is the latest restart of the kubelet by observation n, if the container
// had run long enough at each of them to be taken over; else none.
func (r *Reading) restartTakenOver(cs *corev1.ContainerStatus, n int) (restart record.Place) {
	for _, a := range r.ev.Restarts {
		if a.After(n) {
			break
		}
		e := r.obAt(a).Entry
		if e.Did.Name != trace.ActRestart || e.Did.Target() != "kubelet" || e.At.Sub(cs.State.Running.StartedAt.Time) < outlives {
			return 0
		}
		restart = a
	}
	return restart
}

// anyReadinessMayHaveFailed reports whether a readiness probe of any container may have
// failed: then the Pod is not ready, which a new kubelet takes over for all its containers.
func (r *Reading) anyReadinessMayHaveFailed(n int) bool {
	for j := range r.p.Containers {
		p := &r.p.Containers[j].Readiness
		failed := slices.ContainsFunc(r.h[j].runs, func(x seen) bool { return x.failures[record.RowOf(trace.ReadinessProbe)] > 0 })
		if p.Declared && (p.Network || failed || r.mayFailUnlogged(j, n) || r.eventsMayBeLate(n) || !r.ev.Writes(j, trace.ReadinessProbe)) {
			return true
		}
	}
	return false
}

// wholeSync checks that the regular containers, which one sync starts, are
// shown together.
func (r *Reading) wholeSync(pod *corev1.Pod, n int) *Denial {
	list := pod.Status.ContainerStatuses
	shown := slices.IndexFunc(list, func(cs corev1.ContainerStatus) bool { return record.ShownOf(&cs).Started() })
	for k := range list {
		if cs := &list[k]; shown >= 0 && !record.ShownOf(cs).Started() && !r.excused(rules.StartsShownTogether, r.p.Index[cs.Name], n, 0) {
			return because(deny(rules.WholeSync), "container %s is shown as started and container %s as waiting, but one sync starts both", list[shown].Name, cs.Name)
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
