package reference

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// onEvent takes an Event: what it names had been done when it arrived. Events
// of a later instance prove nothing here that its lines do not.
func (r *reading) onEvent(s state, n int) ([]state, *denial) {
	e := r.ob(n).entry.Event
	i, ok := eventContainer(r.p, e)
	if !ok {
		return []state{s}, nil
	}
	c, spec := &s.c[i], &r.p.containers[i]
	once := r.ev.c[i].runs == 0 && !s.anew
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
			if c.fresh {
				return []state{s}, nil
			}
			next, d := r.stop(s, i, n, byEnding, bySandbox)
			for _, t := range next {
				if t.c[i].run != r.ev.c[i].runs {
					// It speaks of an instance that has shown no line yet.
					t.c[i].kill, t.c[i].killed = c.kill, c.killed
				}
			}
			if s.anew {
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
		if !spec.postStart {
			return nil, because(deny(ruleHookFailure), "container %s declares no postStart hook", spec.name)
		}
		if c.run == 0 && x.hookEnd != 0 && x.hookCode == 0 && once && !r.hookDied(&s, i, n) && !r.mayBeReplaced(&s, i, n) {
			return nil, deny(ruleHookFailure, cause{x.hookEnd, ruleHookFailure}, cause{r.ev.c[i].alive, ruleHookFailure})
		}
	case "FailedPreStopHook":
		if !spec.preStop {
			return nil, because(deny(ruleEventPossible), "container %s declares no preStop hook", spec.name)
		}
	case "Unhealthy":
		kind, _, _ := strings.Cut(e.Message, " ")
		for word, a := range map[string]trace.Actor{"Readiness": trace.ReadinessProbe, "Liveness": trace.LivenessProbe, "Startup": trace.StartupProbe} {
			if kind == word && !spec.has(a) {
				return nil, because(deny(ruleEventPossible), "container %s declares no %s", spec.name, a)
			}
		}
		if once && !s.ending.known() {
			if c.fresh {
				return r.shownFirst(s, i, &corev1.ContainerStatus{}, n)
			}
			return r.instanceDone(s, i, n, ruleAfterSync)
		}
	}
	return []state{s}, nil
}

// mayBeReplaced reports whether container i may have been started again by
// observation n, in the sync that stopped it or since it has ended: then an Event may
// speak of an instance that neither a line nor an update shows yet.
func (r *reading) mayBeReplaced(s *state, i, n int) bool {
	spec := &r.p.containers[i]
	again := spec.policy != corev1.RestartPolicyNever || len(spec.rules) > 0
	return again && (r.seenOf(s, i).mainEnd != 0 || r.probeFailed(s, i)) || r.redefined(i, n)
}

// onStartEvent takes an Event of a start. One broadcaster writes them in the
// order in which they were recorded, so they are ordered among themselves.
func (r *reading) onStartEvent(s state, i, n int, at stage) ([]state, *denial) {
	c, h := &s.c[i], &r.h[i]
	first := r.ev.c[i].runs == 0 && r.ev.c[i].starts <= 1 && !r.ev.c[i].startFailed && !r.ev.eventGap && !r.roundsInTrace()
	spec := &r.p.containers[i]
	again := spec.policy != corev1.RestartPolicyNever || len(spec.rules) > 0
	// One whose hook has failed is started once more, and its other Events may be lost.
	first = first && !r.mayBeReplaced(&s, i, n) && !(again && r.ev.c[i].hookFailed)
	// Nothing but its Events tells of one that writes nothing once the object is gone.
	first = first && !(again && !r.ev.writes(i, trace.Main) && r.objectGone())
	if first && h.stage > at && !r.kubeletRestarted(n) && !again {
		return nil, deny(ruleEventPossible, cause{h.stageAt, ruleEventPossible})
	}
	if h.stage >= at || s.anew {
		return []state{s}, nil // the container is started again, or it was in another round
	}
	if first && r.p.isRegular(i) && !r.kubeletRestarted(n) {
		for j := i + 1; j < r.p.inits+r.p.regulars; j++ {
			if r.h[j].stage != unheard && r.ev.c[j].runs == 0 && !r.ev.c[j].startFailed {
				return nil, deny(ruleListedOrder, cause{r.h[j].stageAt, ruleListedOrder})
			}
		}
	}
	switch {
	case !c.fresh, s.ending.known():
	case h.shownRun >= 0: // it comes late
	case at >= created && !(at == created && r.ev.c[i].startFailed): // one that could not be started was created
		return r.start(s, i, 0, n)
	case r.p.isRegular(i) && !c.late && !s.synced.known():
		return r.reach(s.clone(), i, n)
	}
	return []state{s}, nil
}

// objectGone reports whether the latest update was the last one.
func (r *reading) objectGone() bool {
	return r.shownAt > 0 && r.ob(int(r.shownAt)-1).entry.Type == trace.Deleted
}

// hear takes an accepted Event into the history.
func (r *reading) hear(n int) {
	e := r.ob(n).entry.Event
	i, ok := eventContainer(r.p, e)
	if !ok {
		return
	}
	at := map[string]stage{"Pulling": pulling, "Pulled": pulled, "Created": created, "Started": started}[e.Reason]
	if h := &r.h[i]; at > h.stage {
		h.stage, h.stageAt = at, int32(n)+1
	}
}

func because(d *denial, format string, args ...any) *denial {
	d.why = fmt.Sprintf(format, args...)
	return d
}
