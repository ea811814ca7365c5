// The duties of probes and of a sidecar's turn: what the kubelet does by itself, and should have
// done long before an observation.
// Rules: probes/readiness-until-stopped, probes/after-restart, sidecar/stops-in-turn.

package model

import (
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// readinessOverdue says why the readiness probe of container i, which is being stopped, should
// have been run again: it goes on while the Pod is terminated. It does not go on where an init
// container has failed for good, or the deadline has passed: then the Pod has its final phase
// before anything is stopped
// (pkg/kubelet/kubelet_pods.go, getPhase), and with that the probes end
// (pkg/kubelet/prober/worker.go, doProbe).
func (r *Reading) readinessOverdue(s *State, i, n int) *Denial {
	p, x := &r.p.Containers[i].Readiness, r.seenOf(s, i)
	if !p.Declared || !s.terminating.known() || x.readinessLast == 0 || x.mainEnd != 0 || !r.writesYet(s, i, n) {
		return nil
	}
	begun := r.stopBegun(x)
	since := max(x.readinessLast, begun)
	if begun == 0 || r.hasFailed(s, n) || r.writesLater(i, n) || r.excused(rules.ReadinessDuringStop, i, n, 0) {
		return nil
	}
	wait := r.passed(since, n)
	if r.ev.MayDropEvents {
		// The Event of a later probe may have been dropped.
		wait = min(wait, r.ev.EventsWholeUntil.Sub(r.writtenAt(since)))
	}
	if wait > 3*time.Duration(p.Period)*time.Second+r.patient(prompt) && !r.probesCancelled(s, i, begun, n) {
		d := late(rules.ReadinessDuringStop, Cause{x.readinessLast, rules.ReadinessGoesOn}, "container %s is being stopped, and its readiness probe has not run for %s; its period is %d s", r.p.Containers[i].Name, wait, p.Period)
		d.Because = append(d.Because, Cause{begun, rules.ReadinessGoesOn})
		return d
	}
	return nil
}

// sidecarOverdue says why the TERM of sidecar i comes too late: it follows as soon as
// everything that the sidecar waits for has stopped.
func (r *Reading) sidecarOverdue(s *State, i, n int) *Denial {
	if r.p.Containers[i].Role != podspec.Sidecar || s.c[i].kill != byTermination || r.seenOf(s, i).term.Known() || r.ev.GraceNeverEnds || r.excused(rules.SidecarsTurn, i, n, 0) {
		return nil
	}
	since, known := r.turnOfSidecar(s, i)
	if !known {
		return nil
	}
	for _, a := range r.ev.SandboxStops {
		if a.Index() < n && a > since {
			return nil
		}
	}
	for _, a := range r.ev.Ends {
		if !a.After(n) {
			since = max(since, a)
		}
	}
	// Nor is it known when somebody ended a Pod that did not come to its end by itself.
	if !since.Known() || r.endUnknownBefore(since, n) && !(r.podIsOver(s, i) && r.endLogged(s)) {
		return nil
	}
	if j := r.failedInit(s); j >= 0 && r.untilEnd(n) == n {
		end := r.seenOf(s, j).mainEnd
		if !end.Known() {
			end = s.c[j].ended.Obs
		}
		if !end.Known() {
			return nil
		}
		since = max(since, end) // the Pod was not over before
	}
	wait := r.passed(since, n)
	if r.obAt(since).IsLog {
		wait = r.between(since, n)
	}
	if wait > r.busyStopping(s, i, n)+r.patient(patience)+r.slack(n) && !r.deadSidecarAwaited(s, i, n) {
		return late(rules.SidecarsTurn, Cause{since, rules.SidecarPrompt}, "sidecar %s got TERM %s after everything that it waits for had stopped", r.p.Containers[i].Name, wait)
	}
	return nil
}

// endLogged reports whether what ends a Pod by itself was logged: an init container has failed for
// good, or every regular container has ended.
func (r *Reading) endLogged(s *State) bool {
	if r.failedInit(s) >= 0 {
		return true
	}
	for j := r.p.Inits; j < r.p.Inits+r.p.Regulars; j++ {
		if !r.seenOf(s, j).mainEnd.Known() {
			return false
		}
	}
	return true
}

// turnOfSidecar is the last line of all that sidecar i has to wait for: it can be stopped
// from then on. known is false where something that it waits for may go on unseen.
func (r *Reading) turnOfSidecar(s *State, i int) (since record.Place, known bool) {
	for j := range r.p.Inits + r.p.Regulars {
		spec, y := &r.p.Containers[j], r.seenOf(s, j)
		if r.neverRan(s, j) {
			continue
		}
		if spec.Role != podspec.InitContainer {
			// The sync before the termination may still have been starting containers, and
			// waited for their hooks.
			if spec.PostStart && y.first.Known() && !y.hookEnd.Known() && !y.mainEnd.Known() {
				return 0, false
			}
			since = max(since, y.first, y.hookEnd)
		}
		if r.startedAgainAtLast(s, j) {
			if !y.started.Known() {
				return 0, false
			}
			since = max(since, y.started)
		}
		if spec.PreStop {
			// A hook that logs no end may run for longer than is seen.
			if !y.preStopEnd.Known() && (j == i || !y.mainEnd.Known() || y.preStop.Known() || y.term.Known()) {
				return 0, false
			}
			since = max(since, y.preStopEnd)
		}
		if j <= i || spec.Role == podspec.InitContainer {
			continue
		}
		if !y.mainEnd.Known() {
			return 0, false
		}
		since = max(since, y.mainEnd)
	}
	return since, true
}

// neverRan reports whether container j was surely not started when the termination began: an init
// container listed before it had begun and not come to its end.
func (r *Reading) neverRan(s *State, j int) bool {
	if s.c[j].progress.isStarted() || r.seenOf(s, j).first.Known() {
		return false
	}
	for m := range min(j, r.p.Inits) {
		c, x := &s.c[m], r.seenOf(s, m)
		open := !x.mainEnd.Known() || x.mainCode != 0 || x.mainEnd >= s.terminating.Obs
		if r.p.Containers[m].Role == podspec.InitContainer && c.progress.isStarted() && x.mainBegin.Known() && open {
			return true
		}
	}
	return false
}

// startedAgainAtLast reports whether container j is a sidecar that may have been started
// again when nothing else was left to run. Nothing is stopped then before its startup
// probe has succeeded.
func (r *Reading) startedAgainAtLast(s *State, j int) bool {
	spec := &r.p.Containers[j]
	return spec.Role == podspec.Sidecar && s.c[j].run > 0 && spec.Startup.Declared && j == r.p.Inits-1 && !r.k.EndsBeforeSidecars()
}

// busyStopping is how long the kubelet may be busy before sidecar i gets TERM, beside what
// lines show: with hooks that sleep, and with containers that a sync stops.
func (r *Reading) busyStopping(s *State, i, n int) (busy time.Duration) {
	for j := range r.p.Inits + r.p.Regulars {
		spec, end := &r.p.Containers[j], r.seenOf(s, j).mainEnd
		busy += spec.SleepStart // goes on even if its container has ended
		if spec.Role == podspec.Sidecar || end.Known() && r.endRequested(end.Index()) {
			busy += spec.SleepStop // the same, where the container was being stopped when it ended
		}
		if j != i {
			busy += r.stoppedBySync(s, j, n)
		}
	}
	return busy
}

// stoppedBySync is how long a sync may have been stopping the newest instance of container j
// by observation n: because its postStart hook or a probe failed, or its definition
// changed. Nothing else is stopped meanwhile, even where the container has ended and its
// preStop hook sleeps on.
func (r *Reading) stoppedBySync(s *State, j, n int) time.Duration {
	spec, c, y := &r.p.Containers[j], &s.c[j], r.seenOf(s, j)
	grace := int64(-1)
	if r.hookMayHaveFailed(c, y, j) || r.changedBy(j, n) {
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

// probeOverdue says why container i, which was restarted, should have been probed: it is
// probed like the instance before it.
func (r *Reading) probeOverdue(s *State, i, n int) *Denial {
	spec, c, x := &r.p.Containers[i], &s.c[i], r.seenOf(s, i)
	if c.run <= 0 || s.terminating.known() || c.progress.isFirst() || x.probed.Known() || !x.first.Known() || c.kill != notKilled || !r.lives(s, i, n) || r.writesLater(i, n) || r.excused(rules.ProbedAfterRestart, i, n, 0) {
		return nil
	}
	within := r.firstProbeWithin(i)
	if within == 0 {
		return nil
	}
	since, busy, known := r.probingSince(s, x)
	if !known {
		return nil
	}
	for j := range s.c {
		if j != i {
			busy += r.stoppedBySync(s, j, n) // the sync that started it may be stopping another one
		}
	}
	// A Pod that is terminated is probed no more. The first sign of that may come after a
	// preStop hook that sleeps.
	until := n
	for _, a := range r.ev.Ends {
		until = min(until, a.Index())
	}
	if wait := r.passed(since, until); wait > within+busy+spec.SleepStop+r.patient(prompt) && !r.probesMissing(s, i, x.first, n) {
		return late(rules.ProbedAfterRestart, Cause{x.first, rules.ProbedAgain}, "container %s was started again %s before, and has not been probed since", spec.Name, wait)
	}
	return nil
}

// writesYet reports whether container i surely lives at observation n: it writes then or later.
// An update shows no life here, as all containers of a Pod that is terminated are shown as running
// until the last of them has stopped.
func (r *Reading) writesYet(s *State, i, n int) bool {
	if o := r.ob(n); o.IsLog && o.Container == i {
		return r.lives(s, i, n)
	}
	return r.lives(s, i, n) && r.obAt(r.ev.Containers[i].LastAlive).IsLog
}

// writesLater reports whether container i writes after observation n, which is a line of another
// one. What is late for it is then refused at its own line.
func (r *Reading) writesLater(i, n int) bool {
	if o := r.ob(n); !o.IsLog || o.Container == i {
		return false
	}
	last := r.ev.Containers[i].LastAlive
	return last.After(n) && r.obAt(last).IsLog
}

// firstProbeWithin is the time within which the first line of a probe of container i comes:
// its delay and three periods, of the probe that is first; 0 where there is no probe that
// writes.
func (m *model) firstProbeWithin(i int) (within time.Duration) {
	spec := &m.p.Containers[i]
	for _, a := range record.Actors {
		p := spec.Probe(a)
		if !p.Declared || p.Network || !m.ev.Writes(i, a) || spec.Startup.Declared && a != trace.StartupProbe {
			continue
		}
		if d := time.Duration(p.Delay+3*p.Period) * time.Second; within == 0 || d < within {
			within = d
		}
	}
	return within
}

// probingSince is the line from which on instance x is probed: the sync that started it may
// have waited for postStart hooks. busy is how long that sync may have gone on beside what lines
// show; known is false where a hook may still run.
func (r *Reading) probingSince(s *State, x *seen) (since record.Place, busy time.Duration, known bool) {
	since = x.first
	for j := range s.c {
		spec, c, y := &r.p.Containers[j], &s.c[j], r.seenOf(s, j)
		if c.progress.isStarted() {
			busy += spec.SleepStart // it sleeps on even if its container has ended
		}
		switch {
		case !spec.PostStart || c.progress.isUnstarted():
		case !y.hookEnd.Known() && !c.ended.known():
			return 0, 0, false
		default:
			since = max(since, y.hookEnd)
		}
		if r.hookMayHaveFailed(c, y, j) {
			busy += max(r.podGrace(), minimumGrace) // it is stopped within that sync
		}
	}
	return since, busy, true
}

// hookMayHaveFailed reports whether the postStart hook of instance y of container j may
// have failed, so that the sync which started it stops it.
func (r *Reading) hookMayHaveFailed(c *instance, y *seen, j int) bool {
	return y.hookCode != 0 || c.kill == byHook || !y.hookEnd.Known() && r.ev.Containers[j].HookFailed
}
