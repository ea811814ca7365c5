// The duties to kill: what is stopped has ended when the grace period is over, even if it writes
// nothing any more. Rules: terminate/grace-period, hooks/prestop-runs of one that was killed.

package model

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// killOverdue says why container i, which a deletion stops and which has logged no end, should have
// been shown as ended by observation n. A status shows the ends of a Pod that is terminated only
// after all its containers have stopped: so it is the whole Pod that is waited for. A container
// that writes nothing of its stop is stopped once the sync of that time has ended.
func (r *Reading) killOverdue(s *State, i, n int) *Denial {
	c, x := &s.c[i], r.seenOf(s, i)
	if r.logOnly || len(r.ev.Ends) == 0 || r.ev.Ends[0].After(n) || c.progress.isUnstarted() || x.mainEnd.Known() || c.ended.known() || r.objectGone() || r.endShown(c, i) {
		return nil
	}
	begun, busy, known := r.stopBegun(x), time.Duration(0), true
	if !begun.Known() {
		if begun, busy, known = r.syncOverSince(s, i, r.ev.Ends[0]); !known {
			return nil
		}
		busy += r.stoppedBySync(s, i, n)
	} else if c.kill != byTermination {
		return nil
	}
	if r.shownAt < r.ev.Ends[0] {
		return nil // no updates come any more
	}
	most, since := r.podGrace(), begun
	for _, a := range r.ev.Ends {
		most, since = max(most, r.grace(a)), max(since, a)
	}
	for j := range r.p.Containers {
		// Each may get the least time after its hook and its turn.
		most += 2*minimumGrace + r.p.Containers[j].SleepStart
		since = max(since, r.stopBegun(r.seenOf(s, j)))
	}
	wait := r.passed(since, n)
	if wait <= most+busy+2*r.patient(patience) || r.excused(rules.KillComes, i, n, begun) {
		return nil
	}
	return late(rules.KillComes, Cause{begun, rules.Grace}, "container %s has logged no end, and no update shows one %s after its stop had to begin, but its Pod was deleted with a grace period of %s", r.p.Containers[i].Name, wait.Round(time.Second), r.grace(r.ev.Ends[0]))
}

// endShown reports whether an update has shown the newest instance of container i, c, as ended, or a
// later one, or the Pod in its final phase.
func (r *Reading) endShown(c *instance, i int) bool {
	h := &r.h[i]
	return h.shown.Run > c.run || h.shown.Run == c.run && h.shown.State == record.Ended || record.IsFinal(r.phase)
}

// stopOverdue says why container i, which is stopped while the Pod goes on, should have been shown as
// ended by observation n, or its next instance: it has logged no end, and writes no more. A sync that
// waits for it in vain publishes nothing.
func (r *Reading) stopOverdue(s *State, i, n int) *Denial {
	c, x := &s.c[i], r.seenOf(s, i)
	if r.logOnly || c.progress.isUnstarted() || x.mainEnd.Known() || c.ended.known() || s.terminating.known() || r.objectGone() || r.endShown(c, i) || !r.newestShown(c, i) {
		return nil
	}
	begun, why := r.stopIsDue(c, x, i, n)
	if !begun.Known() || r.passed(begun, n) <= 2*r.patient(patience) {
		return nil
	}
	since, busy, known := r.workerFreeSince(s, i, begun, n)
	if !known {
		return nil
	}
	spec := &r.p.Containers[i]
	within := time.Duration(max(r.p.Grace, spec.Liveness.Grace, spec.Startup.Grace))*time.Second + busy + spec.SleepStop + 2*r.patient(patience)
	within += time.Duration(2*len(r.p.Containers)) * minimumGrace
	wait := r.passed(since, r.untilEnd(n))
	if wait <= within || r.excused(rules.StopShown, i, n, begun) {
		return nil
	}
	return late(rules.StopShown, Cause{begun, rules.Grace}, "container %s is stopped because %s, and %s after that neither its end nor its next instance is shown", spec.Name, why, wait.Round(time.Second))
}

