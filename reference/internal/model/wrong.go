// What releases do wrong: the precondition of each deviation, and what it explains. No rule of its
// own; package rules has the table, and deviations.go what a use of one is.

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

// startedEarly reports whether a deviation explains that instance run of container i is taken
// for started by observation n, before its startup probe has succeeded.
func (r *Reading) startedEarly(s *State, i int, run int32, n int) bool {
	return r.startedInherited(i, run, n) || r.shownBeforeWorkers(i, run, n, true) || r.readyAsPodEnds(s, i, n) || r.sidecarUnprobed(s, i, run, n)
}

// readyEarly reports whether a deviation explains that instance run of container i is shown as
// ready by observation n, before its readiness probe has succeeded often enough.
func (r *Reading) readyEarly(s *State, i int, run int32, n int) bool {
	return r.shownBeforeWorkers(i, run, n, false) || r.readyAsPodEnds(s, i, n) || r.sidecarUnprobed(s, i, run, n)
}

// startedInherited is [rules.StartedInherited]. A container that ended by itself was shown so
// before it was started again, and so was one that had to wait for its back-off.
func (r *Reading) startedInherited(i int, run int32, n int) bool {
	return r.deviates(rules.StartedInherited, func() bool {
		return r.hasInherited(i, run, n) && r.startupNotDue(i, r.h[i].at(run).startupFirst, n)
	})
}

// hasInherited reports whether instance run of container i may have taken over by observation n
// that the one before it had started.
func (r *Reading) hasInherited(i int, run int32, n int) bool {
	h, spec := &r.h[i], &r.p.Containers[i]
	if !spec.Startup.Declared || run < 1 || h.over >= run-1 {
		return false
	}
	old := h.at(run - 1)
	// Or it has taken that over itself.
	inherited := !old.startupFirst.Known() && (old.livenessLast.Known() || old.readinessLast.Known())
	had := old.started.Known() || inherited || !r.ev.Writes(i, trace.StartupProbe)
	// One that is stopped may die before it can write that it got a signal.
	killed := old.failing.Known() && (!old.mainEnd.Known() || spec.SharedProcesses || old.failedOften(spec)) || r.ev.Containers[i].ProbeFailed && r.mayFailUnlogged(i, n)
	return had && (old.term.Known() || old.preStop.Known() || killed || r.changedBy(i, n))
}

// readyTakenBack reports whether a deviation explains that instance run of container i is not
// shown as ready any more by observation n, though its readiness probe has not failed: it was
// shown so too early. What the startup probe has found follows with the next sync.
func (r *Reading) readyTakenBack(s *State, i int, run int32, n int) bool {
	return r.deviates(rules.StartedInherited, func() bool {
		x := r.h[i].at(run)
		soon := !x.started.Known() || r.ob(n).Entry.At.Sub(r.writtenAt(x.started)) < r.patient(patience)
		return soon && r.hasInherited(i, run, n)
	}) || r.sidecarUnprobed(s, i, run, n)
}

// failedOften reports whether the liveness or the startup probe of an instance has failed so often
// that the instance is stopped.
func (x *seen) failedOften(spec *podspec.Container) bool {
	for _, a := range []trace.Actor{trace.LivenessProbe, trace.StartupProbe} {
		if p := spec.Probe(a); p.Declared && x.failures[record.RowOf(a)] >= p.Failures {
			return true
		}
	}
	return false
}

// startupNotDue reports whether observation n may be made before the startup worker of container i
// has taken back that it was started. The worker does that at one tick and probes at the
// next one, whose line is first; another probe may be in flight.
func (r *Reading) startupNotDue(i int, first record.Place, n int) bool {
	if !first.Known() {
		return true
	}
	o := r.ob(n)
	if !o.IsLog {
		return r.ob(n).Entry.At.Sub(r.writtenAt(first)) < takenBack
	}
	p := r.p.Containers[i].Probe(o.Log.Actor)
	return r.between(first, n) <= time.Duration(p.Timeout)*time.Second+r.slack(n)
}

