package record

import (
	"time"

	"github.com/podorder/podorder/reference/trace"
)

// When the Pod was taken up by its kubelet, and what the kubelet itself ended it for.

// deadlineExceeded is the reason of a Pod that has run out of its activeDeadlineSeconds
// (pkg/kubelet/active_deadline.go).
const deadlineExceeded = "DeadlineExceeded"

// created takes that the Pod was created.
func (g *gatherer) created(at time.Time, obs Place) {
	if g.applied.IsZero() {
		g.applied, g.appliedObs = at, obs
	}
}

// deadline takes an activeDeadlineSeconds that the Pod had at some time.
func (g *gatherer) deadline(seconds *int64) {
	if seconds != nil && (g.ev.Deadline == 0 || *seconds < g.ev.Deadline) {
		g.ev.Deadline = *seconds
	}
}

// life takes from an update since when the Pod has been on its node, and what has ended it.
func (g *gatherer) life(e *trace.Entry, n int) {
	if e.Type == trace.Added {
		g.created(e.At, PlaceOf(n))
	}
	g.deadline(e.Pod.Spec.ActiveDeadlineSeconds)
	if start := e.Pod.Status.StartTime; !start.IsZero() && (g.ev.Began.IsZero() || start.Time.Before(g.ev.Began)) {
		g.ev.Began, g.ev.BeganObs = start.Time, PlaceOf(n)
	}
	if reason := e.Pod.Status.Reason; reason != "" {
		g.endedBy(reason, n)
	}
}

// endedBy takes the reason for which the Pod was ended, as a status or an Event gives it. A
// deadline says when, and leaves the Pod its own grace period; an eviction may bring another
// (pkg/kubelet/pod_workers.go, calculateEffectiveGracePeriod).
func (g *gatherer) endedBy(reason string, n int) {
	switch {
	case reason != deadlineExceeded || g.ev.Deadline == 0:
		g.ev.EndTimeUnknown = true
	case !g.ev.DeadlineSeen.Known():
		g.ev.DeadlineSeen = PlaceOf(n)
	}
}
