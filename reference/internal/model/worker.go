// The worker of the Pod (podWorkerLoop) makes one sync after another and does
// one thing at a time. Other chapters force the end of a sync with these functions, each by a
// rule of its own.
// Rules: hooks/poststart-blocks-next, hooks/one-at-a-time, start/listed-order.

package model

import (
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
)

// workerIsFree forces that the worker was free to start container i: no postStart hook of
// another container ran, and no sync was stopping one.
//
// In the first state, late, the start came after every hook and every stop that has been
// seen. The second one, early, is nil where that is the only way. Otherwise the start came
// before some of them, and left no line so far; the hook of container i, if it has one, was
// over before them, and hookOver is what shows so. The state is the caller's own.
func (r *Reading) workerIsFree(s State, i, n int) (late State, early *State, hookOver Cause) {
	early, hookOver = r.workerWasFreeBefore(&s, i, n)
	for j := range s.c {
		if r.hookInProgress(&s, i, j) {
			r.hookHasReturned(&s, j, n, rules.BlocksNext)
		}
	}
	r.otherKillsHaveEnded(&s, i, n, rules.BlocksNext)
	return s, early, hookOver
}

// workerWasFreeBefore is the state early of workerIsFree: a stop or a hook that began after
// the last line of container i may have come after its start. Nil if there is none.
func (r *Reading) workerWasFreeBefore(s *State, i, n int) (early *State, hookOver Cause) {
	t := s.clone()
	last := r.h[i].newest().last
	comesLater := func(shown record.Place) { hookOver = Cause{max(hookOver.Obs, shown), rules.HooksSerial} }
	for j := range s.c {
		c, x := &s.c[j], r.seenOf(s, j)
		if r.isStopping(s, i, j, n) {
			since := c.killCause.Obs
			if c.kill == byHook && x.first != 0 {
				since = x.first // the stop is a part of its start
			}
			if last < since {
				comesLater(c.killCause.Obs)
			} else {
				t.c[j].killHasEnded(n, rules.BlocksNext)
			}
		}
		if !r.hookInProgress(s, i, j) {
			continue
		}
		if last < x.first && !r.wouldHaveWaitedFor(s, i, j) {
			comesLater(r.hookShownAt(j, x))
		} else {
			r.hookHasReturned(&t, j, n, rules.BlocksNext)
		}
	}
	if !hookOver.known() {
		return nil, hookOver
	}
	return &t, hookOver
}

// hookInProgress reports whether a line shows the postStart hook of container j, another one
// than i, and nothing has forced yet that it has returned.
func (r *Reading) hookInProgress(s *State, i, j int) bool {
	c := &s.c[j]
	return j != i && r.hookShownAt(j, r.seenOf(s, j)) != 0 && !c.progress.isUnstarted() && !c.hookReturned.known() && !c.ended.known()
}

// otherKillsHaveEnded forces that the containers, other than i, which a sync was stopping
// have stopped. A sync stops first and starts then, and waits for both. Where the kubelet
// was restarted meanwhile, nothing is forced.
func (r *Reading) otherKillsHaveEnded(s *State, i, n int, rule string) {
	for j := range s.c {
		if r.isStopping(s, i, j, n) {
			s.c[j].killHasEnded(n, rule)
		}
	}
}

// isStopping reports whether a sync is stopping container j, another one than i.
func (r *Reading) isStopping(s *State, i, j, n int) bool {
	c := &s.c[j]
	return j != i && (c.kill == byProbe || c.kill == byHook) && !c.ended.known() && !r.excused(rules.KillAwaited, j, n, c.killCause.Obs)
}

// killHasEnded forces that the sync which was stopping the instance has stopped it.
func (c *instance) killHasEnded(n int, rule string) {
	c.ended, c.deadAtSyncEnd = at(n, rule), c.kill == byHook
}

// startSyncHasReached takes the start sync to the start of regular container i: the init
// containers and sidecars let it start, every regular container listed before it was
// started, unless its start failed, and their postStart hooks have returned. The state is
// the caller's own.
func (r *Reading) startSyncHasReached(s State, i, n int) ([]State, *Denial) {
	return r.earlierRegularsHaveStarted(s, i, n, r.ruleOfNextStart)
}

// earlierRegularsHaveStarted takes the start sync past the regular containers before
// container i, each by the given rule. Where a start may have failed there is one more
// state, in which a later sync makes it. The state is the caller's own.
func (r *Reading) earlierRegularsHaveStarted(s State, i, n int, rule func(int) string) ([]State, *Denial) {
	s, d := r.initialize(s, r.p.Inits, n)
	if d != nil {
		return nil, d
	}
	states := []State{s}
	for j := r.p.Inits; j < i; j++ {
		if c := &states[0].c[j]; c.progress.isByLaterSync() || c.progress.isStarted() && !c.progress.isFirst() {
			continue
		}
		for a := range states {
			c := &states[a].c[j]
			if c.progress.isUnstarted() && r.mayStartLater(&states[a], j) {
				t := states[a].clone()
				t.c[j].progress = postponed
				states = append(states, t)
			}
			if c.progress.isUnstarted() {
				states[a] = withFirstStart(states[a], j, c.run+1)
			}
			r.hookHasReturned(&states[a], j, n, rule(j))
		}
	}
	return states, nil
}