// takenBack is how long after a probe was run an update may be on its way that shows what it has taken
// back. This is patience: on a busy machine the API server and the watch take their time as well.
const takenBack = 10 * time.Second

// shownBeforeWorkers is [rules.ShownBeforeWorkers]; started asks for the flag started, and for
// ready otherwise.
func (r *Reading) shownBeforeWorkers(i int, run int32, n int, started bool) bool {
	return r.deviates(rules.ShownBeforeWorkers, func() bool {
		x, restart := r.h[i].at(run), record.Place(0)
		for _, a := range r.ev.Restarts {
			if !a.After(n) {
				restart = a
			}
		}
		if started && r.ev.RestartAnyTime && x.first.Known() {
			return r.kubeletRestartedSince(x.first, n)
		}
		if !restart.Known() || !r.ranBefore(i, run, restart) {
			return false
		}
		if started {
			first := x.startupLast
			if !r.byNewKubelet(first, restart) {
				first = 0
			}
			return r.startupNotDue(i, first, n)
		}
		if r.byNewKubelet(x.readinessLast, restart) && r.ob(n).Entry.At.Sub(r.writtenAt(x.readinessLast)) >= takenBack {
			return false
		}
		return !r.k.Remembers() || r.youngAtRestart(x, n)
	})
}

// byNewKubelet reports whether the line of a probe is surely of one that the kubelet ran which a
// restart has brought: the one before may have left one in flight.
func (r *Reading) byNewKubelet(line, restart record.Place) bool {
	return line.Known() && line >= restart && !r.writtenAt(line).Before(r.obAt(restart).Entry.At.Add(stopping))
}

// ranBefore reports whether instance run of container i ran before an act.
func (r *Reading) ranBefore(i int, run int32, act record.Place) bool {
	h := &r.h[i]
	x, at := h.at(run), r.obAt(act).Entry.At
	switch {
	case h.shownRun == run && h.shownObs < act, x.first.Known() && x.first < act:
		return true
	case x.first.Known() && r.writtenAt(x.first).Before(at): // it arrived late
		return true
	}
	// Its first line may have come late, and this be the first update that shows it.
	if pod := r.ob(r.n).Entry.Pod; pod != nil {
		for _, cs := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			if is := cs.State.Running; is != nil && cs.Name == r.p.Containers[i].Name && cs.RestartCount == run && !is.StartedAt.IsZero() && is.StartedAt.Time.Before(at) {
				return true
			}
		}
	}
	return h.startedRun == run && h.startedAt.Before(at)
}

// readyAsPodEnds is [rules.ReadyAsPodEnds].
func (r *Reading) readyAsPodEnds(s *State, i, n int) bool {
	return r.deviates(rules.ReadyAsPodEnds, func() bool {
		return r.ob(n).Entry.Pod != nil && r.hasFailed(s, n)
	})
}

// hasFailed reports whether the kubelet may have decided by observation n that the Pod has failed,
// while containers still run: an init container failed for good, or the deadline has passed.
func (r *Reading) hasFailed(s *State, n int) bool { return r.failedInit(s) >= 0 || r.deadlineIsOver(n) }

// probesCancelled is [rules.ProbesCancelled].
func (r *Reading) probesCancelled(s *State, i int, since record.Place, n int) bool {
	return r.doesWithout(rules.ProbesCancelled, s, i, since, func() bool {
		return !r.p.Containers[i].Readiness.Network && r.endedFromOutside(n)
	})
}

// probedDuringStop notes line n, of a readiness probe of container i, if one that
// [rules.ProbesCancelled] would have kept from being run.
func (r *Reading) probedDuringStop(i, n int) {
	r.mustShow(rules.ProbesCancelled, func() bool {
		p, l := &r.p.Containers[i].Readiness, &r.ob(n).Log
		if p.Network || r.ev.NodeStoodStill || len(r.ev.Restarts) > 0 {
			return false
		}
		// One may have been in flight when the Pod was deleted.
		flight := time.Duration(p.Timeout)*time.Second + r.patient(landing)
		return len(r.ev.Ends) > 0 && l.Time.Sub(r.obAt(r.ev.Ends[0]).Entry.At) > flight
	})
}

