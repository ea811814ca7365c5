// A liveness or startup probe that has failed failureThreshold times in a row: its worker waits
// for the next instance, and the next sync stops the container.
// Rules: probes/failure-stops, probes/held-after-failure.

package model

import (
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// outcomes are what the latest lines of a probe in one instance leave no doubt about. A worker
// may have counted more, as it outlives an instance, and never less.
type outcomes struct {
	// failures and successes in a row; one of them is 0.
	failures, successes int32
	// since is the first line of the row, and enough the one with which it had as many as the
	// threshold of the probe asks for.
	since, enough record.Place
	// last is when the latest line was written, in nanoseconds since 1970.
	last int64
}

// count takes a line.
func (o *outcomes) count(p podspec.Probe, l *trace.Line, at record.Place, of lineOf) {
	gap := time.Duration(l.Time.UnixNano() - o.last)
	o.last = l.Time.UnixNano()
	row, other, enough := &o.failures, &o.successes, p.Failures
	if l.Mark.N == 0 {
		row, other, enough = &o.successes, &o.failures, p.Success
	}
	switch {
	case of.old || l.Mark.Kind != trace.End || l.Mark.N < 0 || p.Network && l.Run == trace.NoRun:
		o.failures, o.successes, o.enough = 0, 0, 0
		return
	case *row > 0 && again(&p, gap):
		return
	case *other > 0 || *row == 0 || !of.each && gap >= period(&p)*3/2:
		// A probe that writes nothing where it succeeds may have done so in a long gap.
		*other, *row, o.since, o.enough = 0, 0, at, 0
	}
	if *row++; *row >= enough {
		setFirst(&o.enough, at)
	}
}

// again reports whether a line that comes so soon after the one before it may be of the same
// run: a run that could not be finished is tried again at once
// (pkg/kubelet/prober/prober.go, runProbeWithRetries).
func again(p *podspec.Probe, gap time.Duration) bool { return gap < period(p)/4 }

// failedEnough is the row of failures for which instance x has to be stopped; nil if there is
// none.
func failedEnough(x *seen) (o *outcomes, a trace.Actor) {
	for _, a := range []trace.Actor{trace.LivenessProbe, trace.StartupProbe} {
		if o := &x.sure[record.RowOf(a)]; o.failures > 0 && o.enough.Known() {
			return o, a
		}
	}
	return nil, trace.LivenessProbe
}

// probedAfterFailure says why line n, of a liveness or startup probe of container i, cannot come
// in this instance: the probe has failed so often that it waits for the next one.
func (r *Reading) probedAfterFailure(s *State, i, n int) *Denial {
	l, x := &r.ob(n).Log, r.seenOf(s, i)
	o, p := &x.sure[record.RowOf(l.Actor)], r.p.Containers[i].Probe(l.Actor)
	if l.Actor == trace.ReadinessProbe || o.failures == 0 || !o.enough.Known() || p.Network && l.Run == trace.NoRun {
		return nil
	}
	if again(&p, time.Duration(l.Time.UnixNano()-o.last)) || r.excused(rules.NoProbeAfterFailure, i, n, o.since) {
		return nil
	}
	return because(deny(rules.HeldAfterFailure, Cause{o.enough, rules.HeldAfterFailure}), "the %s of container %s had failed %d times in a row before, for which the container is stopped", l.Actor, l.Container, o.failures)
}

// failureIgnored says why container i should have been stopped by observation n: a probe of it
// has failed often enough.
func (r *Reading) failureIgnored(s *State, i, n int) *Denial {
	spec, c := &r.p.Containers[i], &s.c[i]
	if !spec.Liveness.Declared && !spec.Startup.Declared || s.terminating.known() || c.kill != notKilled || c.ended.known() {
		return nil
	}
	x := r.seenOf(s, i)
	o, a := failedEnough(x)
	if o == nil || r.stopBegun(x).Known() || x.mainEnd.Known() || r.passed(o.enough, n) <= r.patient(patience) {
		return nil
	}
	since, busy, known := r.workerFreeSince(s, i, o.enough, n)
	if !known {
		return nil
	}
	within := busy + r.patient(patience)
	if !spec.PreStop || spec.SleepStop > 0 || !r.ev.Writes(i, trace.PreStop) {
		// Nothing has to show the stop but the end.
		within += max(r.podGrace(), time.Duration(spec.Probe(a).Grace)*time.Second) + 2*minimumGrace
	}
	if wait := r.passed(since, r.untilEnd(n)); wait > within && r.lives(s, i, n) && !r.podIsOver(s, i) && !r.excused(rules.FailureThenStop, i, n, o.since) {
		return late(rules.FailureThenStop, Cause{o.enough, rules.FailureStops}, "the %s of container %s has failed %d times in a row, and %s after that nothing shows that the container is stopped", a, spec.Name, o.failures, wait)
	}
	return nil
}

// workerFreeSince is what came last before the worker of the Pod was free to act for container
// i, from a given observation on, and how long it may have been busy since then beside what lines
// show. known is false where it may be busy still, and nothing says for how long.
func (r *Reading) workerFreeSince(s *State, i int, from record.Place, n int) (since record.Place, busy time.Duration, known bool) {
	since = from
	for j := range s.c {
		spec, c, y := &r.p.Containers[j], &s.c[j], r.seenOf(s, j)
		if c.progress.isUnstarted() {
			if j != i && !c.ended.known() && r.mayBeStarting(j, n) {
				return 0, 0, false
			}
			continue
		}
		busy += spec.SleepStart // it sleeps on even if its container has ended
		switch {
		case !spec.PostStart:
		case y.hookEnd.Known():
			since = max(since, y.hookEnd)
		case c.hookReturned.known() || c.ended.known():
			since = max(since, c.hookReturned.Obs, c.ended.Obs)
		default:
			return 0, 0, false
		}
		since = max(since, y.first)
		if r.hookMayHaveFailed(c, y, j) {
			busy += max(r.podGrace(), minimumGrace) // it is stopped within that sync
		}
		if j != i {
			busy += r.stoppedBySync(s, j, n)
		}
	}
	return since, busy, true
}

// mayBeStarting reports whether the kubelet may be busy with the first start of container j at
// observation n, for as long as an image takes to be pulled.
func (r *Reading) mayBeStarting(j, n int) bool {
	return r.h[j].stage != unheard || r.ev.Containers[j].StartFailed || r.eventsMissing(n)
}
