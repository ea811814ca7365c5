// A Pod as the watch delivered it: what each update shows the kubelet to have done by then, and
// the removal of the object. Rules: status/between-syncs, status/forward, status/phase,
// terminate/shown-together, terminate/object-goes-last, init/not-again.

package model

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// onPod takes a Pod as the watch delivered it. Its status was published by then. It may be
// old, so it is never refused for showing too little.
func (r *Reading) onPod(s State, n int) ([]State, *Denial) {
	pod := r.ob(n).Entry.Pod
	st := &pod.Status
	// Whoever ends a Pod that has just come to its end by itself may not know that yet.
	if record.IsFinal(r.phase) && st.Phase != r.phase && !(st.Phase == corev1.PodFailed && r.endedByOthers(n)) {
		return nil, because(deny(rules.Phase, Cause{r.shownAt, rules.Phase}), "status.phase went from %s to %s, but %s is final", r.phase, st.Phase, r.phase)
	}
	if d := r.pendingToTheEnd(n); d != nil {
		return nil, d
	}
	if len(st.ContainerStatuses) == 0 {
		if d := r.noStatusFits(st); d != nil {
			return nil, d
		}
		return r.onDeleted([]State{s}, n), nil
	}
	if d := r.objectFits(&s, pod, n); d != nil {
		return nil, d
	}
	states, d := r.onContainers(s, st, n)
	if d != nil {
		return nil, d
	}
	if d := firstOf(firstOf(r.startedTooSoon(&s, st, n), r.wholeSync(pod, n)), r.oneSnapshot(st, n)); d != nil {
		return nil, d
	}
	states = slices.DeleteFunc(states, func(t State) bool {
		other := r.together(t, pod, n)
		d = firstOf(d, other)
		return other != nil
	})
	if len(states) == 0 {
		return nil, d
	}
	return r.onDeleted(states, n), nil
}

// noStatusFits says why an update cannot be without container statuses.
func (r *Reading) noStatusFits(st *corev1.PodStatus) *Denial {
	if slices.ContainsFunc(r.h, func(h history) bool { return h.shown.Run >= 0 }) && !r.excused(rules.StateForward, -1, r.n, 0) {
		return because(deny(rules.Forward, Cause{r.shownAt, rules.Forward}), "status.containerStatuses is gone")
	}
	if p := st.Phase; p != corev1.PodPending && p != "" && st.Reason == "" {
		return because(deny(rules.Phase), "status.phase is %s, but no container state was shown yet", p)
	}
	return nil
}

// onContainers takes the shown states of all containers, one after the other.
func (r *Reading) onContainers(s State, st *corev1.PodStatus, n int) ([]State, *Denial) {
	states := []State{s}
	take := func(list []corev1.ContainerStatus, mayBeUnknown bool) *Denial {
		for k := range list {
			cs := &list[k]
			i, ok := r.p.Index[cs.Name]
			if !ok && mayBeUnknown {
				continue
			}
			if !ok {
				return because(deny(rules.Forward), "the status names container %q, which the Pod does not have", cs.Name)
			}
			var next []State
			var d *Denial
			for _, t := range states {
				after, other := r.onContainer(t, i, cs, n)
				next, d = append(next, after...), firstOf(d, other)
			}
			if len(next) == 0 {
				return d
			}
			states = next
		}
		return nil
	}
	d := take(st.InitContainerStatuses, false)
	if d == nil {
		d = take(st.ContainerStatuses, false)
	}
	if d == nil {
		// The manifest may be older than an ephemeral container.
		d = take(st.EphemeralContainerStatuses, true)
	}
	return states, d
}

// onContainer takes the shown state of container i.
func (r *Reading) onContainer(s State, i int, cs *corev1.ContainerStatus, n int) ([]State, *Denial) {
	shown, run, c := record.ShownOf(cs), cs.RestartCount, &s.c[i]
	if shown.Before(r.h[i].shown) && !r.excused(rules.StateForward, i, n, 0) && !r.staticInitForgotten(i, cs, n) {
		return nil, because(deny(rules.Forward, Cause{r.shownAt, rules.Forward}), "the status of container %s went back to %s", cs.Name, record.StateWord(cs))
	}
	if d := r.wentBack(i, cs); d != nil {
		return nil, d
	}
	if r.runIsUncertain(i, run) {
		return []State{s}, nil
	}
	if d := r.actsWhileHookSleeps(i, run, startTimeOf(cs), n); d != nil {
		return nil, d
	}
	old := run < c.run || run == c.run && c.progress.isUnstarted() // or of the round before
	if shown.State == record.Waiting || old {
		return []State{s}, nil
	}
	next, d := r.onStarted(s, i, cs, n)
	if d != nil {
		return nil, d
	}
	for _, d := range []*Denial{r.readyFits(&s, i, cs, n), r.lostOverRestart(i, cs, n), r.killedTooSoon(&s, i, cs, n), r.killedEarly(&s, i, cs, n), r.endedWithoutPreStop(&s, i, cs, n), r.outlivedGrace(&s, i, cs, n), r.outlivedBefore(i, cs, n)} {
		if d != nil {
			return nil, d
		}
	}
	return next, nil
}