// landing is how much longer than its time-out a probe may take to write its line. This is
// patience.
const landing = 2 * time.Second

// endedFromOutside reports whether the Pod may have been deleted or evicted by observation n.
func (r *Reading) endedFromOutside(n int) bool {
	if r.ev.EndTimeUnknown {
		return true
	}
	for _, a := range r.ev.Ends {
		if !a.After(n) {
			return true
		}
	}
	return false
}

// probesMissing is [rules.SidecarUnprobed] where probes of sidecar i are due since an observation.
func (r *Reading) probesMissing(s *State, i int, since record.Place, n int) bool {
	return r.doesWithout(rules.SidecarUnprobed, s, i, since, func() bool { return r.lacksWorkers(s, i, s.c[i].run, n) })
}

// sidecarUnprobed is [rules.SidecarUnprobed] where the sidecar is shown as started or ready.
func (r *Reading) sidecarUnprobed(s *State, i int, run int32, n int) bool {
	return r.deviates(rules.SidecarUnprobed, func() bool { return r.lacksWorkers(s, i, run, n) })
}

// lacksWorkers reports whether instance run of container i may have no probe workers. Where nothing listed before it has a probe worker,
// the next sync makes new ones for it: one that comes by itself within a minute and a half
// (pkg/kubelet/pod_workers.go, completeWork).
func (r *Reading) lacksWorkers(s *State, i int, run int32, n int) bool {
	spec := &r.p.Containers[i]
	if spec.Role != podspec.Sidecar || r.p.Policy != corev1.RestartPolicyNever || run < 1 {
		return false
	}
	since, open := r.h[i].at(run).first, false
	for j := range r.p.Containers {
		other := &r.p.Containers[j]
		if j == i || other.Probes() == 0 || !r.p.IsRegular(j) && j > i {
			continue
		}
		if end := r.seenOf(s, j).mainEnd; end.Known() {
			since = max(since, end)
		} else {
			open = true
		}
	}
	if open || !since.Known() || spec.Probes() > 1 {
		return true // its own startup worker may be left, and then no other one is made
	}
	at := r.ob(n).At()
	return at.Sub(r.obAt(since).At()) < r.firstProbeWithin(i)+resync+r.patient(patience)
}

// resync is how long a sync comes after the one before it if nothing asks for one
// (pkg/kubelet/pod_workers.go, completeWork: the sync frequency and half of it).
const resync = 90 * time.Second

// deadSidecarAwaited is [rules.DeadSidecarAwaited].
func (r *Reading) deadSidecarAwaited(s *State, i, n int) bool {
	return r.deviates(rules.DeadSidecarAwaited, func() bool {
		return !r.graceLeft(s, i, n) && r.laterSidecarDead(s, i)
	})
}

// stoppedInTurn notes the TERM of sidecar i at line n, if it came in a turn that
// [rules.DeadSidecarAwaited] would have kept from coming.
func (r *Reading) stoppedInTurn(s *State, i, n int) {
	r.mustShow(rules.DeadSidecarAwaited, func() bool {
		return r.graceLeft(s, i, n) && len(r.ev.Restarts) == 0 && r.laterSidecarSurelyDead(s, i)
	})
}

// laterSidecarSurelyDead reports whether a sidecar listed after sidecar i had ended, or was not
// started, when the Pod was deleted.
func (r *Reading) laterSidecarSurelyDead(s *State, i int) bool {
	for k := i + 1; k < r.p.Inits; k++ {
		x := r.seenOf(s, k)
		ended := x.mainEnd.Known() && len(r.ev.Ends) > 0 && x.mainEnd < r.ev.Ends[0] && s.c[k].run == r.ev.Containers[k].NewestRun
		if r.p.Containers[k].Role == podspec.Sidecar && (ended || r.neverRan(s, k)) {
			return true
		}
	}
	return false
}

