// The end of the API object of a deleted Pod: it goes when everything has stopped, and with a final
// phase. Rules: terminate/object-goes, status/final-before-gone.

package model

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// objectOverdue says why the object of the Pod, which was deleted, should have gone by observation n. It is
// asked for the whole Pod, with the first container.
func (r *Reading) objectOverdue(s *State, i, n int) *Denial {
	if i != 0 || !r.shownAt.Known() || r.objectGone() || r.ob(n).Entry.Pod != nil || r.p.Static || r.ev.Ends[0].After(n) {
		return nil
	}
	first, since := r.ev.Ends[0], r.ev.Ends[0]
	grace := max(r.podGrace(), minimumGrace)
	for _, a := range r.ev.Ends {
		if r.obAt(a).Entry.Did.Name == trace.ActReplace {
			return nil // the mirror of a static Pod
		}
		grace = max(grace, r.grace(a))
		if !a.After(n) {
			since = max(since, a)
		}
	}
	if r.passed(since, n) <= 3*r.patient(patience) || !goesByItself(r.obAt(r.shownAt).Entry.Pod) {
		return nil
	}
	within := 3 * r.patient(patience)
	for j := range s.c {
		stopped, more, ok := r.stoppedAt(s, j, first, grace)
		if !ok {
			return nil
		}
		since, within = max(since, stopped), within+r.p.Containers[j].SleepStart+more
	}
	since, takes, up := r.kubeletBack(since, n)
	if wait := r.passed(since, n); up && wait > within+takes && !r.excused(rules.ObjectGone, -1, n, 0) {
		return late(rules.ObjectGone, Cause{since, rules.ObjectGoes}, "the Pod was deleted, and %s after everything in it had stopped its object is still there", wait)
	}
	return nil
}

// stoppedAt is what shows that container j of a deleted Pod runs no more, and how much later the kubelet
// may still be busy with it; ok is false where nothing shows that.
func (r *Reading) stoppedAt(s *State, j int, deleted record.Place, grace time.Duration) (at record.Place, more time.Duration, ok bool) {
	spec, c, x, h := &r.p.Containers[j], &s.c[j], r.seenOf(s, j), &r.h[j]
	ends := h.shown.Run == c.run && h.shown.State == record.Ended
	switch {
	case !x.first.Known() && h.shownRun < 0 && h.stage < created:
		return 0, grace + minimumGrace, true // it may just have been started
	case !x.mainEnd.Known() && !ends:
		return 0, 0, false
	case ends:
		at = r.shownAt
	}
	at = max(at, x.mainEnd)
	again := spec.Policy != corev1.RestartPolicyNever || len(spec.Rules) > 0 || spec.Role == podspec.Sidecar
	if x.mainEnd.Known() && x.mainEnd < deleted && !again {
		return at, 0, true // nothing had to be stopped
	}
	if spec.PreStop || x.mainEnd < deleted {
		more = grace + minimumGrace
	}
	return at, more, true
}

// goesByItself reports whether nobody but the kubelet holds the object of a deleted Pod: it has no
// finalizers, and no volumes that some driver has to unmount.
func goesByItself(pod *corev1.Pod) bool {
	return len(pod.Finalizers) == 0 && !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.EmptyDir == nil && v.ConfigMap == nil && v.Secret == nil && v.Projected == nil && v.DownwardAPI == nil && v.HostPath == nil
	})
}

// pendingToTheEnd says why the object cannot go with phase Pending: nothing of its Pod will run any more.
func (r *Reading) pendingToTheEnd(n int) *Denial {
	e := r.ob(n).Entry
	if e.Type != trace.Deleted || e.Pod.Status.Phase != corev1.PodPending || r.p.Static || len(r.ev.Ends) == 0 || r.ev.Ends[0].After(n) || len(e.Pod.Status.ContainerStatuses) == 0 {
		return nil
	}
	replaced := func(a record.Place) bool { return r.obAt(a).Entry.Did.Name == trace.ActReplace }
	if slices.ContainsFunc(r.ev.Ends, replaced) || r.excused(rules.FinalWhenGone, -1, n, 0) {
		return nil
	}
	return because(deny(rules.FinalBeforeGone, Cause{r.ev.Ends[0], rules.FinalBeforeGone}), "the object is gone, and its phase was still Pending")
}
