// The Events of a Pod: each names something that the kubelet had done when it arrived. A missing
// Event proves nothing. Rules: events/possible, hooks/poststart-failure, start/listed-order; the
// Events of a stop ask the chapter of that.

package model

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// onEvent takes an Event: what it names had been done when it arrived. An Event of a later
// instance proves nothing here that the lines of that instance do not.
func (r *Reading) onEvent(s State, n int) ([]State, *Denial) {
	e := r.ob(n).Entry.Event
	i, ok := record.EventContainer(r.p, e)
	if !ok {
		return []State{s}, nil
	}
	if at := stageOf(e); at != unheard {
		return r.onStartEvent(s, i, n, at)
	}
	switch e.Reason {
	case "Killing":
		return r.onKilling(s, i, n, e.Message)
	case "FailedPostStartHook":
		return r.onHookFailed(s, i, n)
	case "FailedPreStopHook":
		if spec := &r.p.Containers[i]; !spec.PreStop {
			return nil, because(deny(rules.EventPossible), "container %s has no preStop hook", spec.Name)
		}
	case "Unhealthy":
		return r.onUnhealthy(s, i, n, e)
	}
	return []State{s}, nil
}

// onlyOneInstance reports whether an Event of container i can only be of its first instance.
func (r *Reading) onlyOneInstance(s *State, i int) bool {
	return r.ev.Containers[i].NewestRun == 0 && !s.startedOver
}

// onKilling takes a Killing Event of container i: it tells why the container is stopped.
func (r *Reading) onKilling(s State, i, n int, message string) ([]State, *Denial) {
	switch once := r.onlyOneInstance(&s, i); {
	case strings.HasPrefix(message, "Stopping container"):
		return r.onStoppingContainer(s, i, n)
	case !once:
		// It may be of any of the instances.
	case strings.Contains(message, "liveness probe"), strings.Contains(message, "startup probe"):
		return r.stop(s, i, n, byProbe)
	case strings.Contains(message, "FailedPostStartHook") && !r.mayBeReplaced(&s, i, n):
		return r.stop(s, i, n, byHook)
	}
	return []State{s}, nil
}

// onStoppingContainer takes a Killing Event that gives no reason: container i is stopped with its
// Pod, or with the sandbox.
func (r *Reading) onStoppingContainer(s State, i, n int) ([]State, *Denial) {
	c := &s.c[i]
	if c.progress.isUnstarted() {
		return []State{s}, nil
	}
	next, d := r.stop(s, i, n, byTermination, bySandbox)
	for _, t := range next {
		if t.c[i].run != r.ev.Containers[i].NewestRun {
			// It is of an instance that has shown no line yet.
			t.c[i].kill, t.c[i].killCause = c.kill, c.killCause
		}
	}
	if s.startedOver {
		next = append(slices.Clone(next), s) // or it is of the round before
	}
	return next, d
}

// onHookFailed takes a FailedPostStartHook Event of container i.
func (r *Reading) onHookFailed(s State, i, n int) ([]State, *Denial) {
	spec, x := &r.p.Containers[i], r.seenOf(&s, i)
	if !spec.PostStart {
		return nil, because(deny(rules.HookFailure), "container %s has no postStart hook", spec.Name)
	}
	succeeded := s.c[i].run == 0 && x.hookEnd.Known() && x.hookCode == 0 && r.onlyOneInstance(&s, i)
	if succeeded && !r.hookMayHaveDied(&s, i, n) && !r.mayBeReplaced(&s, i, n) {
		return nil, deny(rules.HookFailure, Cause{x.hookEnd, rules.HookFailure}, Cause{r.ev.Containers[i].LastAlive, rules.HookFailure})
	}
	return []State{s}, nil
}

