// The duties of hooks: one that writes to the log has written once it must have run. What its lines
// say is in hooks.go and terminate.go.
// Rules: hooks/poststart-runs, hooks/prestop-runs.

package model

import (
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// leavesLine reports whether an actor of container i leaves a line whenever it runs, so that
// one which is missing is missed: the Pod tells so, or nothing tells and it has left one.
func (m *model) leavesLine(i int, a trace.Actor) bool {
	spec := &m.p.Containers[i]
	return spec.Has(a) && m.ev.Writes(i, a) && spec.Writing(a) != podspec.WritesNothing
}

// hookMissing reports whether the newest instance of container i has a postStart hook that leaves
// lines, and none of that has come, though the instance is alive, or was shown so when the sync that
// started it had ended.
func (r *Reading) hookMissing(s *State, i, n int) bool {
	c := &s.c[i]
	if !r.leavesLine(i, trace.PostStart) || c.progress.isUnstarted() || c.ended.known() || c.kill == byHook || r.seenOf(s, i).hookFirst.Known() {
		return false
	}
	if o := r.ob(n); o.IsLog && o.Container == i && o.Log.Actor == trace.PostStart {
		return false // it comes now
	}
	return r.lives(s, i, n) || r.h[i].shown == record.Shown{Run: c.run, State: record.Running} && !r.ev.Containers[i].StartFailed && !r.mayEverStartOver()
}

// hookSkipped says why the postStart hook of container i should have run: it must have returned, the
// container is alive, so the hook has not failed, and it has written nothing.
func (r *Reading) hookSkipped(s *State, i, n int) *Denial {
	since := s.c[i].hookReturned
	if !since.known() || r.ev.HookLogged(i, s.c[i].run, trace.PostStart) || !r.hookMissing(s, i, n) || r.excused(rules.HookRan, i, n, 0) {
		return nil
	}
	return late(rules.HookRan, since, "the postStart hook of container %s must have ended by then, and it has written nothing", r.p.Containers[i].Name)
}

// hookOverdue says why the postStart hook of container i should have begun: a line shows the container
// alive long after its first one, and the hook, which logs its begin, has not.
func (r *Reading) hookOverdue(s *State, i, n int) *Denial {
	x := r.seenOf(s, i)
	if r.ev.LogComplete || !x.first.Known() || x.hookFirst.Known() || !r.ob(n).IsLog || r.stopBegun(x).Known() || !r.marks(i, trace.PostStart) || !r.hookMissing(s, i, n) || r.excused(rules.HookBegins, i, n, 0) {
		return nil
	}
	if wait := r.passed(x.first, n); wait > r.patient(patience) {
		return late(rules.HookBegins, Cause{x.first, rules.HookRuns}, "container %s has run for %s, and its postStart hook has not begun", r.p.Containers[i].Name, wait)
	}
	return nil
}

// marks reports whether a process of container i logs its begin.
func (m *model) marks(i int, a trace.Actor) bool {
	return m.ev.Marks(i, a) || m.p.Containers[i].Marks(a) && m.ev.Writes(i, a)
}

// preStopSkipped says why container i cannot get its TERM yet: its stop leaves it time, and its
// preStop hook, which leaves lines, has not run.
func (r *Reading) preStopSkipped(s *State, i, n int) *Denial {
	c, x := &s.c[i], r.seenOf(s, i)
	if r.ev.GraceNeverEnds || x.preStop.Known() || r.ev.HookLogged(i, c.run, trace.PreStop) || !r.leavesLine(i, trace.PreStop) || r.excused(rules.PreStopRan, i, n, 0) {
		return nil
	}
	since := Cause{x.first, rules.PreStopRuns}
	grace := r.leastGrace(s, i, n)
	switch c.kill {
	case byTermination:
		since.Obs = s.terminating.Obs
		for _, a := range r.ev.Ends {
			if !a.After(n) {
				since.Obs = min(since.Obs, a)
			}
		}
	case byProbe:
		since.Obs = x.failing
	case byHook:
		since.Obs = x.hookEnd
	default:
		return nil // a restart of all containers leaves it none, and a lost sandbox nothing to run it in
	}
	// A hook that logs its begin has the whole grace period for it, however late TERM comes.
	if !r.graceLeft(s, i, n) && !(grace > r.patient(patience) && r.marks(i, trace.PreStop)) {
		return nil
	}
	return late(rules.PreStopRan, since, "container %s gets TERM, and its preStop hook has not run", r.p.Containers[i].Name)
}

// leastGrace is the shortest period that the stop of container i by observation n can have; 0
// where it is not known.
func (r *Reading) leastGrace(s *State, i, n int) time.Duration {
	spec, g := &r.p.Containers[i], r.podGrace()
	if r.ev.EndTimeUnknown {
		return 0
	}
	for _, a := range r.ev.Ends {
		if !a.After(n) {
			g = min(g, r.grace(a))
		}
	}
	if s.c[i].kill == byProbe {
		g = min(g, time.Duration(min(orGrace(spec.Liveness, r.p.Grace), orGrace(spec.Startup, r.p.Grace)))*time.Second)
	}
	return g
}
