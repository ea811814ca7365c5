// The duty to kill: what a deletion stops has ended when the grace period is over, even if
// it writes nothing any more. Rules: terminate/grace-period.

package model

import (
	"time"

	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
)

// killOverdue says why container i, which has been stopped with its deleted Pod and has logged
// no end, should have been shown as ended by observation n. A status shows the ends of a
// Pod that is terminated only after all its containers have stopped: so it is the whole Pod
// that is waited for.
func (r *Reading) killOverdue(s *State, i, n int) *Denial {
	c, x, h := &s.c[i], r.seenOf(s, i), &r.h[i]
	if r.logOnly || c.kill != byTermination || len(r.ev.Ends) == 0 || x.mainEnd.Known() || c.ended.known() || r.objectGone() {
		return nil
	}
	if h.shown.Run > c.run || h.shown.Run == c.run && h.shown.State == record.Ended || record.IsFinal(r.phase) {
		return nil
	}
	begun := r.stopBegun(x)
	if !begun.Known() || r.shownAt < begun {
		return nil // or no updates come any more
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
	if wait <= most+2*r.patient(patience) || r.excused(rules.KillComes, i, n, begun) {
		return nil
	}
	return late(rules.KillComes, Cause{begun, rules.Grace}, "container %s has logged no end, and no update shows one %s after its stop began, but its Pod was deleted with a grace period of %s", r.p.Containers[i].Name, wait.Round(time.Second), r.grace(r.ev.Ends[0]))
}
