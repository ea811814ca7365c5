// The duty of a deletion to send TERM: a hook that the kubelet itself sleeps for leaves no sign of the stop,
// so the signal is the first one. Rules: terminate/grace-period.

package model

import (
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
)

// termOverdue says why regular container i should have had its TERM by observation n: its Pod was deleted, and
// whatever its preStop hook does, the signal comes when the grace period is over.
func (r *Reading) termOverdue(s *State, i, n int) *Denial {
	c, x, h := &s.c[i], r.seenOf(s, i), &r.h[i]
	if c.progress.isUnstarted() || !x.first.Known() || x.mainEnd.Known() || c.ended.known() || r.stopBegun(x).Known() || h.shown.Run != c.run || h.shown.State != record.Running {
		return nil
	}
	first := r.ev.Ends[0]
	if o := r.ob(n); first.After(n) || o.IsLog && o.Container == i || o.Entry.Pod != nil || r.objectGone() || record.IsFinal(r.phase) {
		return nil
	}
	grace := minimumGrace
	last := first
	for _, a := range r.ev.Ends {
		grace, last = max(grace, r.grace(a)), max(last, a)
	}
	if last.After(n) || r.passed(last, n) <= grace+2*r.patient(patience) {
		return nil
	}
	since, busy, known := r.syncOverSince(s, i, last)
	if !known {
		return nil
	}
	busy += r.stoppedBySync(s, i, n) // that sync may be stopping it for something else, with a period of its own
	for j := range r.p.Containers {
		busy -= r.p.Containers[j].SleepStop // within the grace period
	}
	wait := r.passed(since, n)
	if wait <= grace+busy+2*minimumGrace+2*r.patient(patience) || r.excused(rules.TermComes, i, n, first) {
		return nil
	}
	return late(rules.TermComes, Cause{first, rules.Grace}, "the Pod was deleted with a grace period of %s, and container %s has not got TERM %s after that", r.grace(first), r.p.Containers[i].Name, wait)
}
