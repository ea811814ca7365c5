// The postStart hook, which the kubelet runs and waits for when it has started
// a container (startContainer).
// Rules: hooks/poststart-once, hooks/one-at-a-time, hooks/poststart-blocks-next,
// hooks/poststart-races-main; of a hook that sleeps in the kubelet, probes/after-sync,
// terminate/after-sync and status/between-syncs as well.

package model

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// sleepUntil is the earliest time at which the postStart hook of container i can have returned
// if it is one that sleeps in the kubelet; zero if it is not. The instance was started at
// the given time, which a status shows in whole seconds, by the clock of the node.
func (r *Reading) sleepUntil(i, n int, started time.Time) time.Time {
	d := r.p.Containers[i].SleepStart
	if d == 0 || started.IsZero() || !r.k.Enabled(rules.GateSleepHooks) || r.excused(rules.SleepingHook, i, n, 0) {
		return time.Time{}
	}
	return started.Add(d)
}

// startsWhileHookSleeps says why line n, the first of instance run of container i, comes too
// early: a container listed before it was started first, and its postStart hook still
// sleeps.
func (r *Reading) startsWhileHookSleeps(i int, run int32, n int) *Denial {
	if run != 0 || r.h[i].at(0).first != 0 {
		return nil
	}
	for j := range min(i, r.p.Inits+r.p.Regulars) {
		h := &r.h[j]
		if h.startedRun != 0 || r.excused(rules.SleepingHookBlocks, j, n, 0) {
			continue
		}
		if until := r.sleepUntil(j, n, h.startedAt); r.written(n).Add(r.slack(n)).Before(until) {
			return r.hookSleeps(j, rules.BlocksNext, h.startedObs)
		}
	}
	return nil
}

// actsWhileHookSleeps says what came too early, now that an update shows when instance run of
// container i was started. Its postStart hook sleeps in the kubelet. Until that is over, no
// container listed after it is started, it is not stopped, and nothing of the instance is
// shown or probed.
func (r *Reading) actsWhileHookSleeps(i int, run int32, started time.Time, n int) *Denial {
	until := r.sleepUntil(i, n, started)
	if until.IsZero() {
		return nil
	}
	early := func(line record.Place) bool {
		return line != 0 && r.writtenAt(line).Add(r.slackAt(line)).Before(until)
	}
	for j := i + 1; run == 0 && j < r.p.Inits+r.p.Regulars && !r.excused(rules.SleepingHookBlocks, i, n, 0); j++ {
		if x := r.h[j].at(0); early(x.first) {
			return r.hookSleeps(i, rules.BlocksNext, x.first)
		}
	}
	x := r.h[i].at(run)
	switch {
	case early(x.term):
		return r.hookSleeps(i, rules.TermAfterSync, x.term)
	case early(x.preStop):
		return r.hookSleeps(i, rules.TermAfterSync, x.preStop)
	case run == 0 && early(x.probed):
		return r.hookSleeps(i, rules.AfterSync, x.probed)
	}
	// The update arrived by the clock of the recorder, so a second is left for its difference.
	if r.ob(n).Entry.At.Add(time.Second).Before(until) {
		return r.hookSleeps(i, rules.BetweenSyncs, 0)
	}
	return nil
}

// hookSleeps is the denial of what came while the postStart hook of container i slept.
func (r *Reading) hookSleeps(i int, rule string, obs record.Place) *Denial {
	return because(deny(rule, Cause{obs, rule}), "the postStart hook of container %s sleeps for %s after its start", r.p.Containers[i].Name, r.p.Containers[i].SleepStart)
}

// startTimeOf is when the instance that a status shows was started, in whole seconds; zero if
// the status does not tell.
func startTimeOf(cs *corev1.ContainerStatus) time.Time {
	switch {
	case cs.State.Running != nil:
		return cs.State.Running.StartedAt.Time
	case cs.State.Terminated != nil:
		return cs.State.Terminated.StartedAt.Time
	}
	return time.Time{}
}

