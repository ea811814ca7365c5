package model

import (
	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// start is the hidden step to instance run of container i, forced by
// observation n. It returns every way to get there.
func (r *Reading) start(s State, i int, run int32, n int) ([]State, *Denial) {
	s = r.asNewKubeletFinds(s, n)
	c := &s.c[i]
	if s.terminating.known() && (c.kill == byTermination || c.progress.isUnstarted() && c.ended.known() || r.seenOf(&s, i).last >= s.terminating.Obs) {
		// Otherwise it was started before, and its first line came late.
		return nil, deny(rules.NoStart, s.terminating)
	}
	if s.terminating.known() && c.progress.isUnstarted() && i < r.p.Inits {
		// The one before it had to end before the Pod did.
		for j := range i {
			if x := r.seenOf(&s, j); r.p.Containers[j].Role == podspec.InitContainer && (!s.c[j].nextMayStart.known() || s.c[j].nextMayStart.Obs > s.terminating.Obs) && (x.mainEnd == 0 || x.mainEnd > s.terminating.Obs) {
				return nil, deny(rules.NoStart, s.terminating)
			}
		}
	}
	var next []State
	var d *Denial
	switch lost := r.stoppedWithSandbox(&s); {
	case lost.known() && (c.kill == bySandbox || r.seenOf(&s, i).last >= lost.Obs):
		d = deny(rules.NoStart, lost)
	case c.progress.isUnstarted():
		next, d = r.startUnstarted(s.clone(), i, run, n)
	default:
		next, d = r.restart(s, i, run, n)
	}
	if r.mayStartOver(&s) {
		more, other := r.startUnstarted(r.startOver(s, n), i, run, n)
		next = append(next, more...)
		if d == nil {
			d = other
		}
	}
	if len(next) == 0 {
		return nil, d
	}
	if s.terminating.known() {
		for a := range next {
			r.hookHasReturned(&next[a], i, n, rules.TermAfterSync)
			r.stoppedBeforeSidecar(&next[a], i)
		}
	}
	return next, nil
}

// hadStopped: a container that shows only after a sidecar before it got TERM
// with grace left had stopped by then.
func (r *Reading) stoppedBeforeSidecar(s *State, i int) {
	rule := rules.SidecarsReverse
	if i >= r.p.Inits {
		rule = rules.SidecarsLast
	}
	for j := range min(i, r.p.Inits) {
		x := r.seenOf(s, j)
		if c := &s.c[i]; r.p.Containers[j].Role == podspec.Sidecar && r.waitsFor(s, j, i) && s.c[j].kill == byTermination && x.term != 0 && !c.ended.known() && r.graceLeft(s, j, x.term.Index()) {
			c.ended = Cause{x.term, rule}
		}
	}
}

// startUnstarted starts instance run of container i in a round in which none was
// started before. If it is not the next one, that was started, and the one that
// was seen is a restart of it. The state is the caller's own.
func (r *Reading) startUnstarted(s State, i int, run int32, n int) ([]State, *Denial) {
	// The runs that the kubelet counts go on where a new round begins; a log
	// that begins in the middle of a round may have any.
	first, again := s.c[i].run+1, s.clone()
	states, d := r.startFirst(s, i, min(first, run), n)
	if run <= first {
		return states, d
	}
	var next []State
	for _, t := range states {
		more, other := r.restart(t, i, run, n)
		next, d = append(next, more...), firstOf(d, other)
	}
	if s.startedOver {
		// Or those before it were of the round before, and left no line.
		more, other := r.startFirst(again, i, run, n)
		next, d = append(next, more...), firstOf(d, other)
	}
	return next, d
}

// startFirst starts container i for the first time in this round. The state is
// the caller's own.
func (r *Reading) startFirst(s State, i int, run int32, n int) ([]State, *Denial) {
	if c := &s.c[i]; c.ended.known() {
		return nil, deny(c.ended.Rule, c.ended)
	}
	var next []State
	switch {
	case r.p.Containers[i].Role == podspec.Ephemeral:
		after, _, _ := r.workerIsFree(s, i, n)
		return []State{withFirstStart(after, i, run)}, nil
	case i < r.p.Inits:
		states, d := r.initialize(s, i, n)
		for _, t := range states {
			next = append(next, withFirstStart(t, i, run))
		}
		return next, d
	}
	if !s.c[i].progress.isByLaterSync() && !s.startSyncEnded.known() {
		states, d := r.startSyncHasReached(s.clone(), i, n)
		if d != nil {
			return nil, d
		}
		held := r.startSyncEndedBeforeSidecar(&s, n)
		for _, t := range states {
			if t = withFirstStart(t, i, run); !held {
				next = append(next, t)
				continue
			}
			after, other := r.startSyncHasEnded(t, n, rules.SidecarStarted)
			next, d = append(next, after...), firstOf(d, other)
		}
		if len(next) == 0 {
			return nil, d
		}
	}
	if s.c[i].progress.isByLaterSync() || r.mayStartLater(&s, i) || r.kubeletRestarted(n) {
		// The first start failed, was cut off, or had to wait; a later sync,
		// which begins when the first one has ended, starts it.
		t := s.clone()
		t.c[i].progress = postponed
		states, d := r.startSyncHasEnded(t, n, rules.RestartSerial)
		if d != nil && len(next) == 0 {
			return nil, d
		}
		for _, t := range states {
			next = append(next, withFirstStart(t, i, run))
		}
	}
	if len(next) == 0 {
		return nil, deny(rules.ListedOrder, s.startSyncEnded)
	}
	return next, nil
}

// startSyncEndedBeforeSidecar reports whether a sidecar that has been started again, and not come
// to its start by observation n, lets a regular container show only now: that was
// started behind the instance before, so its sync had ended when the sidecar was
// started again. A sidecar behind which others had come to their start is started
// again by the sync that starts the regular containers, which waits for its hook
// alone.
func (r *Reading) startSyncEndedBeforeSidecar(s *State, n int) bool {
	for j := range r.p.Inits {
		c := &s.c[j]
		if r.p.Containers[j].Role != podspec.Sidecar || c.progress.isUnstarted() || c.nextMayStart.known() || !r.probesNeverKill(j) {
			continue
		}
		x := r.seenOf(s, j)
		waits := j == r.p.Inits-1 || r.p.Containers[j].PostStart && x.hookEnd == 0 && r.ev.Marks(j, trace.PostStart)
		if now, d := r.sidecarHasStarted(c, x, j, n); waits && !now && d == nil {
			return true
		}
	}
	return false
}

// mayStartLater reports whether another sync than the first one of this round may
// start container i: its start failed, or its back-off goes on in a new sandbox.
func (r *Reading) mayStartLater(s *State, i int) bool {
	return r.ev.Containers[i].StartFailed || s.startedOver && r.ev.NewSandbox && r.ev.Containers[i].NewestRun >= 2
}

// withFirstStart has instance run of container i started, the first of this round.
func withFirstStart(s State, i int, run int32) State {
	c := &s.c[i]
	c.run, c.progress = run, c.progress.withFirstStart()
	return s
}
