// The duty of a deletion: it stops every container of the Pod, also while it is initialized.
// Rules: terminate/grace-period.

package model

import (
	"time"

	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
)

// deletionIgnored says why container i, which writes at observation n or later, should have been
// stopped by then: its Pod was deleted long before. Nothing has to show the stop but the end. Of one
// that writes no more, the status has to show the end; see killOverdue.
func (r *Reading) deletionIgnored(s *State, i, n int) *Denial {
	if len(r.ev.Ends) == 0 || r.stopBegun(r.seenOf(s, i)).Known() {
		return nil // or grace.go asks for its end
	}
	first := r.ev.Ends[0]
	if first.After(n) || r.passed(first, n) <= r.podGrace() {
		return nil
	}
	since, busy, known := r.syncOverSince(s, i, first)
	if !known || !r.writesYet(s, i, n) {
		return nil
	}
	grace := r.podGrace()
	for _, a := range r.ev.Ends {
		grace = max(grace, r.grace(a))
	}
	wait := r.passed(since, n)
	if wait <= max(grace, minimumGrace)+busy+2*minimumGrace+2*r.patient(patience) || r.excused(rules.DeletionStops, i, n, first) {
		return nil
	}
	return late(rules.DeletionStops, Cause{first, rules.Grace}, "the Pod was deleted with a grace period of %s, and container %s is still alive %s after that", r.grace(first), r.p.Containers[i].Name, wait.Round(time.Second))
}

// syncOverSince is what came last before the sync that ran when the Pod was deleted had ended,
// and how long that may have taken beside what lines show. known is false where it may
// wait for a hook or an image.
func (r *Reading) syncOverSince(s *State, i int, deleted record.Place) (since record.Place, busy time.Duration, known bool) {
	since = deleted
	for j := range s.c {
		spec, c, y := &r.p.Containers[j], &s.c[j], r.seenOf(s, j)
		busy += spec.SleepStart + spec.SleepStop
		switch {
		case c.progress.isUnstarted():
			if r.h[j].stage == pulling || r.ev.Containers[j].StartFailed || r.ev.MayDropEvents {
				return 0, 0, false
			}
			continue
		case !spec.PostStart || y.hookEnd.Known():
		case c.hookReturned.known() || c.ended.known():
			since = max(since, c.hookReturned.Obs, c.ended.Obs)
		default:
			return 0, 0, false
		}
		since = max(since, y.first, y.hookEnd)
		if j != i {
			busy += r.stoppedBySync(s, j, r.n)
		}
		if r.hookMayHaveFailed(c, y, j) {
			busy += max(r.podGrace(), minimumGrace)
		}
	}
	return since, busy, true
}
