// The deadline of a Pod, activeDeadlineSeconds: a Pod that has run out of it is terminated like one
// that was deleted, with its own grace period. Rules: terminate/cause, terminate/grace-period.

package model

import (
	"time"

	"github.com/podorder/podorder/reference/internal/record"
)

// deadlineAt is the earliest time at which the deadline can have ended the Pod, by the clock of
// the node (pkg/kubelet/active_deadline.go, pastActiveDeadline); known is false where nothing
// says when the Pod began.
func (r *Reading) deadlineAt() (at time.Time, known bool) {
	return r.ev.Began.Add(time.Duration(r.ev.Deadline) * time.Second), !r.ev.Began.IsZero()
}

// deadlineIsOver reports whether the deadline may have ended the Pod by observation n. A second
// is left for the clocks where n is no line.
func (r *Reading) deadlineIsOver(n int) bool {
	if r.ev.Deadline == 0 {
		return false
	}
	at, known := r.deadlineAt()
	if !known {
		return true
	}
	o := r.ob(n)
	if o.IsLog {
		return !r.written(n).Add(r.slack(n)).Before(at)
	}
	return !o.Entry.At.Add(time.Second).Before(at)
}

// endedByOthers reports whether somebody else may have ended the Pod by observation n, and no act
// says so: an eviction, or its deadline.
func (r *Reading) endedByOthers(n int) bool { return r.ev.EndTimeUnknown || r.deadlineIsOver(n) }

// endUnknownBefore reports whether somebody else may have ended the Pod, so that nothing says
// whether that was before the observation in a place.
func (r *Reading) endUnknownBefore(since record.Place, n int) bool {
	byDeadline := r.untilEnd(n) == n && r.deadlineIsOver(n) && (!r.ev.DeadlineSeen.Known() || r.ev.DeadlineSeen > since)
	return r.ev.EndTimeUnknown || byDeadline
}
