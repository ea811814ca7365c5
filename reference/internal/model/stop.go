package model

import (
	"time"

	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
)

// preStopSleeps reports whether the preStop hook of container i, which sleeps in the
// kubelet and so writes nothing, had surely not returned when line n was written:
// it takes its full time, or what there is of the grace period
// (pkg/kubelet/lifecycle/handlers.go, runSleepHandler).
func (r *Reading) preStopSleeps(s *State, i, n int) bool {
	spec := &r.p.Containers[i]
	d := spec.SleepStop
	if d == 0 || !r.k.Enabled(rules.GateSleepHooks) || r.ev.GraceNeverEnds || r.excused(rules.SleepingPreStop, i, n, 0) {
		return false
	}
	if s.c[i].kill == byProbe && (spec.Liveness.Network || spec.Startup.Network) {
		return false // the line of one that was given up comes late
	}
	for _, a := range r.ev.Ends {
		// The clock of the node may be behind that of the recorder, by which the
		// line had not arrived either.
		if act := r.obAt(a).Entry.At; s.c[i].kill == byTermination && !a.After(n) && !r.ob(n).Entry.At.Before(act.Add(min(r.grace(a), d))) {
			return false
		}
	}
	if s.c[i].kill == byTermination && r.sandboxLostForGood() {
		for _, a := range r.ev.SandboxStops {
			if !a.After(n) && !r.ob(n).Entry.At.Before(r.obAt(a).Entry.At.Add(min(time.Duration(r.p.Grace)*time.Second, d))) {
				return false
			}
		}
	}
	return r.stoppedWithin(s, i, n, d)
}

// sleepCause is what asleep counts from.
func (r *Reading) sleepCause(s *State, i, n int) Cause {
	x := r.seenOf(s, i)
	obs := x.hookEnd
	switch s.c[i].kill {
	case byProbe:
		obs = x.failing
	case byTermination:
		obs = s.terminating.Obs
		for _, a := range r.ev.Ends {
			if !a.After(n) {
				obs = min(obs, a)
			}
		}
	}
	return Cause{obs, rules.PreStopFirst}
}

// stop is the hidden step to the kill of container i. It returns one state for
// each reason that the kubelet may have had by observation n.
func (r *Reading) stop(s State, i, n int, why ...killReason) ([]State, *Denial) {
	if s.c[i].kill != notKilled {
		return []State{s.clone()}, nil
	}
	var next []State
	var first *Denial
	for _, w := range why {
		states, d := r.stopFor(s, i, n, w)
		next, first = append(next, states...), firstOf(first, d)
	}
	if len(next) > 0 {
		return next, nil
	}
	if first == nil {
		first = deny(rules.TermCause)
		first.Why = "nothing that was seen by then gives the kubelet a reason to stop container " + r.p.Containers[i].Name
	}
	return nil, first
}

func (r *Reading) stopFor(s State, i, n int, w killReason) ([]State, *Denial) {
	spec, x := &r.p.Containers[i], r.seenOf(&s, i)
	stopping := func(t State) State {
		t.c[i].kill, t.c[i].killCause = w, at(n, rules.TermCause)
		return t
	}
	switch w {
	case byTermination:
		states, d := r.terminate(s, i, n)
		var next []State
		for _, t := range states {
			next = append(next, stopping(t))
		}
		return next, d
	case byProbe:
		if !r.mayStopForDefinition(i, n) && !r.probeFailed(&s, i) {
			return nil, nil
		}
		if d := r.tooFewFailures(i, x, n); d != nil {
			return nil, d
		}
		states, d := r.syncOfHasEnded(s, i, n, rules.AfterSync)
		var next []State
		// An Event may come late, and tell of a kill before what lines have shown.
		told, since := !r.ob(n).IsLog, record.PlaceOf(n)
		if told {
			since = x.failing
		}
		for _, t := range states {
			r.otherHooksHaveReturned(&t, i, n, rules.KillAfterSync, since)
			if r.k.Holds(rules.KillsSerial) && !told {
				for j := range t.c {
					if c := &t.c[j]; j != i && c.kill == byProbe && !c.ended.known() && !r.excused(rules.KillAwaited, j, n, c.killCause.Obs) {
						c.ended = at(n, rules.KillsSerial)
					}
				}
			}
			next = append(next, stopping(t))
		}
		return next, d
	case byHook:
		// A hook that died, or that nobody answered, has left no end, and its
		// Event may be lost. What it writes behind this is refused.
		died := x.hookEnd == 0 && !s.c[i].hookReturned.known()
		if !spec.PostStart || !r.ev.Containers[i].HookFailed && !died || x.hookEnd != 0 && x.hookCode == 0 && (r.ob(n).IsLog || !r.hookMayHaveDied(&s, i, n)) {
			return nil, nil
		}
		t := s.clone()
		r.hookHasReturned(&t, i, n, rules.TermCause)
		t.c[i].ended = s.c[i].ended // it is being stopped, and has not ended yet
		return []State{stopping(t)}, nil
	case bySandbox, byRestartAll:
		if w == bySandbox && !r.sandboxMayBeReplaced(&s) || w == byRestartAll && !r.mayRestartAll(&s) {
			return nil, nil
		}
		t := s.clone()
		r.otherHooksHaveReturned(&t, -1, n, rules.KillAfterSync, record.PlaceOf(n))
		return []State{stopping(t)}, nil
	}
	return nil, nil
}
