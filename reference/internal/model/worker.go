package model

import (
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
)

// workerIsFree forces the worker to be free for a start of container i: no postStart
// hook of another container runs, and none is being stopped by a sync. The
// second state, where there is one, has the start come before some of that, unseen
// until now, as far as the lines of container i do not show that it was there
// meanwhile; a hook of container i was over by then, for the cause returned with
// it. The state is the caller's own.
func (r *Reading) workerIsFree(s State, i, n int) (after State, before *State, by Cause) {
	early := s.clone()
	last := r.h[i].newest().last
	for j := range s.c {
		c, x := &s.c[j], r.seenOf(&s, j)
		if r.isStopping(&s, i, j, n) {
			since := c.killCause.Obs
			if c.kill == byHook && x.first != 0 {
				since = x.first // that is a part of its start
			}
			if last < since {
				by = Cause{max(by.Obs, c.killCause.Obs), rules.HooksSerial}
			} else {
				early.c[j].killHasEnded(n, rules.BlocksNext)
			}
		}
		since := r.hookShownAt(j, x)
		if j == i || since == 0 || c.progress.isUnstarted() || c.hookReturned.known() || c.ended.known() {
			continue
		}
		if last < x.first && !r.wouldHaveWaitedFor(&s, i, j) {
			by = Cause{max(by.Obs, since), rules.HooksSerial}
		} else {
			r.hookHasReturned(&early, j, n, rules.BlocksNext)
		}
		r.hookHasReturned(&s, j, n, rules.BlocksNext)
	}
	r.otherKillsHaveEnded(&s, i, n, rules.BlocksNext)
	if by.known() {
		before = &early
	}
	return s, before, by
}

// otherKillsHaveEnded forces, where no kubelet was restarted meanwhile, that the containers other than i that a sync was stopping have
// stopped: a sync stops first and starts then, and waits for both.
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

// doOwedRestarts starts what the sync behind the first one has to start again, once
// that has surely ended, as regular container i shows.
func (r *Reading) doOwedRestarts(s *State, i, n int, rule string) {
	for j := range r.p.Containers {
		if r.restartIsOwed(s, j, i) {
			r.restartFirstTime(s, j, n, rule)
		}
	}
}

// restartIsOwed reports whether container j is one of these.
func (r *Reading) restartIsOwed(s *State, j, i int) bool {
	c := &s.c[j]
	starts := !c.hookReturned.known() || c.kill == byHook && !c.ended.known()
	due := c.progress == restartedAtOnce && c.run == 1 && starts || r.deadAfterFirstSync(s, j)
	return due && j != i && r.p.IsRegular(i) && r.restartsInTurn(j) && r.restartsInTurn(i)
}

// anyRestartIsOwed reports whether there is any.
func (r *Reading) anyRestartIsOwed(s *State, i int) bool {
	for j := range r.p.Containers {
		if s.c[i].run > 0 && r.restartIsOwed(s, j, i) {
			return true
		}
	}
	return false
}

// startSyncHasReached takes the start sync to where it starts container i: the Pod is
// initialized, and every regular container listed before it has been started
// and its postStart hook has returned, unless its start failed.
func (r *Reading) startSyncHasReached(s State, i, n int) ([]State, *Denial) {
	return r.earlierRegularsHaveStarted(s, i, n, r.ruleOfNextStart)
}

// earlierRegularsHaveStarted takes the start sync past the regular containers before container i;
// see reach. In one branch for each whose start may have failed, it is left to
// a later sync. The state is the caller's own.
func (r *Reading) earlierRegularsHaveStarted(s State, i, n int, rule func(int) string) ([]State, *Denial) {
	states, d := r.initialize(s, r.p.Inits, n)
	if d != nil {
		return nil, d
	}
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

// ruleOfNextStart is the rule by which a later start shows that container j is done
// with its own.
func (r *Reading) ruleOfNextStart(j int) string {
	if r.p.Containers[j].PostStart {
		return rules.BlocksNext
	}
	return rules.ListedOrder
}

// startSyncHasEnded takes the start sync to its end: every regular container has been
// started and every hook has returned, by the given rule; see pass.
func (r *Reading) startSyncHasEnded(s State, n int, rule string) ([]State, *Denial) {
	if s.startSyncEnded.known() {
		return []State{s.clone()}, nil
	}
	states, d := r.earlierRegularsHaveStarted(s.clone(), r.p.Inits+r.p.Regulars, n, func(int) string { return rule })
	for a := range states {
		states[a].startSyncEnded = at(n, rule)
	}
	if d == nil && r.kubeletRestarted(n) {
		// Or the kubelet was stopped in the middle of it, and another sync
		// starts what was left.
		if more, _ := r.initialize(s.clone(), r.p.Inits, n); more != nil {
			t := more[0]
			for j := r.p.Inits; j < r.p.Inits+r.p.Regulars; j++ {
				if c := &t.c[j]; r.mayOnlyBeCreated(c, j) {
					c.progress = c.progress.byLaterSync()
					continue
				}
				if c := &t.c[j]; c.progress == unstarted {
					c.progress = postponed
				}
				r.hookHasReturned(&t, j, n, rule)
			}
			t.startSyncEnded = at(n, rule)
			states = append(states, t)
		}
	}
	return states, d
}

// mayOnlyBeCreated reports whether nothing but an Event shows the newest instance of container j, which its
// kubelet may have created and not come to start.
func (r *Reading) mayOnlyBeCreated(c *instance, j int) bool {
	return c.progress.isStarted() && r.h[j].at(c.run).first == 0 && r.h[j].stage == created && r.h[j].shownRun < c.run
}

// syncOfHasEnded forces the end of the sync that started the newest instance of
// container i.
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

// otherHooksHaveReturned forces that no postStart hook of a container other than i is running that
// had begun before an observation (index + 1).
func (r *Reading) otherHooksHaveReturned(s *State, i, n int, rule string, since record.Place) {
	for j := range s.c {
		if first := r.hookShownAt(j, r.seenOf(s, j)); j != i && first != 0 && first < since {
			r.hookHasReturned(s, j, n, rule)
		}
	}
}
