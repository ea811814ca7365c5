package model

import (
	"slices"
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// overdue reports why something that the kubelet does by itself should have
// happened long before line n of container i was written. Nothing of the kind
// is asked of a kubelet that was stopped meanwhile, or where lines are missing.
func (r *Reading) overdue(s *State, i, n int) *Denial {
	if r.ev.GraceNeverEnds {
		return nil
	}
	if s.terminating.known() {
		return r.readinessOverdue(s, i, n)
	}
	return r.probeOverdue(s, i, n)
}

// readinessOverdue: the readiness probe goes on while the Pod is terminated. It does
// not in one that an init container has failed for good: that has its last phase
// before anything is stopped (pkg/kubelet/kubelet_pods.go, getPhase), with which the
// probes end (pkg/kubelet/prober/worker.go, doProbe).
func (r *Reading) readinessOverdue(s *State, i, n int) *Denial {
	p, x := &r.p.Containers[i].Readiness, r.seenOf(s, i)
	since := max(x.readinessLast, r.stopBegun(x))
	if !p.Declared || x.readinessLast == 0 || x.mainEnd != 0 || r.stopBegun(x) == 0 || r.failedInit(s) >= 0 || r.excused(rules.ReadinessDuringStop, i, n, 0) {
		return nil
	}
	wait := r.between(since, n)
	if r.ev.MayDropEvents {
		// Of what came later, an Event may have been dropped.
		wait = min(wait, r.ev.EventsWholeUntil.Sub(r.writtenAt(since)))
	}
	if wait > 3*time.Duration(p.Period)*time.Second+r.patient(prompt)+r.slack(n) {
		return because(deny(rules.ReadinessGoesOn, Cause{x.readinessLast, rules.ReadinessGoesOn}, Cause{r.stopBegun(x), rules.ReadinessGoesOn}), "container %s is being stopped and has not been probed for readiness for %s; the period is %d s", r.p.Containers[i].Name, wait, p.Period)
	}
	return nil
}

// sidecarOverdue: the TERM of a sidecar follows as soon as everything that it waits
// for has stopped.
func (r *Reading) sidecarOverdue(s *State, i, n int) *Denial {
	if x := r.seenOf(s, i); r.p.Containers[i].Role != podspec.Sidecar || s.c[i].kill != byTermination || x.term != 0 || r.ev.GraceNeverEnds || r.excused(rules.SidecarsTurn, i, n, 0) {
		return nil
	}
	var since record.Place
	var busy time.Duration
	for j := range r.p.Inits + r.p.Regulars {
		spec, y := &r.p.Containers[j], r.seenOf(s, j)
		busy += spec.SleepStart // goes on though its container has ended
		if spec.Role == podspec.Sidecar || y.mainEnd != 0 && r.endRequested(y.mainEnd.Index()) {
			busy += spec.SleepStop // as does this, where the container was being stopped by then
		}
		if j != i {
			busy += r.stoppedBySync(s, j, n)
		}
		if spec.Role != podspec.InitContainer {
			// The sync before the stop may still have been starting containers,
			// and waited for their hooks.
			if spec.PostStart && y.first != 0 && y.hookEnd == 0 && y.mainEnd == 0 {
				return nil
			}
			since = max(since, y.first, y.hookEnd)
		}
		if again := spec.Role == podspec.Sidecar && s.c[j].run > 0 && spec.Startup.Declared; again && j == r.p.Inits-1 && !r.k.EndsBeforeSidecars() {
			// It may have been started again when nothing else was left to run, and has
			// come to its start then before anything is stopped.
			if y.started == 0 {
				return nil
			}
			since = max(since, y.started)
		}
		if spec.PreStop {
			// A hook that logs no end may run for longer than is seen.
			if y.preStopEnd == 0 && (j == i || y.mainEnd == 0 || y.preStop != 0 || y.term != 0) {
				return nil
			}
			since = max(since, y.preStopEnd)
		}
		if j <= i || spec.Role == podspec.InitContainer {
			continue
		}
		if y.mainEnd == 0 {
			return nil
		}
		since = max(since, y.mainEnd)
	}
	for _, a := range slices.Concat(r.ev.Ends, r.ev.SandboxStops) {
		if a.Index() < n && a > since {
			return nil // what came last is the act, which has another clock
		}
	}
	// Nor is it known when somebody ended a Pod that did not come to its end by itself.
	if since == 0 || r.ev.EndTimeUnknown && !r.podIsOver(s, i) {
		return nil
	}
	if wait := r.between(since, n); wait > busy+r.patient(patience)+r.slack(n) {
		return because(deny(rules.SidecarPrompt, Cause{since, rules.SidecarPrompt}), "everything that sidecar %s waits for had stopped %s before its TERM", r.p.Containers[i].Name, wait)
	}
	return nil
}

// stoppedBySync is for how long a sync may have been stopping the newest instance of
// container j by observation n, because its postStart hook or a probe has failed or
// its definition has changed: nothing else is stopped meanwhile, even where the
// container has ended and its preStop hook sleeps on.
func (r *Reading) stoppedBySync(s *State, j, n int) time.Duration {
	spec, c, y := &r.p.Containers[j], &s.c[j], r.seenOf(s, j)
	grace := int64(-1)
	if c.kill == byHook || y.hookCode != 0 || y.hookEnd == 0 && r.ev.Containers[j].HookFailed || r.changedBy(j, n) {
		grace = r.p.Grace
	}
	if c.kill == byProbe || r.probeFailed(s, j) {
		grace = max(grace, orGrace(spec.Liveness, 0), orGrace(spec.Startup, 0))
	}
	if grace < 0 {
		return 0
	}
	return max(time.Duration(grace)*time.Second, minimumGrace) + minimumGrace
}

// probeOverdue: a container that was restarted is probed like its instance before.
func (r *Reading) probeOverdue(s *State, i, n int) *Denial {
	spec, c, x := &r.p.Containers[i], &s.c[i], r.seenOf(s, i)
	if c.run == 0 || c.progress.isFirst() || x.probed != 0 || x.first == 0 || c.kill != notKilled || r.excused(rules.ProbedAfterRestart, i, n, 0) {
		return nil
	}
	var due time.Duration
	for _, a := range record.Actors {
		p := spec.Probe(a)
		if !p.Declared || p.Network || !r.ev.Writes(i, a) || spec.Startup.Declared && a != trace.StartupProbe {
			continue
		}
		if d := time.Duration(p.Delay+3*p.Period) * time.Second; due == 0 || d < due {
			due = d
		}
	}
	if due == 0 {
		return nil
	}
	// The sync that started it may have waited for hooks.
	since := x.first
	for j := range s.c {
		y := r.seenOf(s, j)
		if s.c[j].progress.isStarted() {
			due += r.p.Containers[j].SleepStart // it sleeps on though its container has ended
		}
		switch {
		case !r.p.Containers[j].PostStart || s.c[j].progress.isUnstarted():
		case y.hookEnd == 0 && !s.c[j].ended.known():
			return nil
		default:
			since = max(since, y.hookEnd)
		}
		// One whose hook failed is stopped within that sync.
		if y.hookCode != 0 || s.c[j].kill == byHook || y.hookEnd == 0 && r.ev.Containers[j].HookFailed {
			due += max(time.Duration(r.p.Grace)*time.Second, minimumGrace)
		}
	}
	// A Pod that ends is probed no more; the first sign of that may come behind a preStop
	// hook that sleeps.
	until := n
	for _, a := range r.ev.Ends {
		until = min(until, a.Index())
	}
	due += spec.SleepStop
	if wait := r.between(since, until); wait > due+r.patient(prompt)+r.slack(n) {
		return because(deny(rules.ProbedAgain, Cause{x.first, rules.ProbedAgain}), "container %s was started again %s before and has not been probed", spec.Name, wait)
	}
	return nil
}
