package model

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// onPod takes a Pod as the watch delivered it. Its status was published by
// then; it may be old, so it is never refused for showing too little.
func (r *Reading) onPod(s State, n int) ([]State, *Denial) {
	pod := r.ob(n).Entry.Pod
	st := &pod.Status
	// Who ends a Pod that has just come to its end by itself may not know that yet.
	ended := r.ev.EndTimeUnknown && st.Phase == corev1.PodFailed
	if record.IsFinal(r.phase) && st.Phase != r.phase && !ended {
		return nil, because(deny(rules.Phase, Cause{r.shownAt, rules.Phase}), "status.phase is %s behind %s, which is final", st.Phase, r.phase)
	}
	if len(st.ContainerStatuses) == 0 {
		if slices.ContainsFunc(r.h, func(h history) bool { return h.shown.Run >= 0 }) && !r.excused(rules.StateForward, -1, n, 0) {
			return nil, because(deny(rules.Forward, Cause{r.shownAt, rules.Forward}), "status.containerStatuses has gone")
		}
		if p := st.Phase; p != corev1.PodPending && p != "" && st.Reason == "" {
			return nil, because(deny(rules.Phase), "status.phase is %s before any container state was shown", p)
		}
		return r.onDeleted([]State{s}, n), nil
	}
	if d := r.objectFits(pod, n); d != nil {
		return nil, d
	}
	states := []State{s}
	for _, list := range [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses, st.EphemeralContainerStatuses} {
		for k := range list {
			cs := &list[k]
			i, ok := r.p.Index[cs.Name]
			if !ok {
				if list := st.EphemeralContainerStatuses; len(list) > 0 && cs == &list[k] {
					continue // the manifest is older than the ephemeral container
				}
				return nil, because(deny(rules.Forward), "the status names container %q, which the Pod does not have", cs.Name)
			}
			var next []State
			var d *Denial
			for _, t := range states {
				after, other := r.onContainer(t, i, cs, n)
				next, d = append(next, after...), firstOf(d, other)
			}
			if len(next) == 0 {
				return nil, d
			}
			states = next
		}
	}
	if d := r.wholeSync(pod, n); d != nil {
		return nil, d
	}
	var d *Denial
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

// onContainer takes the shown state of container i.
func (r *Reading) onContainer(s State, i int, cs *corev1.ContainerStatus, n int) ([]State, *Denial) {
	shown, run, c := record.ShownOf(cs), cs.RestartCount, &s.c[i]
	if shown.Before(r.h[i].shown) && !r.excused(rules.StateForward, i, n, 0) {
		return nil, because(deny(rules.Forward, Cause{r.shownAt, rules.Forward}), "status of container %s goes back to %s", cs.Name, record.StateWord(cs))
	}
	if d := r.wentBack(i, cs); d != nil {
		return nil, d
	}
	if run > 0 && r.ev.Containers[i].StartFailed || r.mayEverStartOver() {
		// The kubelet counts instances whose start failed, and begins anew with
		// a new sandbox; the log counts those that ran. What is shown cannot be
		// told to be of one of them.
		return []State{s}, nil
	}
	if d := r.actsWhileHookSleeps(i, run, startTimeOf(cs), n); d != nil {
		return nil, d
	}
	if shown.State == record.Waiting || run < c.run {
		// It has not been started, or the state is an old one.
		return []State{s}, nil
	}
	states := []State{s}
	if c.progress.isUnstarted() && run <= c.run {
		return states, nil // of the round before
	}
	if run > c.run {
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
		if shown.State == record.Ended {
			t = t.clone()
			r.ended(&t, i, cs, n)
		}
		after, d := r.syncOfHasEnded(t, i, n, rules.BetweenSyncs)
		if shown.State == record.Running {
			after, d = r.keepIfHookEnded(after, d, i, n, rules.BetweenSyncs)
		}
		next, first = append(next, after...), firstOf(first, d)
	}
	if len(next) == 0 {
		return nil, firstOf(first, because(deny(rules.BetweenSyncs), "container %s is shown as %s, but nothing can have started it", cs.Name, record.StateWord(cs)))
	}
	if d := firstOf(r.readyFits(i, cs, n), firstOf(r.lostOverRestart(i, cs, n), firstOf(r.killedTooSoon(&s, i, cs, n), r.outlivedGrace(&s, i, cs, n)))); d != nil {
		return nil, d
	}
	return next, nil
}

// shownFirst starts an instance of which the status is the first sign.
func (r *Reading) shownFirst(s State, i int, cs *corev1.ContainerStatus, n int) ([]State, *Denial) {
	run, c := cs.RestartCount, &s.c[i]
	if r.p.IsRegular(i) && c.progress.isUnstarted() && !c.progress.isByLaterSync() && !s.startedOver && run == 0 && !s.terminating.known() {
		states, d := r.startSyncHasEnded(s, n, rules.BetweenSyncs)
		if d != nil || !r.kubeletRestarted(n) {
			return states, d
		}
		// Or the kubelet was stopped behind the start of this one.
		more, _ := r.start(s, i, run, n)
		return append(slices.Clone(states), more...), nil
	}
	return r.start(s, i, run, n)
}

// ended takes the newest instance of container i as over. One that was stopped
// with its whole Pod is shown as terminated only when all of them are.
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
		return // a kubelet that begins anew shows what it finds
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
