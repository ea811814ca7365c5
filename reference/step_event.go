package reference

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// onEvent takes an Event: what it names had been done when it arrived. Events
// of a later instance prove nothing here that its lines do not.
func (m *model) onEvent(s state, n int) ([]state, *denial) {
	e := m.obs[n].entry.Event
	i, ok := eventContainer(m.p, e)
	if !ok {
		return []state{s}, nil
	}
	c, spec := s.c[i], m.p.containers[i]
	switch e.Reason {
	case "Pulling":
		return m.onStartEvent(s, i, n, pulling)
	case "Pulled":
		return m.onStartEvent(s, i, n, pulled)
	case "Created":
		return m.onStartEvent(s, i, n, created)
	case "Started":
		return m.onStartEvent(s, i, n, started)
	case "Killing":
		switch {
		case strings.HasPrefix(e.Message, "Stopping container"):
			next, d := m.stop(s, i, n, byEnding)
			for _, t := range next {
				if t.c[i].run != m.ev.runs[i] {
					// It speaks of an instance that has shown no line yet.
					t.c[i].kill, t.c[i].killed = c.kill, c.killed
				}
			}
			return next, d
		case m.ev.runs[i] > 0:
			// It may speak of any of the instances.
		case strings.Contains(e.Message, "liveness probe"), strings.Contains(e.Message, "startup probe"):
			return m.stop(s, i, n, byProbe)
		case strings.Contains(e.Message, "FailedPostStartHook"):
			return m.stop(s, i, n, byHook)
		}
	case "FailedPostStartHook":
		if !spec.postStart {
			return nil, because(deny(ruleHookFailure), "container %s declares no postStart hook", spec.name)
		}
		if c.run == 0 && c.hookEnd != 0 && c.hookCode == 0 && m.ev.runs[i] == 0 {
			return nil, deny(ruleHookFailure, cause{c.hookEnd, ruleHookFailure})
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
		if m.ev.runs[i] == 0 {
			return m.instanceDone(s, i, n, ruleAfterSync), nil
		}
	}
	return []state{s}, nil
}

// onStartEvent takes an Event of a start. One broadcaster writes them in the
// order in which they were recorded, so they are ordered among themselves.
func (m *model) onStartEvent(s state, i, n int, at stage) ([]state, *denial) {
	c := s.c[i]
	first := m.ev.runs[i] == 0 && !m.ev.startFailed[i] && !m.ev.eventGap
	if first && c.stage > at && m.p.policy == corev1.RestartPolicyNever {
		return nil, deny(ruleEventPossible, cause{c.stageAt, ruleEventPossible})
	}
	if c.stage >= at {
		return []state{s}, nil // the container is started again
	}
	for j := i + 1; first && j < len(s.c); j++ {
		if s.c[j].stage != unheard && m.ev.runs[j] == 0 && !m.ev.startFailed[j] {
			return nil, deny(ruleListedOrder, cause{s.c[j].stageAt, ruleListedOrder})
		}
	}
	next, d := []state{s.clone()}, (*denial)(nil)
	switch {
	case c.run >= 0:
	case at >= created:
		next, d = m.start(s, i, 0, n)
	case !c.late && !s.synced.known() && !s.ending.known():
		next = m.reach(s, i, n)
	}
	for _, t := range next {
		t.c[i].stage, t.c[i].stageAt = at, int32(n)+1
	}
	return next, d
}

func because(d *denial, format string, args ...any) *denial {
	d.why = fmt.Sprintf(format, args...)
	return d
}
