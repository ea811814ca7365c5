package model

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// onEvent takes an Event: what it names had been done when it arrived. Events
// of a later instance prove nothing here that its lines do not.
func (r *Reading) onEvent(s State, n int) ([]State, *Denial) {
	e := r.ob(n).Entry.Event
	i, ok := record.EventContainer(r.p, e)
	if !ok {
		return []State{s}, nil
	}
	c, spec := &s.c[i], &r.p.Containers[i]
	once := r.ev.Containers[i].NewestRun == 0 && !s.startedOver
	switch e.Reason {
	case "Pulling":
		return r.onStartEvent(s, i, n, pulling)
	case "Pulled":
		return r.onStartEvent(s, i, n, pulled)
	case "Created":
		return r.onStartEvent(s, i, n, created)
	case "Started":
		return r.onStartEvent(s, i, n, started)
	case "Killing":
		switch {
		case strings.HasPrefix(e.Message, "Stopping container"):
			if c.progress.isUnstarted() {
				return []State{s}, nil
			}
			next, d := r.stop(s, i, n, byTermination, bySandbox)
			for _, t := range next {
				if t.c[i].run != r.ev.Containers[i].NewestRun {
					// It speaks of an instance that has shown no line yet.
					t.c[i].kill, t.c[i].killCause = c.kill, c.killCause
				}
			}
			if s.startedOver {
				next = append(slices.Clone(next), s) // or of the round before
			}
			return next, d
		case !once:
			// It may speak of any of the instances.
		case strings.Contains(e.Message, "liveness probe"), strings.Contains(e.Message, "startup probe"):
			return r.stop(s, i, n, byProbe)
		case strings.Contains(e.Message, "FailedPostStartHook") && !r.mayBeReplaced(&s, i, n):
			return r.stop(s, i, n, byHook)
		}
	case "FailedPostStartHook":
		x := r.seenOf(&s, i)
		if !spec.PostStart {
			return nil, because(deny(rules.HookFailure), "container %s declares no postStart hook", spec.Name)
		}
		if c.run == 0 && x.hookEnd != 0 && x.hookCode == 0 && once && !r.hookMayHaveDied(&s, i, n) && !r.mayBeReplaced(&s, i, n) {
			return nil, deny(rules.HookFailure, Cause{x.hookEnd, rules.HookFailure}, Cause{r.ev.Containers[i].LastAlive, rules.HookFailure})
		}
	case "FailedPreStopHook":
		if !spec.PreStop {
			return nil, because(deny(rules.EventPossible), "container %s declares no preStop hook", spec.Name)
		}
	case "Unhealthy":
		kind, _, _ := strings.Cut(e.Message, " ")
		for word, a := range map[string]trace.Actor{"Readiness": trace.ReadinessProbe, "Liveness": trace.LivenessProbe, "Startup": trace.StartupProbe} {
			if kind == word && !spec.Has(a) {
				return nil, because(deny(rules.EventPossible), "container %s declares no %s", spec.Name, a)
			}
		}
		if once && !s.terminating.known() {
			if c.progress.isUnstarted() {
				return r.shownFirst(s, i, &corev1.ContainerStatus{}, n)
			}
			return r.syncOfHasEnded(s, i, n, rules.AfterSync)
		}
	}
	return []State{s}, nil
}

// onStartEvent takes an Event of a start. One broadcaster writes them in the
// order in which they were recorded, so they are ordered among themselves.
func (r *Reading) onStartEvent(s State, i, n int, at stage) ([]State, *Denial) {
	c, h := &s.c[i], &r.h[i]
	first := r.ev.Containers[i].NewestRun == 0 && r.ev.Containers[i].StartsPerEvent <= 1 && !r.excused(rules.FirstStartsInOrder, i, n, 0)
	spec := &r.p.Containers[i]
	again := spec.Policy != corev1.RestartPolicyNever || len(spec.Rules) > 0
	// One whose hook has failed is started once more, and its other Events may be lost.
	first = first && !r.mayBeReplaced(&s, i, n) && !(again && r.ev.Containers[i].HookFailed)
	// Nothing but its Events tells of one that writes nothing once the object is gone.
	first = first && !(again && !r.ev.Writes(i, trace.Main) && r.objectGone())
	if first && h.stage > at && !again {
		return nil, deny(rules.EventPossible, Cause{h.stageAt, rules.EventPossible})
	}
	if h.stage >= at || s.startedOver {
		return []State{s}, nil // the container is started again, or it was in another round
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
	case at >= created && !(at == created && r.ev.Containers[i].StartFailed): // one that could not be started was created
		return r.start(s, i, 0, n)
	case r.p.IsRegular(i) && !c.progress.isByLaterSync() && !s.startSyncEnded.known():
		return r.startSyncHasReached(s.clone(), i, n)
	}
	return []State{s}, nil
}

// objectGone reports whether the latest update was the last one.
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
	at := map[string]stage{"Pulling": pulling, "Pulled": pulled, "Created": created, "Started": started}[e.Reason]
	if h := &r.h[i]; at > h.stage {
		h.stage, h.stageAt = at, record.PlaceOf(n)
	}
}
