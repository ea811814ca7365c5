// The duty of a Pod that is over: one in which nothing runs, and nothing will, gets its final phase.
// Rules: status/final-phase.

package model

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
)

// finalPhaseOverdue says why the Pod should have its final phase by observation n: the latest
// update shows that nothing runs any more, and nothing is started again. It is asked for the
// whole Pod, with the first container.
func (r *Reading) finalPhaseOverdue(s *State, i, n int) *Denial {
	if i != 0 || r.logOnly || !r.shownAt.Known() || record.IsFinal(r.phase) || r.objectGone() {
		return nil
	}
	// The worker may still be stopping something, and wait for hooks that sleep.
	within := 2*r.patient(patience) + r.podGrace() + 2*minimumGrace
	for j := range r.p.Containers {
		within += r.p.Containers[j].SleepStart + r.p.Containers[j].SleepStop
	}
	wait := r.passed(r.shownAt, n)
	if wait <= within || !r.podShownOver(s) || r.excused(rules.FinalPhase, -1, n, r.shownAt) || r.neverPodStuck(s) {
		return nil
	}
	return late(rules.FinalPhase, Cause{r.shownAt, rules.PhaseFinal}, "status.phase is still %s %s after nothing ran in the Pod any more, and nothing will be started in it", r.phase, wait.Round(time.Second))
}

// podShownOver reports whether the latest update shows that nothing of the Pod runs, and nothing
// is started again: each regular container has ended for good, or an init container has failed
// for good; or its sandbox is lost, and it gets no other one.
func (r *Reading) podShownOver(s *State) bool {
	if slices.ContainsFunc(r.ev.Containers, func(c record.ContainerEvidence) bool { return c.AskedRestartAll }) {
		return false
	}
	st := &r.obAt(r.shownAt).Entry.Pod.Status
	v := viewOf(r.p, r.obAt(r.shownAt).Entry.Pod)
	if len(st.ContainerStatuses) != r.p.Regulars || len(st.InitContainerStatuses) != r.p.Inits {
		return false
	}
	for _, list := range [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses} {
		for k := range list {
			if list[k].State.Running != nil {
				return false
			}
		}
	}
	if v.initFailedForGood {
		return true
	}
	if r.endedForGood(st) {
		return true
	}
	return v.started > 0 && len(r.ev.SandboxStops) > 0 && r.sandboxLostForGoodBefore(r.shownAt) && r.hooksAreOver(s, st)
}

// endedForGood reports whether a status shows that each regular container has ended, and is not
// started again.
func (r *Reading) endedForGood(st *corev1.PodStatus) bool {
	for k := range st.ContainerStatuses {
		cs := &st.ContainerStatuses[k]
		i, known := r.p.Index[cs.Name]
		if end := cs.State.Terminated; !known || !record.IsEnd(end) || !r.p.Containers[i].ThroughWith(end.ExitCode) {
			return false
		}
	}
	return true
}

// hooksAreOver reports whether no postStart hook can hold up the worker of the Pod: each has
// returned, or the status shows that its container has ended, or could not be started.
func (r *Reading) hooksAreOver(s *State, st *corev1.PodStatus) bool {
	for _, list := range [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses} {
		for k := range list {
			cs := &list[k]
			j := r.p.Index[cs.Name]
			c, wait := &s.c[j], cs.State.Waiting
			over := r.seenOf(s, j).hookEnd.Known() || c.hookReturned.known() || c.ended.known()
			if r.p.Containers[j].PostStart && !over && wait != nil && !record.IsStartError(wait.Reason) {
				return false
			}
		}
	}
	return true
}