// laterSidecarDead reports whether a sidecar listed after sidecar i did not run when the
// termination of the Pod began.
func (r *Reading) laterSidecarDead(s *State, i int) bool {
	for k := i + 1; k < r.p.Inits; k++ {
		if r.p.Containers[k].Role == podspec.Sidecar && r.deadAtTermination(s, k) {
			return true
		}
	}
	return false
}

// initSkipped is [rules.InitSkipped], of init container or sidecar j. The sync that makes the
// sandbox starts the first one of them in it.
func (r *Reading) initSkipped(s *State, j, n int) bool {
	return r.deviates(rules.InitSkipped, func() bool {
		if !s.startedOver || !r.ev.NewSandbox {
			return false
		}
		c, run := &s.c[j], int32(-1)
		if !c.progress.isUnstarted() {
			run = c.run
		}
		if j == 0 && run < 0 && r.ev.Writes(j, trace.Main) {
			return false
		}
		if r.p.Containers[j].Role == podspec.Sidecar {
			return r.startedInOldSandbox(j, run) && !r.hookRuns(s, j)
		}
		if !r.ev.Marks(j, trace.Main) {
			return true
		}
		for k := range r.h[j].runs {
			if x := &r.h[j].runs[k]; x.run != run && x.mainEnd.Known() && x.mainCode == 0 {
				return true
			}
		}
		return false
	})
}

// startedInOldSandbox reports whether sidecar j may have come to its start in an instance before
// the given run. What was left of the old sandbox was created after that.
func (r *Reading) startedInOldSandbox(j int, run int32) bool {
	if !r.ev.Marks(j, trace.Main) {
		return true // it may have left no line
	}
	probed := r.p.Containers[j].Startup.Declared && r.ev.Writes(j, trace.StartupProbe)
	return slices.ContainsFunc(r.h[j].runs, func(x seen) bool { return x.run != run && (x.started.Known() || !probed) })
}

// hookRuns reports whether the postStart hook of the newest instance of sidecar j has begun and not
// ended: the sync that starts it waits for that, and starts the others then.
func (r *Reading) hookRuns(s *State, j int) bool {
	x := r.seenOf(s, j)
	return !s.c[j].progress.isUnstarted() && x.hookBegin.Known() && !x.hookEnd.Known()
}

// neverPodStuck is [rules.NeverPodStuck], of the latest update. A Pod whose containers have all
// ended gets its final phase.
func (r *Reading) neverPodStuck(s *State) bool {
	if len(r.ev.SandboxStops) == 0 {
		return false
	}
	return r.doesWithout(rules.NeverPodStuck, s, 0, r.ev.SandboxStops[0], func() bool {
		pod := r.obAt(r.shownAt).Entry.Pod
		v := viewOf(r.p, pod)
		return r.sandboxLostForGoodBefore(r.shownAt) && !v.initFailedForGood && !r.endedForGood(&pod.Status)
	})
}

// staticInitForgotten is [rules.StaticInitForgotten], of container i as a status shows it. Only an act
// shows that a container was removed, and the kubelet also does it by itself.
func (r *Reading) staticInitForgotten(i int, cs *corev1.ContainerStatus, n int) bool {
	return r.deviates(rules.StaticInitForgotten, func() bool {
		w, end := cs.State.Waiting, cs.State.Terminated
		forgotten := w != nil && w.Reason == "PodInitializing" || end != nil && !record.IsEnd(end) // an end is made up when the Pod ends
		return r.p.Static && r.p.Containers[i].Role == podspec.InitContainer && r.kubeletRestarted(n) && forgotten && r.hasSucceeded(i)
	})
}

// hasSucceeded reports whether a line or an update shows that init container i has exited with 0.
func (r *Reading) hasSucceeded(i int) bool {
	for _, ends := range r.ev.Containers[i].Exits {
		if slices.ContainsFunc(ends, func(end *corev1.ContainerStateTerminated) bool { return end.ExitCode == 0 }) {
			return true
		}
	}
	return slices.ContainsFunc(r.h[i].runs, func(x seen) bool { return x.mainEnd.Known() && x.mainCode == 0 })
}
