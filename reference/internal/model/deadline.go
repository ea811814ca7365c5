// The deadline of a Pod, activeDeadlineSeconds: a Pod that has run out of it is terminated like one
// that was deleted, with its own grace period. Rules: terminate/cause,
// terminate/grace-period, terminate/deadline.

package model

import (
	"time"

	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
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

// deadlineIgnored says why the Pod should be shown as failed by observation n: the latest update has a
// deadline which is over. The kubelet looks once a second (pkg/kubelet/active_deadline.go,
// ShouldSync).
func (r *Reading) deadlineIgnored(s *State, i, n int) *Denial {
	if i != 0 || !r.shownAt.Known() || record.IsFinal(r.phase) || r.objectGone() || r.ob(n).Entry.Pod != nil || r.untilEnd(n) < n || r.p.Static {
		return nil
	}
	shown := r.obAt(r.shownAt).Entry
	seconds, began := shown.Pod.Spec.ActiveDeadlineSeconds, shown.Pod.Status.StartTime
	if seconds == nil || began.IsZero() {
		return nil
	}
	over := began.Add(time.Duration(*seconds)*time.Second + time.Second) // the two clocks differ
	if shown.At.After(over) {
		over = shown.At
	}
	// A final phase is shown when everything has stopped (pkg/kubelet/status/status_manager.go,
	// mergePodStatus).
	wait, within := r.earliest(n).Sub(over).Round(time.Millisecond), 2*r.patient(patience)+r.podGrace()
	if wait <= within {
		return nil
	}
	for j := range r.p.Containers {
		within += 2*minimumGrace + r.p.Containers[j].SleepStart
	}
	since, busy, known := r.workerFreeSince(s, -1, r.shownAt, n)
	within += busy
	if !known || since > r.shownAt && r.passed(since, n) <= within || wait <= within || r.excused(rules.DeadlineFails, -1, n, 0) {
		return nil
	}
	return late(rules.DeadlineFails, Cause{r.shownAt, rules.Deadline}, "the activeDeadlineSeconds of the Pod were over %s before, and it is not shown as failed", wait)
}
