// The duty to start an ephemeral container that was added to a Pod. Rules: start/ephemeral-when-added.

package model

import (
	"slices"

	"github.com/podorder/podorder/reference/rules"
)

// ephemeralOverdue says why ephemeral container i should have been started by observation n: it was added
// to a Pod of which something has been started, and the sync that follows starts it before
// anything else (pkg/kubelet/kuberuntime/kuberuntime_manager.go, SyncPod).
func (r *Reading) ephemeralOverdue(s *State, i, n int) *Denial {
	added, c := r.ev.Containers[i].Added, &s.c[i]
	if !added.Known() || added.After(n) || !c.progress.isUnstarted() || c.ended.known() || r.h[i].stage != unheard || r.h[i].shownRun >= 0 || !r.mayBeLate(s, i, n) {
		return nil
	}
	if r.passed(added, n) <= r.patient(patience) || !slices.ContainsFunc(s.c, func(c instance) bool { return c.progress.isStarted() }) || r.podIsOver(s, i) && !r.somethingRuns(s, n) {
		return nil
	}
	since, busy, known := r.workerFreeSince(s, i, added, n)
	if !known {
		return nil
	}
	if wait := r.passed(since, r.undisturbed(n)); wait > busy+r.patient(patience) && !r.excused(rules.EphemeralComes, -1, n, 0) {
		return late(rules.EphemeralComes, Cause{since, rules.EphemeralStarts}, "ephemeral container %s is not started, %s after it was added", r.p.Containers[i].Name, wait)
	}
	return nil
}
