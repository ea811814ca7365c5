package model

import (
	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// start is the hidden step to instance run of container i, forced by
// observation n. It returns every way to get there.
func (r *Reading) start(s State, i int, run int32, n int) ([]State, *Denial) {
	s = r.undone(s, n)
	c := &s.c[i]
	if s.ending.known() && (c.kill == byEnding || c.fresh && c.gone.known() || r.seenOf(&s, i).last >= s.ending.Obs) {
		// Otherwise it was started before, and its first line came late.
		return nil, deny(rules.NoStart, s.ending)
	}
	if s.ending.known() && c.fresh && i < r.p.Inits {
		// The one before it had to end before the Pod did.
		for j := range i {
			if x := r.seenOf(&s, j); r.p.Containers[j].Role == podspec.InitContainer && (!s.c[j].done.known() || s.c[j].done.Obs > s.ending.Obs) && (x.mainEnd == 0 || x.mainEnd > s.ending.Obs) {
				return nil, deny(rules.NoStart, s.ending)
			}
		}
	}
	var next []State
	var d *Denial
	switch lost := r.leftSandbox(&s); {
	case lost.known() && (c.kill == bySandbox || r.seenOf(&s, i).last >= lost.Obs):
		d = deny(rules.NoStart, lost)
	case c.fresh:
		next, d = r.unseenFirst(s.clone(), i, run, n)
	default:
		next, d = r.restart(s, i, run, n)
	}
	if r.mayBeginAnew(&s) {
		more, other := r.unseenFirst(r.beginAnew(s, n), i, run, n)
		next = append(next, more...)
		if d == nil {
			d = other
		}
	}
	if len(next) == 0 {
		return nil, d
	}
	if s.ending.known() {
		for a := range next {
			r.settle(&next[a], i, n, rules.TermAfterSync)
			r.hadStopped(&next[a], i)
		}
	}
	return next, nil
}

// hadStopped: a container that shows only after a sidecar before it got TERM
// with grace left had stopped by then.
func (r *Reading) hadStopped(s *State, i int) {
	rule := rules.SidecarsReverse
	if i >= r.p.Inits {
		rule = rules.SidecarsLast
	}
	for j := range min(i, r.p.Inits) {
		x := r.seenOf(s, j)
		if c := &s.c[i]; r.p.Containers[j].Role == podspec.Sidecar && r.waitsFor(s, j, i) && s.c[j].kill == byEnding && x.term != 0 && !c.gone.known() && r.graceLeft(s, j, int(x.term)-1) {
			c.gone = Cause{x.term, rule}
		}
	}
}

// unseenFirst starts instance run of container i in a round in which none was
// started before. If it is not the next one, that was started, and the one that
// was seen is a restart of it. The state is the caller's own.
func (r *Reading) unseenFirst(s State, i int, run int32, n int) ([]State, *Denial) {
	// The runs that the kubelet counts go on where a new round begins; a log
	// that begins in the middle of a round may have any.
	first, again := s.c[i].run+1, s.clone()
	states, d := r.firstStart(s, i, min(first, run), n)
	if run <= first {
		return states, d
	}
	var next []State
	for _, t := range states {
		more, other := r.restart(t, i, run, n)
		next, d = append(next, more...), firstOf(d, other)
	}
	if s.anew {
		// Or those before it were of the round before, and left no line.
		more, other := r.firstStart(again, i, run, n)
		next, d = append(next, more...), firstOf(d, other)
	}
	return next, d
}

// firstStart starts container i for the first time in this round. The state is
// the caller's own.
func (r *Reading) firstStart(s State, i int, run int32, n int) ([]State, *Denial) {
	if c := &s.c[i]; c.gone.known() {
		return nil, deny(c.gone.Rule, c.gone)
	}
	var next []State
	switch {
	case r.p.Containers[i].Role == podspec.Ephemeral:
		after, _, _ := r.free(s, i, n)
		return []State{begun(after, i, run)}, nil
	case i < r.p.Inits:
		states, d := r.initialize(s, i, n)
		for _, t := range states {
			next = append(next, begun(t, i, run))
		}
		return next, d
	}
	if !s.c[i].late && !s.synced.known() {
		states, d := r.reach(s.clone(), i, n)
		if d != nil {
			return nil, d
		}
		held := r.startedBehind(&s, n)
		for _, t := range states {
			if t = begun(t, i, run); !held {
				next = append(next, t)
				continue
			}
			after, other := r.endSync(t, n, rules.SidecarStarted)
			next, d = append(next, after...), firstOf(d, other)
		}
		if len(next) == 0 {
			return nil, d
		}
	}
	if s.c[i].late || r.mayBeLate(&s, i) || r.kubeletRestarted(n) {
		// The first start failed, was cut off, or had to wait; a later sync,
		// which begins when the first one has ended, starts it.
		t := s.clone()
		t.c[i].late = true
		states, d := r.endSync(t, n, rules.RestartSerial)
		if d != nil && len(next) == 0 {
			return nil, d
		}
		for _, t := range states {
			next = append(next, begun(t, i, run))
		}
	}
	if len(next) == 0 {
		return nil, deny(rules.ListedOrder, s.synced)
	}
	return next, nil
}

// startedBehind reports whether a sidecar that has been started again, and not come
// to its start by observation n, lets a regular container show only now: that was
// started behind the instance before, so its sync had ended when the sidecar was
// started again. A sidecar behind which others had come to their start is started
// again by the sync that starts the regular containers, which waits for its hook
// alone.
func (r *Reading) startedBehind(s *State, n int) bool {
	for j := range r.p.Inits {
		c := &s.c[j]
		if r.p.Containers[j].Role != podspec.Sidecar || c.fresh || c.done.known() || !r.neverKilled(j) {
			continue
		}
		x := r.seenOf(s, j)
		waits := j == r.p.Inits-1 || r.p.Containers[j].PostStart && x.hookEnd == 0 && r.ev.Marks(j, trace.PostStart)
		if now, d := r.sidecarStarted(c, x, j, n); waits && !now && d == nil {
			return true
		}
	}
	return false
}

// mayBeLate reports whether another sync than the first one of this round may
// start container i: its start failed, or its back-off goes on in a new sandbox.
func (r *Reading) mayBeLate(s *State, i int) bool {
	return r.ev.Containers[i].StartFailed || s.anew && r.ev.NewSandbox && r.ev.Containers[i].Runs >= 2
}

// begun has instance run of container i started, the first of this round.
func begun(s State, i int, run int32) State {
	c := &s.c[i]
	c.run, c.fresh, c.first = run, false, true
	return s
}

// initialize takes the Pod to where what is listed behind its first k init
// containers and sidecars may start: each of these has exited with 0, or has
// been started. The state is the caller's own.
func (r *Reading) initialize(s State, k, n int) ([]State, *Denial) {
	k = min(k, r.p.Inits)
	for j := range k {
		c, x, spec := &s.c[j], r.seenOf(&s, j), &r.p.Containers[j]
		if c.done.known() {
			continue
		}
		fresh := c.fresh
		if fresh {
			// It has run without a line so far, and, if it is no sidecar, ended.
			if c.gone.known() {
				return nil, deny(c.gone.Rule, c.gone)
			}
			s, x = begun(s, j, c.run+1), &unseen
			c = &s.c[j]
		}
		if spec.Role == podspec.Sidecar {
			now, d := r.sidecarStarted(c, x, j, n)
			if d != nil {
				return nil, d
			}
			c.done = at(n, rules.SidecarStarted)
			if now {
				r.settle(&s, j, n, rules.SidecarStarted)
			}
			continue
		}
		rule := rules.InitSerial
		if k == r.p.Inits {
			rule = rules.InitFirst
		}
		switch {
		case r.ev.LogGap:
		case x.mainEnd != 0 && x.mainCode != 0:
			return nil, deny(rules.InitFailure, Cause{x.mainEnd, rules.InitFailure})
		case x.mainEnd == 0 && x.mainBegin != 0:
			return nil, because(deny(rule, Cause{x.mainBegin, rule}), "init container %s has begun and not ended", spec.Name)
		case x.mainEnd == 0 && r.ev.Marks(j, trace.Main):
			return nil, because(deny(rule), "init container %s writes the end of its main process, and has not done so", spec.Name)
		case x.mainEnd != 0:
			rule = rules.InitOnce
		}
		if run := r.succeeded(j, c.run); run > c.run {
			c.run, c.first = run, false
		}
		c.done, c.gone = at(n, rule), at(n, rule)
		if x.mainEnd != 0 {
			c.gone = Cause{x.mainEnd, rules.InitOnce}
		}
	}
	return []State{s}, nil
}

// succeeded returns which instance of init container j, from one on, has exited with 0:
// where it writes nothing, only the status tells whether that one failed, and may do so
// later than what is listed behind it shows.
func (r *Reading) succeeded(j int, run int32) int32 {
	if r.ev.Writes(j, trace.Main) {
		return run
	}
	for other := run; other <= r.ev.Containers[j].Runs; other++ {
		for _, end := range r.ev.Containers[j].Exits[other] {
			if end.ExitCode == 0 {
				return other
			}
		}
	}
	return run
}

// sidecarStarted reports why sidecar j cannot have been started by now: its
// hook failed or still runs, or its startup probe has not succeeded. It tells
// whether the newest instance has been started; an earlier one of this round
// may have been, whatever has become of it.
func (r *Reading) sidecarStarted(c *instance, x *seen, j, n int) (now bool, why *Denial) {
	spec := &r.p.Containers[j]
	if r.ev.LogGap {
		return true, nil
	}
	if d := r.onlyOneFailed(j); d != nil {
		return false, d
	}
	var first *Denial
	newest, earlier := false, false // one whose hook may have been cut off
	for k, x := range append([]seen{*x}, r.h[j].runs...) {
		if k > 0 && (x.run > c.run || x.run <= c.before) {
			continue // of later, or of another round
		}
		cut := false
		switch {
		case x.hookEnd != 0 && x.hookCode != 0:
			if cut = r.cutOff(x.hookEnd, n); !cut {
				first = firstOf(first, deny(rules.SidecarHook, Cause{x.hookEnd, rules.SidecarHook}))
				continue
			}
		case spec.PostStart && x.hookEnd == 0 && (x.hookBegin != 0 || r.ev.Marks(j, trace.PostStart)):
			if cut = r.cutOff(x.hookBegin, n); !cut {
				first = firstOf(first, because(deny(rules.SidecarStarted, Cause{x.hookBegin, rules.SidecarStarted}), "the postStart hook of sidecar %s has not ended", spec.Name))
				continue
			}
		}
		switch {
		case spec.Startup.Declared && r.ev.Writes(j, trace.StartupProbe) && x.started == 0:
			first = firstOf(first, because(deny(rules.SidecarStarted, Cause{x.last, rules.SidecarStarted}), "no startup probe of sidecar %s has succeeded by then", spec.Name))
		case !cut:
			return k == 0, nil
		case k == 0 || x.run == c.run:
			newest = true
		default:
			earlier = true
		}
	}
	if newest || earlier {
		return !earlier, nil
	}
	return false, first
}

// onlyOneFailed says why sidecar j was never started: there was one instance of it, whose
// postStart hook failed, as an Event says, whether or not that hook writes to the log.
func (r *Reading) onlyOneFailed(j int) *Denial {
	ev := &r.ev.Containers[j]
	if ev.HookEvent == 0 || ev.Only == 0 || ev.StartFailed || r.ev.EventGap || r.roundsInTrace() || len(r.ev.Restarts) > 0 {
		return nil
	}
	return because(deny(rules.SidecarHook, Cause{ev.HookEvent, rules.SidecarHook}, Cause{ev.Only, rules.SidecarHook}), "the postStart hook of sidecar %s failed, and it was not started again", r.p.Containers[j].Name)
}

// settle forces that the postStart hook of the newest instance of container j
// has returned. One that logged its begin and no end died instead: with its
// container, or with the kubelet, or the container is stopped because of it.
func (r *Reading) settle(s *State, j, n int, rule string) {
	c := &s.c[j]
	if c.kill == byHook && !c.gone.known() && !r.cutOff(c.killed.Obs, n) {
		c.gone, c.dead = at(n, rule), true // the kill is part of the start, and waited for
	}
	if c.returned.known() || c.fresh {
		return
	}
	x := r.seenOf(s, j)
	c.returned = at(n, rule)
	failed := x.hookEnd != 0 && x.hookCode != 0 && !r.cutOff(x.hookEnd, n)
	if !r.p.Containers[j].PostStart || x.hookEnd != 0 && !failed || r.ev.LogGap || r.cutOff(x.hookBegin, n) {
		return
	}
	if failed || x.hookBegin != 0 || r.ev.Marks(j, trace.PostStart) {
		c.dead = true
		if !c.gone.known() {
			c.gone = at(n, rule)
		}
	}
}

// reach takes the start sync to where it starts container i: the Pod is
// initialized, and every regular container listed before it has been started
// and its postStart hook has returned, unless its start failed.
func (r *Reading) reach(s State, i, n int) ([]State, *Denial) {
	return r.pass(s, i, n, r.passRule)
}

// pass takes the start sync past the regular containers before container i;
// see reach. In one branch for each whose start may have failed, it is left to
// a later sync. The state is the caller's own.
func (r *Reading) pass(s State, i, n int, rule func(int) string) ([]State, *Denial) {
	states, d := r.initialize(s, r.p.Inits, n)
	if d != nil {
		return nil, d
	}
	for j := r.p.Inits; j < i; j++ {
		if c := &states[0].c[j]; c.late || !c.fresh && !c.first {
			continue
		}
		for a := range states {
			c := &states[a].c[j]
			if c.fresh && r.mayBeLate(&states[a], j) {
				t := states[a].clone()
				t.c[j].late = true
				states = append(states, t)
			}
			if c.fresh {
				states[a] = begun(states[a], j, c.run+1)
			}
			r.settle(&states[a], j, n, rule(j))
		}
	}
	return states, nil
}

// passRule is the rule by which a later start shows that container j is done
// with its own.
func (r *Reading) passRule(j int) string {
	if r.p.Containers[j].PostStart {
		return rules.BlocksNext
	}
	return rules.ListedOrder
}

// endSync takes the start sync to its end: every regular container has been
// started and every hook has returned, by the given rule; see pass.
func (r *Reading) endSync(s State, n int, rule string) ([]State, *Denial) {
	if s.synced.known() {
		return []State{s.clone()}, nil
	}
	states, d := r.pass(s.clone(), r.p.Inits+r.p.Regulars, n, func(int) string { return rule })
	for a := range states {
		states[a].synced = at(n, rule)
	}
	if d == nil && r.kubeletRestarted(n) {
		// Or the kubelet was stopped in the middle of it, and another sync
		// starts what was left.
		if more, _ := r.initialize(s.clone(), r.p.Inits, n); more != nil {
			t := more[0]
			for j := r.p.Inits; j < r.p.Inits+r.p.Regulars; j++ {
				if c := &t.c[j]; r.onlyCreated(c, j) {
					c.late = true
					continue
				}
				t.c[j].late = t.c[j].late || t.c[j].fresh
				r.settle(&t, j, n, rule)
			}
			t.synced = at(n, rule)
			states = append(states, t)
		}
	}
	return states, d
}

// onlyCreated reports whether nothing but an Event shows the newest instance of container j, which its
// kubelet may have created and not come to start.
func (r *Reading) onlyCreated(c *instance, j int) bool {
	return !c.fresh && r.h[j].at(c.run).first == 0 && r.h[j].stage == created && r.h[j].shownRun < c.run
}

// instanceDone forces the end of the sync that started the newest instance of
// container i.
func (r *Reading) instanceDone(s State, i, n int, rule string) ([]State, *Denial) {
	if c := &s.c[i]; r.p.IsRegular(i) && !c.late && (c.fresh || c.first) {
		return r.endSync(s, n, rule)
	}
	t := s.clone()
	r.settle(&t, i, n, rule)
	if c := &t.c[i]; c.run > 0 {
		r.startLeft(&t, i, n, rule)
	}
	return []State{t}, nil
}

// quiet forces that no postStart hook of a container other than i is running that
// had begun before an observation (index + 1).
func (r *Reading) quiet(s *State, i, n int, rule string, since int32) {
	for j := range s.c {
		if first := r.hookSince(j, r.seenOf(s, j)); j != i && first != 0 && first < since {
			r.settle(s, j, n, rule)
		}
	}
}

// hookSince is the first line of an instance of container j that shows its postStart
// hook to run, or to be over. One that has written nothing runs all the same, from
// the start of its container on until it has returned.
func (r *Reading) hookSince(j int, x *seen) int32 {
	if x.hookFirst == 0 && r.p.Containers[j].PostStart && r.ev.Writes(j, trace.PostStart) {
		return x.first
	}
	return x.hookFirst
}
