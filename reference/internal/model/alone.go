// A log alone: what its stamps leave open of an end of which nothing says when it began, nor
// with which grace period. Rules: terminate/grace-period, terminate/prestop-before-term,
// sidecar/stops-last, sidecar/reverse-order, terminate/cause.

package model

import (
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

const (
	// unhurried is the patience for the first line of a process, for a signal and for KILL on
	// a node that is not busy.
	unhurried = 5 * time.Second
	// firstLineOfHook is the patience for the first line of a hook there, and leastPeriod the
	// least grace period that a deletion leaves a hook
	// (pkg/kubelet/pod_workers.go, calculateEffectiveGracePeriod).
	firstLineOfHook = 1750 * time.Millisecond
	leastPeriod     = time.Second
)

// late is by how much what a process does may be late.
func (r *Reading) late() time.Duration {
	if r.ev.Unhurried {
		return unhurried
	}
	return r.patient(patience)
}

// endNotBefore is a time before which the end of the Pod had surely not begun, of which
// nothing says when it did; zero if there is none. A container was started before the end
// began, and so had its postStart hook returned. A preStop hook begins with the end, and so
// comes the TERM of a container that has none and waits for nothing.
func (r *Reading) endNotBefore(s *State) (from time.Time) {
	if from = r.ev.EndedFrom; !from.IsZero() && r.podIsOver(s, -1) {
		from = time.Time{} // it may have come to its end by itself before
	}
	after := func(line record.Place, less time.Duration) {
		if line.Known() {
			if at := r.writtenAt(line).Add(-less); at.After(from) {
				from = at
			}
		}
	}
	for i := range s.c {
		c, x, spec := &s.c[i], r.seenOf(s, i), &r.p.Containers[i]
		after(x.first, r.late())
		if !r.ev.RestartAnyTime {
			after(x.hookEnd, 0)
		}
		if c.kill != byTermination {
			continue
		}
		after(x.preStopBegin, r.late())
		if r.p.IsRegular(i) && !spec.PreStop && spec.SleepStop == 0 {
			after(x.term, r.late())
		}
	}
	return from
}

// goesOn reports whether the Pod went on when container i was stopped, so that nobody had ended
// it with a grace period.
func (r *Reading) goesOn(s *State, i int) bool { return r.logOnly && s.c[i].kill != byTermination }

// endOverAt is the earliest time at which the grace period of the end, or most if that is
// less, can have been over; zero where that is not known.
func (r *Reading) endOverAt(s *State, i int, most time.Duration) time.Time {
	from := r.endNotBefore(s)
	if from.IsZero() || r.ev.Period == nil || r.ev.LogComplete {
		return time.Time{}
	}
	period := *r.ev.Period
	if r.podIsOver(s, i) {
		period = min(period, r.podGrace())
	}
	return from.Add(min(period, most))
}

// periodIsOver has the grace period of the end over when container i got TERM, which nothing
// else explains: then all that is being stopped gets TERM at once, and KILL soon after. The
// state is the caller's own.
func (r *Reading) periodIsOver(s *State, by Cause) {
	if !s.periodOver.known() {
		s.periodOver = by
	}
}

// outlivesPeriod says why container i can no longer be alive when line n was written: an
// earlier line is explained only by the end of the grace period, which is one for all.
func (r *Reading) outlivesPeriod(s *State, i, n int) *Denial {
	if !s.periodOver.known() || r.ev.LogComplete {
		return nil
	}
	if r.excused(rules.GraceEnds, i, n, s.periodOver.Obs) && (r.ev.NodeStoodStill || !r.hookGoesOn(s, i, n)) {
		return nil
	}
	// What is left of the period is floored to whole seconds, which can add one.
	most := minimumGrace + time.Second + r.late()
	lasted := r.between(s.periodOver.Obs, n)
	if lasted <= most+r.slack(n)+r.slackAt(s.periodOver.Obs) {
		return nil
	}
	return because(deny(s.periodOver.Rule, s.periodOver), "only the end of the grace period can explain the TERM before, and container %s is still alive %s after it", r.p.Containers[i].Name, lasted)
}

// hookGoesOn reports whether line n is of a preStop hook that was begun before the grace period
// was over. It dies with its kubelet, and the next one runs another.
func (r *Reading) hookGoesOn(s *State, i, n int) bool {
	x := r.seenOf(s, i)
	again := x.preStopLast > s.periodOver.Obs || r.ob(n).Log.Mark.Kind == trace.Begin
	return r.ob(n).Log.Actor == trace.PreStop && x.preStopBegin.Known() && !again
}

// waitsOrPeriodIsOver are the states in which sidecar i gets TERM where nothing says when the
// end of the Pod began: either all that it waits for has ended, or the period is over.
func (r *Reading) waitsOrPeriodIsOver(s, ended State, i, n int) []State {
	rule := ""
	for j := range s.c {
		if ended.c[j].ended.known() && !s.c[j].ended.known() {
			rule = ended.c[j].ended.Rule
		}
	}
	if rule == "" {
		return []State{ended}
	}
	r.periodIsOver(&s, at(n, rule))
	return []State{ended, s}
}

// hookTooLate reports whether line n, the first of the preStop hook of instance x, comes so
// long after its TERM that no period explains it: the hook was begun before.
func (r *Reading) hookTooLate(x *seen, n int) bool {
	if !r.logOnly || x.preStop.Known() || r.ev.LogComplete || r.ev.NodeStoodStill {
		return false
	}
	within := firstLineOfHook - leastPeriod
	if !r.ev.Unhurried {
		within = r.patient(patience)
	}
	return r.between(x.term, n) > within+r.slack(n)+r.slackAt(x.term)
}

// timeForFailures reports whether probe a of instance x of container i had the time to fail
// failureThreshold times in a row by observation n, those with a line among them. One that
// runs out of its time leaves no line, but takes its turn: there is one in each period.
func (r *Reading) timeForFailures(i int, x *seen, a trace.Actor, n int) bool {
	p, row := r.p.Containers[i].Probe(a), record.RowOf(a)
	seconds := func(n int32) time.Duration { return time.Duration(n) * time.Second }
	// Its turns come closer together after one that took longer than its period.
	early := seconds(p.Timeout)
	if p.Timeout > p.Period {
		early += seconds(p.Period)
	}
	if good := x.succeeded[row]; good.Known() {
		needs := seconds(p.Failures * p.Period)
		return r.between(good, n)+early+r.slack(n)+r.slackAt(good) >= needs
	}
	if !x.first.Known() {
		return true
	}
	since, turns := r.writtenAt(x.first).Add(-r.late()), p.Failures-1
	if w := &r.h[i].rows[row]; x.run > 0 {
		turns -= w.n + 1 // the worker may have counted failures of the instance before
	}
	if a == trace.LivenessProbe && x.started.Known() {
		since = r.writtenAt(x.started)
	}
	needs := seconds(p.Delay + max(turns, 0)*p.Period)
	return r.written(n).Sub(since)+early+r.slack(n)+r.slackAt(x.first) >= needs
}

// A kubelet that was told to restart took 1.9 to 2.7 s until it started a container. In a log alone
// no kubelet was restarted within kubeletTakes, nor was the back-off of a container forgotten within
// backoffForgotten of the start of an instance.
const (
	kubeletTakes     = time.Second
	backoffForgotten = 2 * time.Second
)

// crashed reports whether nothing in a log alone hints at a reason but its own exit why
// instance x was followed by the one that line n shows.
func (r *Reading) crashed(x *seen, n int) bool {
	restarted := r.ev.RestartAnyTime && r.between(x.first, n) > backoffForgotten
	return r.logOnly && x.mainEnd.Known() && !r.stopShown(x) && !restarted
}

// The exit codes of a process that TERM or KILL has ended.
const diedOfKILL, diedOfTERM = 137, 143

// stopShown reports whether the lines hint at a stop of instance x. A process that got TERM
// need not say so.
func (r *Reading) stopShown(x *seen) bool {
	return r.stopBegun(x).Known() || x.mainEnd.Known() && (x.mainCode == diedOfTERM || x.mainCode == diedOfKILL)
}

// startedAfter is the last line that was surely written before instance run of container i
// was started: the end of an init container before it, or a line of the instance before.
func (r *Reading) startedAfter(i int, run int32) (last record.Place) {
	after := func(line record.Place) {
		if line.Known() && (!last.Known() || r.writtenAt(line).After(r.writtenAt(last))) {
			last = line
		}
	}
	first := r.h[i].at(run).first
	if run > 0 {
		after(r.h[i].at(run - 1).last)
	}
	for j := range min(i, r.p.Inits) {
		if r.p.Containers[j].Role != podspec.InitContainer {
			continue
		}
		for k := range r.h[j].runs {
			if x := &r.h[j].runs[k]; !first.Known() || x.mainEnd < first {
				after(x.mainEnd)
			}
		}
	}
	return last
}

// SinceEnd is how long after the first sign of the end of the Pod observation n broke its
// order, or the earlier line did that the denial names; 0 if it was the first sign itself, or
// if it is not the order that is broken.
func (r *Reading) SinceEnd(n int, d *Denial) time.Duration {
	at := n
	switch d.Rule {
	case rules.SidecarsLast, rules.SidecarsReverse:
		for _, c := range d.Because {
			at = min(at, c.Obs.Index())
		}
	case rules.PreStopFirst:
	default:
		return 0
	}
	longest := time.Duration(0)
	for i := range r.h {
		begun := r.stopBegun(r.h[i].newest())
		if begun.Known() && begun.Index() < at {
			longest = max(longest, r.between(begun, at)+r.slack(at))
		}
	}
	return longest
}
