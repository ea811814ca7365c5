// The duty of the status manager for a container that has ended by itself: it is shown so.
// Rules: status/end-shown.

package model

import (
	"time"

	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
)

// endNotShown says why an update should have shown by observation n that container i has ended:
// it has logged its end, and the next sync shows that. While a Pod is terminated nothing of
// its containers is shown until all have stopped.
func (r *Reading) endNotShown(s *State, i, n int) *Denial {
	c, x, h := &s.c[i], r.seenOf(s, i), &r.h[i]
	if r.logOnly || !x.mainEnd.Known() || c.progress.isUnstarted() || c.kill != notKilled || s.terminating.known() || r.shownAt < x.mainEnd || r.objectGone() {
		return nil
	}
	if h.shown.Run > c.run || h.shown.Run == c.run && h.shown.State == record.Ended {
		return nil
	}
	within := 2 * r.patient(patience)
	if r.passed(x.mainEnd, n) <= within {
		return nil
	}
	since, busy, known := r.workerFreeSince(s, i, x.mainEnd, n)
	if !known {
		return nil
	}
	busy += r.stoppedBySync(s, i, n) // its preStop hook may sleep on
	wait := r.passed(since, r.untilEnd(n))
	if wait <= within+busy || r.excused(rules.EndShown, i, n, x.mainEnd) {
		return nil
	}
	return late(rules.EndShown, Cause{x.mainEnd, rules.ShowsEnd}, "container %s has logged its end, and %s after that no update shows it", r.p.Containers[i].Name, wait.Round(time.Second))
}
