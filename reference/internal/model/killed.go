// How soon KILL may come, killContainer of the kubelet: what a container is left at least. Rules:
// terminate/kill-after-term, terminate/grace-period.

package model

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// killed reports whether an update shows a container as ended by KILL: its main process has
// logged no end, and its memory was not the reason.
func (r *Reading) killed(s *State, i int, cs *corev1.ContainerStatus) bool {
	end := cs.State.Terminated
	return end != nil && end.ExitCode == 137 && end.Reason != "OOMKilled" && !end.FinishedAt.IsZero() &&
		s.c[i].run == cs.RestartCount && !r.h[i].at(cs.RestartCount).mainEnd.Known()
}

// killedEarly says why container i cannot have been killed by the time that an update shows,
// with or without TERM before: the grace period of the deletion, for which alone it is stopped,
// was not over. A process that nobody told to stop, or one that does not stop, is left alone
// until then.
func (r *Reading) killedEarly(s *State, i int, cs *corev1.ContainerStatus, n int) *Denial {
	if len(r.ev.Ends) == 0 || r.ev.Ends[0].After(n) || !r.killed(s, i, cs) || !r.ev.Marks(i, trace.Main) || r.mayBeStoppedForOther(s, i, n) || r.excused(rules.KilledLate, i, n, 0) {
		return nil
	}
	deleted, over := r.ev.Ends[0], time.Time{}
	for _, a := range r.ev.Ends {
		if !a.After(n) {
			over = earlier(over, r.obAt(a).Entry.At.Add(r.grace(a)))
		}
	}
	end := cs.State.Terminated.FinishedAt.Time
	// finishedAt has whole seconds: the end came less than one later.
	if !end.Add(time.Second + record.StampSlack).Before(over.Add(min(0, r.ev.ClockAhead))) {
		return nil
	}
	return because(deny(rules.Grace, Cause{deleted, rules.Grace}), "container %s was killed at %s, before its grace period was over", cs.Name, end.UTC().Format("15:04:05"))
}

// mayBeStoppedForOther reports whether container i may be stopped, or killed, for something else than
// the deletion of its Pod.
func (r *Reading) mayBeStoppedForOther(s *State, i, n int) bool {
	ev, spec, x := &r.ev.Containers[i], &r.p.Containers[i], r.seenOf(s, i)
	if s.c[i].kill != notKilled && s.c[i].kill != byTermination || spec.PostStart && (!x.hookEnd.Known() || x.hookCode != 0) {
		return true
	}
	if begun := r.stopBegun(x); r.deadlineIsOver(n) || begun.Known() && begun < r.ev.Ends[0] {
		return true // it was being stopped already
	}
	anew := func(c record.ContainerEvidence) bool { return c.AskedRestartAll }
	return r.ev.EndTimeUnknown || ev.ProbeFailed || ev.HookFailed || x.failing.Known() || r.changedBy(i, n) ||
		spec.PreStopSignals || slices.ContainsFunc(r.ev.Containers, anew) || r.podIsOver(s, i) || r.sandboxLostForGood()
}

// killedTooSoon says why a container cannot have been killed so soon after its TERM: the
// kubelet leaves it two seconds at least.
func (r *Reading) killedTooSoon(s *State, i int, cs *corev1.ContainerStatus, n int) *Denial {
	if !r.killed(s, i, cs) {
		return nil
	}
	end, x := cs.State.Terminated, r.h[i].at(cs.RestartCount)
	before, since := r.surelyBeforeTERM(s, i, x, n)
	// finishedAt has whole seconds: the end came less than one later.
	if before.Known() && end.FinishedAt.Add(time.Second+record.StampSlack).Before(since.Add(minimumGrace)) {
		return because(deny(rules.KillAfterTerm, Cause{before, rules.KillAfterTerm}, Cause{x.term, rules.KillAfterTerm}), "container %s was killed at %s, less than %s after its TERM", cs.Name, end.FinishedAt.UTC().Format("15:04:05"), minimumGrace)
	}
	return nil
}

// surelyBeforeTERM is what surely came before the TERM of instance x of container i, and a
// time before which TERM was not sent; none where that is not known. The line of a TERM may
// come long after the signal. The end of the preStop hook comes before it, and so does the
// deletion of the Pod.
func (r *Reading) surelyBeforeTERM(s *State, i int, x *seen, n int) (before record.Place, since time.Time) {
	switch {
	case x.preStopEnd.Known():
		// A hook that outlasts the grace period is not waited for.
		if x.preStopEnd < x.term && r.graceLeft(s, i, x.preStopEnd.Index()) {
			return x.preStopEnd, r.writtenAt(x.preStopEnd)
		}
	case r.deletedOnly(s, i):
		return r.deletionBeforeTERM(s, i, x, n)
	}
	return 0, time.Time{}
}

// deletionBeforeTERM is surelyBeforeTERM for a container that was stopped because its Pod was
// deleted, and whose preStop hook has logged no end.
func (r *Reading) deletionBeforeTERM(s *State, i int, x *seen, n int) (before record.Place, since time.Time) {
	before = r.ev.Ends[0]
	since = r.obAt(before).Entry.At.Add(r.ev.ClockAhead)
	// A preStop hook that goes on was waited for until the grace period was over.
	grace, outlasted := time.Duration(0), x.preStopBegin.Known() && r.ev.Marks(i, trace.PreStop) && len(r.ev.Ends) == 1
	if outlasted {
		grace = r.grace(before)
	} else if before > x.term {
		return 0, time.Time{}
	}
	if r.podIsOver(s, i) {
		// Or the Pod had come to its end by itself before.
		last, seen := r.endedByItself(s, i, n, true)
		if !seen {
			return 0, time.Time{}
		}
		if !last.IsZero() && last.Before(since) {
			since, grace = last, min(grace, r.podGrace())
		}
	}
	return before, since.Add(grace)
}