// stopIsDue is the first sign that the sync stops container i, of which x is the newest instance, by
// observation n, and why it does; none where it does not.
func (r *Reading) stopIsDue(c *instance, x *seen, i, n int) (begun record.Place, why string) {
	begun = r.stopBegun(x)
	o, a := failedEnough(x)
	switch {
	case c.kill == byRestartAll && begun.Known():
		return begun, "a container has asked to restart all"
	case x.hookEnd.Known() && x.hookCode != 0:
		return max(begun, x.hookEnd), "its postStart hook has failed"
	case o != nil:
		return max(begun, o.enough), "its " + string(a) + " has failed"
	case c.kill == byProbe && begun.Known():
		return begun, "a probe has failed or its definition was changed"
	case c.kill == byHook && begun.Known():
		return begun, "its postStart hook has failed"
	}
	changed := r.imageChanged(i, n)
	if r.p.IsRegular(i) && changed.Known() && x.first.Known() && x.first < changed {
		return changed, "its image was changed"
	}
	return 0, ""
}

// newestShown reports whether the latest update shows no instance of container i that came after c, nor
// anything else does.
func (r *Reading) newestShown(c *instance, i int) bool {
	if !r.shownAt.Known() || r.ev.Containers[i].NewestRun > c.run {
		return false
	}
	st := &r.obAt(r.shownAt).Entry.Pod.Status
	for _, list := range [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses} {
		for k := range list {
			if cs := &list[k]; cs.Name == r.p.Containers[i].Name {
				return cs.RestartCount <= c.run
			}
		}
	}
	return false
}

// endedWithoutPreStop says why container i cannot have been stopped as an update shows it: a deletion,
// for which alone it is stopped, leaves it the time for its preStop hook, which leaves lines, and
// that has not run. It was ended by a signal: its main process, which logs its end, has logged neither
// that nor TERM.
func (r *Reading) endedWithoutPreStop(s *State, i int, cs *corev1.ContainerStatus, n int) *Denial {
	end, x, spec := cs.State.Terminated, r.h[i].at(cs.RestartCount), &r.p.Containers[i]
	if !record.IsEnd(end) || end.ExitCode != diedOfTERM && end.ExitCode != diedOfKILL || end.Reason == "OOMKilled" || s.c[i].run != cs.RestartCount {
		return nil
	}
	if x.mainEnd.Known() || x.term.Known() || r.ev.HookLogged(i, cs.RestartCount, trace.PreStop) || !r.leavesLine(i, trace.PreStop) || !r.marks(i, trace.Main) || spec.SharedProcesses {
		return nil
	}
	if len(r.ev.Ends) == 0 || r.ev.Ends[0].After(n) || r.runIsUncertain(i, cs.RestartCount) || r.mayBeStoppedForOther(s, i, n) || r.excused(rules.PreStopRan, i, n, 0) {
		return nil
	}
	// TERM comes after the end of the hook while grace is left. Else the hook has begun at least.
	grace := r.leastGrace(s, i, n)
	inTime := end.FinishedAt.Add(2 * time.Second).Before(r.obAt(r.ev.Ends[0]).Entry.At.Add(grace + min(0, r.ev.ClockAhead)))
	if !(end.ExitCode == diedOfTERM && inTime) && !(grace > r.patient(patience) && r.marks(i, trace.PreStop)) {
		return nil
	}
	since, busy, known := r.syncOverSince(s, i, r.ev.Ends[0])
	// It ran when its stop began: it has ended later, by the clock of the node.
	if !known || !end.FinishedAt.Time.After(r.obAt(since).At().Add(busy+minimumGrace+max(0, r.ev.ClockAhead))) {
		return nil
	}
	return late(rules.PreStopRan, Cause{r.ev.Ends[0], rules.PreStopRuns}, "container %s was ended by a signal (exit code %d), and its preStop hook has not run", cs.Name, end.ExitCode)
}
