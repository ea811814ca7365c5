// The first start of a container in a round (SyncPod, startContainer).
// Rules: start/listed-order, start/restart-after-sync, start/error-does-not-stop-next,
// sidecar/started-before-next, terminate/no-start-after; of a container that shows late,
// terminate/after-sync, sidecar/stops-last and sidecar/reverse-order.

package model

import (
	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// A line or a status that shows an instance for the first time forces its start. These are
// the cases:
//
//	start                the instance was started, in any way
//	  startInThisRound   in the round that the state is in:
//	    startUnstarted     the container was not started in this round yet
//	      startFirst         it is the first instance of this round:
//	        initialize         of an init container or a sidecar (init.go)
//	        startRegular       of a regular container:
//	          startInStartSync   the start sync started it
//	          startInLaterSync   a later sync did
//	        workerIsFree       of an ephemeral container (worker.go)
//	      restart            or that one left no line, and this is a restart of it
//	    restart            it was: the instance is a restart (restart.go)
//	  startOver          in a new round, of which nothing was seen yet (sandbox.go):
//	    startUnstarted     as above
//
// Each returns one state for every way that the kubelet may have taken.

// start forces that instance run of container i was started by observation n.
func (r *Reading) start(s State, i int, run int32, n int) ([]State, *Denial) {
	s = r.asNewKubeletFinds(s, n)
	if r.terminatedBeforeStart(&s, i) {
		return nil, deny(rules.NoStart, s.terminating)
	}
	next, d := r.startInThisRound(s, i, run, n)
	if r.mayStartOver(&s) && !r.stillBackedOff(&s, i, run, n) {
		more, other := r.startUnstarted(r.startOver(s, n), i, run, n)
		next, d = append(next, more...), firstOf(d, other)
	}
	if len(next) == 0 {
		return nil, d
	}
	if s.terminating.known() {
		// It was started before the termination began, and its first line came late.
		for a := range next {
			r.hookHasReturned(&next[a], i, n, rules.TermAfterSync)
			r.hadStoppedBeforeSidecar(&next[a], i)
		}
	}
	return next, nil
}

// terminatedBeforeStart reports whether the Pod was being terminated before container i can
// have been started. Otherwise it may have been started before that, and its first line
// came late.
func (r *Reading) terminatedBeforeStart(s *State, i int) bool {
	if !s.terminating.known() {
		return false
	}
	c, end := &s.c[i], s.terminating.Obs
	if c.kill == byTermination || c.progress.isUnstarted() && c.ended.known() || r.seenOf(s, i).last >= end {
		return true
	}
	if !c.progress.isUnstarted() || i >= r.p.Inits {
		return false
	}
	// Every init container before it has to have ended before the Pod did.
	for j := range i {
		c, x := &s.c[j], r.seenOf(s, j)
		doneInTime := c.nextMayStart.known() && c.nextMayStart.Obs <= end
		endedInTime := x.mainEnd != 0 && x.mainEnd <= end
		if r.p.Containers[j].Role == podspec.InitContainer && !doneInTime && !endedInTime {
			return true
		}
	}
	return false
}

// startInThisRound starts instance run of container i in the round that the state is in.
func (r *Reading) startInThisRound(s State, i int, run int32, n int) ([]State, *Denial) {
	c := &s.c[i]
	if lost := r.stoppedWithSandbox(&s); lost.known() && (c.kill == bySandbox || r.seenOf(&s, i).last >= lost.Obs) {
		return nil, deny(rules.NoStart, lost)
	}
	if c.progress.isUnstarted() {
		return r.startUnstarted(s.clone(), i, run, n)
	}
	return r.restart(s, i, run, n)
}

// hadStoppedBeforeSidecar: container i shows only now, and a sidecar that waits for it got
// its TERM before that, with grace period left. So container i had stopped by then.
func (r *Reading) hadStoppedBeforeSidecar(s *State, i int) {
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

// startUnstarted starts instance run of container i in a round in which the container was
// not started yet. If it is not the next instance, that one was started and left no line,
// and run is a restart of it. The state is the caller's own.
func (r *Reading) startUnstarted(s State, i int, run int32, n int) ([]State, *Denial) {
	// The kubelet goes on counting where a new round begins, and a log may begin in the
	// middle of a round. So the first number of a round is not always 0.
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
		// Or the instances in between were of the round before, and left no line.
		more, other := r.startFirst(again, i, run, n)
		next, d = append(next, more...), firstOf(d, other)
	}
	return next, d
}

// startFirst starts container i for the first time in this round, as instance run. The
// state is the caller's own.
func (r *Reading) startFirst(s State, i int, run int32, n int) ([]State, *Denial) {
	if c := &s.c[i]; c.ended.known() {
		return nil, deny(c.ended.Rule, c.ended)
	}
	switch {
	case r.p.Containers[i].Role == podspec.Ephemeral:
		late, _, _ := r.workerIsFree(s, i, n)
		return []State{withFirstStart(late, i, run)}, nil
	case i < r.p.Inits:
		t, d := r.initialize(s, i, n)
		if d != nil {
			return nil, d
		}
		return []State{withFirstStart(t, i, run)}, nil
	}
	return r.startRegular(s, i, run, n)
}

// startRegular starts regular container i for the first time in this round: in the start
// sync, in a later one, or in either.
func (r *Reading) startRegular(s State, i int, run int32, n int) (next []State, d *Denial) {
	if !s.c[i].progress.isByLaterSync() && !s.startSyncEnded.known() {
		if next, d = r.startInStartSync(s, i, run, n); len(next) == 0 {
			return nil, d
		}
	}
	if s.c[i].progress.isByLaterSync() || r.mayHaveStartedLater(&s, i, n) {
		more, other := r.startInLaterSync(s, i, run, n)
		if other != nil && len(next) == 0 {
			return nil, other
		}
		next = append(next, more...)
	}
	if len(next) == 0 {
		return nil, deny(rules.ListedOrder, s.startSyncEnded)
	}
	return next, nil
}

// startInStartSync starts regular container i in the start sync.
func (r *Reading) startInStartSync(s State, i int, run int32, n int) ([]State, *Denial) {
	states, d := r.startSyncHasReached(s.clone(), i, n)
	if d != nil {
		return nil, d
	}
	over := r.startSyncEndedBeforeSidecar(&s, n)
	var next []State
	for _, t := range states {
		if t = withFirstStart(t, i, run); !over {
			next = append(next, t)
			continue
		}
		after, other := r.startSyncHasEnded(t, n, rules.SidecarStarted)
		next, d = append(next, after...), firstOf(d, other)
	}
	return next, d
}

// startInLaterSync starts regular container i after the start sync has ended. Its start in
// that sync failed, or was cut off by a restart of the kubelet, or its back-off was not over.
func (r *Reading) startInLaterSync(s State, i int, run int32, n int) ([]State, *Denial) {
	t := s.clone()
	t.c[i].progress = postponed
	states, d := r.startSyncHasEnded(t, n, rules.RestartSerial)
	for a := range states {
		states[a] = withFirstStart(states[a], i, run)
	}
	return states, d
}

// startSyncEndedBeforeSidecar reports whether a regular container that shows only now was
// started by a sync that has ended: a sidecar was started again since, and has not come to
// its start by observation n, so it still holds back every regular container. The start
// sync had come past the instance of the sidecar before. A sidecar after which others have
// started already does not hold back: the start sync itself starts it again, and waits for
// its postStart hook alone.
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

// mayStartLater reports whether a later sync than the start sync may make the first start
// of container i in this round: a start failed, or the back-off goes on in a new sandbox.
func (r *Reading) mayStartLater(s *State, i int) bool {
	return r.ev.Containers[i].StartFailed || s.startedOver && r.ev.NewSandbox && r.ev.Containers[i].NewestRun >= 2
}

// mayHaveStartedLater reports whether the first line of container i may be of such a start
// where nothing that is listed after it was seen so far. In a log alone such a line is what
// shows that a start failed, or was cut off.
func (r *Reading) mayHaveStartedLater(s *State, i, n int) bool {
	for j := i + 1; r.logOnly && !s.startedOver && j < r.p.Inits+r.p.Regulars; j++ {
		if !r.seenOf(s, j).first.Known() {
			return false
		}
	}
	return r.mayStartLater(s, i) || r.kubeletRestarted(n)
}

// withFirstStart has instance run of container i started, the first of this round. It
// changes the state.
func withFirstStart(s State, i int, run int32) State {
	c := &s.c[i]
	c.run, c.progress = run, c.progress.withFirstStart()
	return s
}