// onPostStart takes a line of the postStart hook of container i.
func (r *Reading) onPostStart(s State, i, n int) ([]State, *Denial) {
	l, c, x := &r.ob(n).Log, &s.c[i], r.seenOf(&s, i)
	switch {
	case x.hookEnd != 0:
		return nil, deny(rules.HookOnce, Cause{x.hookEnd, rules.HookOnce})
	case l.Mark.Kind == trace.Begin && x.hookFirst != 0:
		return nil, deny(rules.HookOnce, Cause{x.hookFirst, rules.HookOnce})
	case c.hookReturned.known():
		return nil, deny(c.hookReturned.Rule, c.hookReturned)
	}
	var forced []State // none so far
	for j := range s.c {
		// Two hooks never overlap, so the one of container j is over by now. If it began
		// between two lines of this one, they did overlap.
		if o, y := &s.c[j], r.seenOf(&s, j); j != i && o.progress.isStarted() && y.hookFirst > x.hookFirst && !o.hookReturned.known() {
			if x.hookFirst != 0 {
				return nil, deny(rules.HooksSerial, Cause{y.hookFirst, rules.HooksSerial})
			}
			s = s.clone()
			r.hookHasReturned(&s, j, n, rules.HooksSerial)
			forced = []State{s}
		}
	}
	return forced, nil
}

// keepIfHookEnded drops the states in which the postStart hook of container i has returned by
// observation n only because it died with the container: the observation shows that the
// container lives on.
func (r *Reading) keepIfHookEnded(states []State, d *Denial, i, n int, rule string) ([]State, *Denial) {
	var next []State
	for _, t := range states {
		if t.c[i].ended != at(n, rule) {
			next = append(next, t)
			continue
		}
		x := r.seenOf(&t, i)
		d = firstOf(d, because(deny(rule, Cause{max(x.hookBegin, x.first), rule}), "the postStart hook of container %s had not ended", r.p.Containers[i].Name))
	}
	return next, d
}

// mayHaveDiedOfHook reports whether instance x of container i may have been killed between its
// last line and its exit, because its postStart hook had failed and left no line. No status
// shows its exit code.
func (r *Reading) mayHaveDiedOfHook(i int, x *seen) bool {
	return r.p.Containers[i].PostStart && x.hookEnd == 0 && (r.logOnly || r.ev.Containers[i].HookFailed) && len(r.ev.Containers[i].Exits[x.run]) == 0
}

// hookHasReturned forces that the postStart hook of the newest instance of container j has
// returned. One that logs its end, and has not done so, died instead: with its container or
// with the kubelet, or the container was stopped because the hook failed.
func (r *Reading) hookHasReturned(s *State, j, n int, rule string) {
	c := &s.c[j]
	if c.kill == byHook && !c.ended.known() && !r.excused(rules.KillAwaited, j, n, c.killCause.Obs) {
		c.ended, c.deadAtSyncEnd = at(n, rule), true // the kill is a part of the start
	}
	if c.hookReturned.known() || c.progress.isUnstarted() {
		return
	}
	x := r.seenOf(s, j)
	c.hookReturned = at(n, rule)
	failed := x.hookEnd != 0 && x.hookCode != 0 && !r.excused(rules.HookWithoutEnd, j, n, x.hookEnd)
	if !r.p.Containers[j].PostStart || x.hookEnd != 0 && !failed || r.excused(rules.HookWithoutEnd, j, n, x.hookBegin) {
		return
	}
	if failed || x.hookBegin != 0 || r.ev.Marks(j, trace.PostStart) {
		c.deadAtSyncEnd = true
		if !c.ended.known() {
			c.ended = at(n, rule)
		}
	}
}

// hookShownAt is the first line which shows that the postStart hook of instance x of container
// j was running, or was over. A hook that has written nothing yet runs from the start of its
// container on, if it writes to the log at all.
func (r *Reading) hookShownAt(j int, x *seen) record.Place {
	if x.hookFirst == 0 && r.p.Containers[j].PostStart && r.ev.Writes(j, trace.PostStart) {
		return x.first
	}
	return x.hookFirst
}

// hookMayHaveDied reports whether the postStart hook of container i may have died with the
// container, between the last line of the hook and its exit: nothing shows the container
// alive after observation n, or its preStop hook could not be run either.
func (r *Reading) hookMayHaveDied(s *State, i, n int) bool {
	c, x := &s.c[i], r.seenOf(s, i)
	if x.mainEnd == 0 {
		return !r.ev.Containers[i].LastAlive.After(n) || r.ev.Containers[i].PreStopFailed && x.preStop == 0
	}
	return !c.hookReturned.known() || c.hookReturned.Obs > x.mainEnd
}