// ruleOfNextStart is the rule by which the start of a later container shows that the start
// of container j is over.
func (r *Reading) ruleOfNextStart(j int) string {
	if r.p.Containers[j].PostStart {
		return rules.BlocksNext
	}
	return rules.ListedOrder
}

// startSyncHasEnded takes the start sync to its end, by the given rule: every regular
// container was started, or its start failed, and every postStart hook has returned.
func (r *Reading) startSyncHasEnded(s State, n int, rule string) ([]State, *Denial) {
	if s.startSyncEnded.known() {
		return []State{s.clone()}, nil
	}
	states, d := r.earlierRegularsHaveStarted(s.clone(), r.p.Inits+r.p.Regulars, n, func(int) string { return rule })
	for a := range states {
		states[a].startSyncEnded = at(n, rule)
	}
	if d == nil && r.kubeletRestarted(n) {
		if t, d := r.startSyncWasCutOff(s.clone(), n, rule); d == nil {
			states = append(states, t)
		}
	}
	return states, d
}

// startSyncWasCutOff ends the start sync where the kubelet was stopped in the middle of it:
// another sync starts what was not started yet. The state is the caller's own.
func (r *Reading) startSyncWasCutOff(s State, n int, rule string) (State, *Denial) {
	s, d := r.initialize(s, r.p.Inits, n)
	if d != nil {
		return s, d
	}
	for j := r.p.Inits; j < r.p.Inits+r.p.Regulars; j++ {
		c := &s.c[j]
		if r.mayOnlyBeCreated(c, j) {
			c.progress = c.progress.byLaterSync()
			continue
		}
		if c.progress == unstarted {
			c.progress = postponed
		}
		r.hookHasReturned(&s, j, n, rule)
	}
	s.startSyncEnded = at(n, rule)
	return s, nil
}

// mayOnlyBeCreated reports whether nothing but its Created Event shows the newest instance of
// container j. Its kubelet may have been stopped before it started what it had created.
func (r *Reading) mayOnlyBeCreated(c *instance, j int) bool {
	return c.progress.isStarted() && r.h[j].at(c.run).first == 0 && r.h[j].stage == created && r.h[j].shownRun < c.run
}

// syncOfHasEnded forces that the sync which started the newest instance of container i has
// ended.
func (r *Reading) syncOfHasEnded(s State, i, n int, rule string) ([]State, *Denial) {
	if c := &s.c[i]; r.p.IsRegular(i) && !c.progress.isByLaterSync() && (c.progress.isUnstarted() || c.progress.isFirst()) {
		return r.startSyncHasEnded(s, n, rule)
	}
	t := s.clone()
	r.hookHasReturned(&t, i, n, rule)
	if c := &t.c[i]; c.run > 0 {
		r.doOwedRestarts(&t, i, n, rule)
	}
	return []State{t}, nil
}

// otherHooksHaveReturned forces that the postStart hooks of containers other than i have
// returned, if a line before the given observation shows them.
func (r *Reading) otherHooksHaveReturned(s *State, i, n int, rule string, before record.Place) {
	for j := range s.c {
		if first := r.hookShownAt(j, r.seenOf(s, j)); j != i && first != 0 && first < before {
			r.hookHasReturned(s, j, n, rule)
		}
	}
}

// doOwedRestarts starts again what the sync right after the start sync has to: regular
// container i shows that this sync has ended.
func (r *Reading) doOwedRestarts(s *State, i, n int, rule string) {
	for j := range r.p.Containers {
		if r.restartIsOwed(s, j, i) {
			r.restartFirstTime(s, j, n, rule)
		}
	}
}

// restartIsOwed reports whether the sync right after the start sync has to start container j
// again, or was to and nothing has forced yet that the start is over.
func (r *Reading) restartIsOwed(s *State, j, i int) bool {
	c := &s.c[j]
	starts := !c.hookReturned.known() || c.kill == byHook && !c.ended.known()
	owed := c.progress == restartedAtOnce && c.run == 1 && starts || r.deadAfterFirstSync(s, j)
	return owed && j != i && r.p.IsRegular(i) && r.restartsInTurn(j) && r.restartsInTurn(i)
}

// anyRestartIsOwed reports whether there is such a container, where container i was started
// again itself.
func (r *Reading) anyRestartIsOwed(s *State, i int) bool {
	for j := range r.p.Containers {
		if s.c[i].run > 0 && r.restartIsOwed(s, j, i) {
			return true
		}
	}
	return false
}
