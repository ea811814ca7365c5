// The lines of the log: which instance each line is of, what its main process may write, and the
// signal that stops it. Rules: start/one-instance-at-a-time, start/listed-order, terminate/cause;
// the lines of hooks and probes have chapters of their own.

package model

import (
	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// onLine takes a line of the shared log.
func (r *Reading) onLine(s State, n int) ([]State, *Denial) {
	o := r.ob(n)
	i, l := o.Container, &o.Log
	run := r.runOf(i, l)
	c := &s.c[i]
	if run < c.run || run == c.run && c.progress.isUnstarted() {
		if c.ended.known() {
			return nil, deny(c.ended.Rule, c.ended)
		}
		return nil, deny(rules.Instances, Cause{r.h[i].at(c.run).first, rules.Instances})
	}
	var next []State
	states, d := []State(nil), (*Denial)(nil)
	if run == c.run {
		startedOver := !r.logOnly && !s.terminating.known() && c.progress.isFirst() && !r.seenOf(&s, i).first.Known() && r.mayStartOver(&s)
		if !startedOver {
			return r.effectOfLine(s, i, n)
		}
		// Or that instance has left no line, and no number was taken for it: all was started
		// over, and the line is of the instance after it.
		next, d = r.takeLine(s, i, n)
		states, _ = r.startUnstarted(r.startOver(s, n), i, run, n)
		return r.takeLineIn(states, next, d, i, n)
	}
	if s.startedOver && c.progress.isFirst() && r.seenOf(&s, i).first == 0 {
		// Or it is of the instance that is there: the number of that depends on how many
		// instances of earlier rounds left no line.
		t := s.clone()
		t.c[i].run = run
		next, _ = r.takeLine(t, i, n)
	}
	if l.Actor.IsProbe() && c.progress.isUnstarted() && run == c.run+1 && r.p.IsRegular(i) && !c.progress.isByLaterSync() && !s.terminating.known() {
		// The first sign of an instance: it was started, and its sync ended.
		states, d = r.startSyncHasEnded(s, n, rules.AfterSync)
		for a := range states {
			states[a] = withFirstStart(states[a], i, int32(run))
		}
	} else {
		states, d = r.start(s, i, run, n)
	}
	if next, d = r.takeLineIn(states, next, d, i, n); len(next) > 0 {
		return next, nil
	}
	return nil, firstOf(d, deny(rules.ListedOrder, s.startSyncEnded))
}

// takeLineIn takes the line as one of the newest instance of container i in each of the
// states, and adds the states that follow to next.
func (r *Reading) takeLineIn(states, next []State, d *Denial, i, n int) ([]State, *Denial) {
	for _, t := range states {
		after, other := r.takeLine(t, i, n)
		next, d = append(next, after...), firstOf(d, other)
	}
	if len(next) > 0 {
		return next, nil
	}
	return nil, d
}

// runOf is the run that a line is of. A line without a run number is taken for a line of the
// only instance that can have written it.
func (r *Reading) runOf(i int, l *trace.Line) int32 {
	if l.Run != trace.NoRun {
		return int32(l.Run)
	}
	h := &r.h[i]
	x := h.newest()
	run := max(x.run, 0)
	over := h.past >= run || x.run >= 0 && l.Actor == trace.Main && (x.mainEnd != 0 || l.Mark.Kind == trace.Begin && x.hasBegun())
	if over && run < r.ev.Containers[i].NewestRun {
		run = min(max(run, h.past)+1, r.ev.Containers[i].NewestRun) // the instance that has ended may have written nothing
	}
	if r.asNext && run < r.ev.Containers[i].NewestRun {
		run++
	}
	return run
}

// hasBegun reports whether the main process has begun, as far as its instance has written: a postStart
// hook may be the first to write, and the begin of its container comes after it.
func (x *seen) hasBegun() bool {
	return x.mainBegin.Known() || x.hookCode != 0 || x.preStop.Known() || x.probed.Known()
}

// takeLine takes the line as one of the newest instance of container i.
func (r *Reading) takeLine(s State, i, n int) ([]State, *Denial) {
	next, d := r.effectOfLine(s, i, n)
	if next == nil && d == nil {
		return []State{s}, nil
	}
	return next, d
}

// effectOfLine is takeLine where most lines cost no memory: no states and no denial mean
// that the line is admitted and forces nothing, so s stays as it is.
func (r *Reading) effectOfLine(s State, i, n int) ([]State, *Denial) {
	c := &s.c[i]
	if c.ended.known() {
		return nil, deny(c.ended.Rule, c.ended)
	}
	if d := firstOf(firstOf(r.outlivesGrace(&s, i, n), r.outlivesPeriod(&s, i, n)), r.startsWhileHookSleeps(i, c.run, n)); d != nil {
		return nil, d
	}
	switch r.ob(n).Log.Actor {
	case trace.Main:
		return r.onMain(s, i, n)
	case trace.PostStart:
		return r.onPostStart(s, i, n)
	case trace.PreStop:
		return r.onPreStop(s, i, n)
	}
	return r.onProbe(s, i, n)
}

// onMain takes a line of the main process of container i.
func (r *Reading) onMain(s State, i, n int) ([]State, *Denial) {
	l, x := &r.ob(n).Log, r.seenOf(&s, i)
	if x.mainEnd != 0 {
		return nil, deny(rules.Instances, Cause{x.mainEnd, rules.Instances})
	}
	spec := &r.p.Containers[i]
	switch stop := spec.Stop; {
	case l.Mark.Kind == trace.Begin && x.mainBegin != 0 && !r.excused(rules.OneBegin, i, n, 0):
		return nil, deny(rules.Instances, Cause{x.mainBegin, rules.Instances})
	case l.Mark.Kind != trace.Signal, sentInside(spec, x, l):
		return nil, nil
	case l.Mark.Signal == stop:
	case l.Mark.Signal == "TERM":
		return nil, because(deny(rules.TermCause), "container %s got TERM, but its stop signal is %s", l.Container, stop)
	default:
		return nil, nil // somebody else sent it, or the image is made so
	}
	states, d := r.stop(s, i, n, byTermination, byProbe, byHook, bySandbox, byRestartAll)
	var next []State
	for _, t := range states {
		after, other := r.onTerm(t, i, n)
		next, d = append(next, after...), firstOf(d, other)
	}
	if len(next) > 0 {
		return next, nil
	}
	return nil, d
}

// sentInside reports whether a signal to the main process of an instance may come from another
// process of the Pod and not from the kubelet. Its line may say so. Where it does not, it may come
// from the preStop hook of its own container while that runs, or, where containers share a
// process namespace, from any of them. Nothing follows from such a signal.
func sentInside(spec *podspec.Container, x *seen, l *trace.Line) bool {
	if l.Mark.From != 0 {
		return l.Mark.From == trace.Inside
	}
	return spec.SharedProcesses || spec.PreStopSignals && x.preStop != 0 && x.preStopEnd == 0
}