// onUnhealthy takes an Event of a probe of container i that failed: the probe ran, so the sync
// that started the container has ended.
func (r *Reading) onUnhealthy(s State, i, n int, e *trace.Event) ([]State, *Denial) {
	spec := &r.p.Containers[i]
	if a, ok := record.EventProbe(e); ok && !spec.Has(a) {
		return nil, because(deny(rules.EventPossible), "container %s has no %s", spec.Name, a)
	}
	switch {
	case !r.onlyOneInstance(&s, i), s.terminating.known():
		return []State{s}, nil
	case s.c[i].progress.isUnstarted():
		return r.shownFirst(s, i, &corev1.ContainerStatus{}, n)
	}
	return r.syncOfHasEnded(s, i, n, rules.AfterSync)
}

// stageOf is how far in a start an Event is; unheard if it is of no start.
func stageOf(e *trace.Event) stage {
	switch e.Reason {
	case "Pulling":
		return pulling
	case "Pulled":
		return pulled
	case "Created":
		return created
	case "Started":
		return started
	}
	return unheard
}

// onStartEvent takes an Event of a start of container i. The kubelet sends its Events in the
// order in which it records them, so they are ordered among themselves.
func (r *Reading) onStartEvent(s State, i, n int, at stage) ([]State, *Denial) {
	c, h, ev := &s.c[i], &r.h[i], &r.ev.Containers[i]
	first := r.isFirstStart(&s, i, n)
	if first && h.stage > at && !r.startsAgain(i) {
		return nil, deny(rules.EventPossible, Cause{h.stageAt, rules.EventPossible})
	}
	if h.stage >= at || s.startedOver {
		return []State{s}, nil // the container is started again, or the Event is of another round
	}
	if first && r.p.IsRegular(i) {
		for j := i + 1; j < r.p.Inits+r.p.Regulars; j++ {
			if r.h[j].stage != unheard && r.ev.Containers[j].NewestRun == 0 && !r.excused(rules.FirstStartsInOrder, j, n, 0) {
				return nil, deny(rules.ListedOrder, Cause{r.h[j].stageAt, rules.ListedOrder})
			}
		}
	}
	switch {
	case c.progress.isStarted(), s.terminating.known():
	case h.shownRun >= 0: // it comes late
	case at >= created && !(at == created && ev.StartFailed): // a container that could not be started was created
		return r.start(s, i, 0, n)
	case r.p.IsRegular(i) && !c.progress.isByLaterSync() && !s.startSyncEnded.known():
		return r.startSyncHasReached(s.clone(), i, n)
	}
	return []State{s}, nil
}

// startsAgain reports whether container i is ever started again after it has ended.
func (r *Reading) startsAgain(i int) bool {
	spec := &r.p.Containers[i]
	return spec.Policy != corev1.RestartPolicyNever || len(spec.Rules) > 0
}

// isFirstStart reports whether an Event of a start of container i can only be of its first
// start.
func (r *Reading) isFirstStart(s *State, i, n int) bool {
	ev := &r.ev.Containers[i]
	if ev.NewestRun != 0 || ev.StartsPerEvent > 1 || r.excused(rules.FirstStartsInOrder, i, n, 0) || r.mayBeReplaced(s, i, n) {
		return false
	}
	if !r.startsAgain(i) {
		return true
	}
	// A container whose hook failed is started once more, and its other Events may be lost.
	// And once the object is gone, only Events tell of an instance that writes nothing.
	return !ev.HookFailed && (r.ev.Writes(i, trace.Main) || !r.objectGone())
}

// objectGone reports whether the latest update was the removal of the object.
func (r *Reading) objectGone() bool {
	return r.shownAt > 0 && r.obAt(r.shownAt).Entry.Type == trace.Deleted
}

// recordEvent takes an accepted Event into the history.
func (r *Reading) recordEvent(n int) {
	e := r.ob(n).Entry.Event
	i, ok := record.EventContainer(r.p, e)
	if !ok {
		return
	}
	if h, at := &r.h[i], stageOf(e); at > h.stage {
		h.stage, h.stageAt = at, record.PlaceOf(n)
	}
}