// runIsUncertain reports whether nothing tells which instance of container i a status shows as
// the given run. The kubelet also counts instances whose start failed, and counts anew in a new
// sandbox; the log counts those that ran.
func (r *Reading) runIsUncertain(i int, run int32) bool {
	return run > 0 && r.ev.Containers[i].StartFailed || r.mayEverStartOver()
}

// onStarted takes an update that shows an instance of container i as running or ended: it has
// been started, and the sync that did so has ended.
func (r *Reading) onStarted(s State, i int, cs *corev1.ContainerStatus, n int) ([]State, *Denial) {
	state, run, states := record.ShownOf(cs).State, cs.RestartCount, []State{s}
	if run > s.c[i].run {
		var d *Denial
		if states, d = r.shownFirst(s, i, cs, n); d != nil {
			return nil, d
		}
	}
	var next []State
	var first *Denial
	for _, t := range states {
		if t.c[i].run != run || t.c[i].progress.isUnstarted() {
			if t.c[i].run > run {
				next = append(next, t)
			}
			continue // its start failed in this branch, yet it is shown
		}
		if state == record.Ended {
			t = t.clone()
			r.ended(&t, i, cs, n)
		}
		after, d := r.syncOfHasEnded(t, i, n, rules.BetweenSyncs)
		if state == record.Running {
			after, d = r.keepIfHookEnded(after, d, i, n, rules.BetweenSyncs)
		}
		next, first = append(next, after...), firstOf(first, d)
	}
	if len(next) == 0 {
		return nil, firstOf(first, because(deny(rules.BetweenSyncs), "container %s is shown as %s, but nothing can have started it", cs.Name, record.StateWord(cs)))
	}
	return next, nil
}

// shownFirst starts an instance of container i of which this status is the first sign.
func (r *Reading) shownFirst(s State, i int, cs *corev1.ContainerStatus, n int) ([]State, *Denial) {
	run, c := cs.RestartCount, &s.c[i]
	if r.p.IsRegular(i) && c.progress.isUnstarted() && !c.progress.isByLaterSync() && !s.startedOver && run == 0 && !s.terminating.known() {
		states, d := r.startSyncHasEnded(s, n, rules.BetweenSyncs)
		if d != nil || !r.kubeletRestarted(n) {
			return states, d
		}
		// Or the kubelet was stopped after the start of this one.
		more, _ := r.start(s, i, run, n)
		return append(slices.Clone(states), more...), nil
	}
	return r.start(s, i, run, n)
}

// ended takes the newest instance of container i as ended. An instance that was stopped with
// its whole Pod is shown as terminated only when all of them have ended.
func (r *Reading) ended(s *State, i int, cs *corev1.ContainerStatus, n int) {
	c := &s.c[i]
	if c.ended.known() {
		return
	}
	c.ended = at(n, rules.Instances)
	end := cs.State.Terminated
	if r.p.Containers[i].Role == podspec.InitContainer && end != nil && end.ExitCode == 0 && !c.nextMayStart.known() {
		c.nextMayStart = at(n, rules.InitOnce)
	}
	if c.kill != byTermination || r.excused(rules.EndsShownTogether, i, n, 0) {
		return // a kubelet that was restarted shows what it finds
	}
	for j := range s.c {
		if o := &s.c[j]; o.progress.isStarted() && !o.ended.known() {
			o.ended = at(n, rules.Together)
		}
	}
}

// onDeleted takes the removal of the object, where n is one.
func (r *Reading) onDeleted(states []State, n int) []State {
	if r.ob(n).Entry.Type != trace.Deleted || r.excused(rules.ObjectAfterStop, -1, n, 0) {
		return states
	}
	for a := range states {
		states[a] = states[a].clone()
		for i := range states[a].c {
			if c := &states[a].c[i]; !c.ended.known() {
				c.ended = at(n, rules.ObjectLast)
			}
		}
	}
	return states
}
