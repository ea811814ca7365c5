package model

import (
	"time"

	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// tooLate reports why container i can no longer be alive when line n was written:
// it began to be stopped longer ago than its grace period lasts.
func (r *Reading) tooLate(s *State, i, n int) *Denial {
	stop := r.stopOf(s, i, n)
	if stop == nil {
		return nil
	}
	lasted := r.between(int(stop.begun)-1, n)
	if lasted <= stop.most+r.slack(n) {
		return nil
	}
	return stop.denial(r.p.Containers[i].Name, "is still alive", lasted)
}

// endedTooLate reports why container i cannot have ended when an update shows it
// to have: the same of one that writes nothing.
func (r *Reading) endedTooLate(s *State, i int, cs *corev1.ContainerStatus, n int) *Denial {
	end := cs.State.Terminated
	if !record.IsEnd(end) || end.FinishedAt.IsZero() || s.c[i].run != cs.RestartCount {
		return nil
	}
	stop := r.stopOf(s, i, n)
	if stop == nil {
		return nil
	}
	// finishedAt has whole seconds, and is not later than the end.
	lasted := end.FinishedAt.Sub(r.written(int(stop.begun) - 1)).Round(time.Millisecond)
	if lasted <= stop.most+r.slack(int(stop.begun)-1) {
		return nil
	}
	return stop.denial(cs.Name, "was still alive", lasted)
}

// begunStop is a stop of a container that has surely begun.
type begunStop struct {
	// begun is the first of its lines (index + 1): the stop had begun by then.
	begun int32
	// reason is what it was stopped for.
	reason Cause
	// grace is the longest period that it can have, and most how long the
	// container may live: the preStop hook and the wait of a sidecar for its turn
	// are part of the period, and the least time behind TERM may follow it
	// (pkg/kubelet/kuberuntime/kuberuntime_container.go, killContainer). What the
	// runtime takes for TERM and KILL is patience.
	grace, most time.Duration
}

func (s *begunStop) denial(name, alive string, lasted time.Duration) *Denial {
	return because(deny(rules.Grace, Cause{s.begun, rules.Grace}, s.reason), "container %s %s %s after it began to be stopped, with a grace period of %s", name, alive, lasted, s.grace)
}

// stopOf is the stop of container i by observation n; nil where there is none, or
// none with an end that is known.
func (r *Reading) stopOf(s *State, i, n int) *begunStop {
	x := r.seenOf(s, i)
	t := &begunStop{begun: r.stopBegun(x), reason: Cause{Rule: rules.Grace}}
	if t.begun == 0 || r.ev.Ample || r.logOnly || r.cutOff(t.begun, n) {
		return nil // or a new kubelet has begun the stop once more, which no log shows
	}
	switch s.c[i].kill {
	case byEnding:
		if !s.ending.known() || len(r.ev.Ends) == 0 && r.ev.EndsAnyTime {
			return nil // somebody ended it, with any period
		}
		t.grace = r.endingGrace(s, i, n)
	case byProbe:
		t.grace, t.reason.Obs = r.probeGrace(s, i, n), x.failing
	case byHook:
		t.grace, t.reason.Obs = r.podGrace(), x.hookEnd
	default:
		return nil
	}
	t.most = max(t.grace, minimumGrace) + minimumGrace + r.patient(patience)
	return t
}

func (r *Reading) podGrace() time.Duration { return time.Duration(r.p.Grace) * time.Second }

// endingGrace is the longest that a stop of the whole Pod may give container i.
// Where nobody ended the Pod, it has come to its end by itself.
func (r *Reading) endingGrace(s *State, i, n int) time.Duration {
	if len(r.ev.Ends) == 0 {
		return r.podGrace()
	}
	var g time.Duration
	for _, a := range r.ev.Ends {
		g = max(g, r.grace(a))
	}
	if r.hasOwnGrace(s, i, n) {
		g = max(g, r.podGrace())
	}
	return g
}

// probeGrace is the longest that a stop for a failed liveness or startup probe
// may give container i: the period of the probe, or that of the Pod where it has
// none (pkg/kubelet/kuberuntime/kuberuntime_container.go, setTerminationGracePeriod).
// Where only one of the two can have failed often enough, it was that.
func (r *Reading) probeGrace(s *State, i, n int) time.Duration {
	spec, x := &r.p.Containers[i], r.seenOf(s, i)
	g, any := int64(0), int64(0)
	for _, a := range []trace.Actor{trace.LivenessProbe, trace.StartupProbe} {
		p := spec.Probe(a)
		if !p.Declared {
			continue
		}
		any = max(any, p.Grace)
		unlogged := r.unlogged(i, n)
		if a == trace.LivenessProbe && spec.Startup.Declared && x.started == 0 && r.ev.Writes(i, trace.StartupProbe) && !unlogged {
			continue // it waits for the startup probe
		}
		if p.Network || !r.ev.Writes(i, a) || unlogged || x.failures[record.RowOf(a)]+1 >= p.Failures {
			g = max(g, p.Grace)
		}
	}
	if g == 0 {
		g = any
	}
	if r.changedBy(i, n) {
		g = max(g, r.p.Grace) // or it was stopped for that
	}
	return time.Duration(g) * time.Second
}

// hasOwnGrace reports whether container i may be stopped with the grace period of its
// Pod though that was deleted with another one: the Pod had come to its end by itself
// before, or somebody else ended it. A stop that has begun keeps its period: the call
// for it does not hear of a shorter one (pkg/kubelet/kubelet.go, SyncPod and
// SyncTerminatingPod). A period of 0 is none (pkg/kubelet/pod_workers.go,
// calculateEffectiveGracePeriod).
func (r *Reading) hasOwnGrace(s *State, i, n int) bool {
	if r.ev.EndsAnyTime || r.forced() || r.lostBefore(r.stopBegun(r.seenOf(s, i))) {
		return true
	}
	last, seen := r.endedByItself(s, i, n, true)
	first := r.ob(int(r.ev.Ends[0]) - 1).Entry.At
	return !seen || !last.IsZero() && last.Add(-time.Second-record.StampSlack).Before(first)
}
