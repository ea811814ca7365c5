// The grace period, killContainer of the kubelet: how long a container may live once its stop
// has begun. Rule: terminate/grace-period.

package model

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// minimumGrace is the least time between TERM and KILL
// (pkg/kubelet/kuberuntime/kuberuntime_container.go, minimumGracePeriodInSeconds).
const minimumGrace = 2 * time.Second

// grace is the grace period of a deletion or eviction.
func (r *Reading) grace(of record.Place) time.Duration {
	g := r.p.Grace
	if p, err := r.obAt(of).Entry.Did.Delete(); err == nil && p.GracePeriodSeconds != nil {
		g = *p.GracePeriodSeconds
	}
	return time.Duration(g) * time.Second
}

// graceLeft reports whether the grace period of the stop of container i had surely not run
// out when line n was written.
func (r *Reading) graceLeft(s *State, i, n int) bool {
	return r.ev.GraceNeverEnds || r.stoppedWithin(s, i, n, math.MaxInt64)
}

// stoppedWithin reports whether line n was surely written before so much time had passed
// since the stop of container i began, and before its grace period was over. A second is left
// for arithmetic in whole seconds (killContainer floors what it subtracts), and for the
// clock that an act was recorded by.
func (r *Reading) stoppedWithin(s *State, i, n int, most time.Duration) bool {
	end := r.stopSurelyOverAt(s, i, n, most)
	return !end.IsZero() && r.written(n).Add(r.slack(n)).Before(end.Add(-time.Second))
}

// stopSurelyOverAt is the earliest time at which the grace period of container i, or most if
// that is less, can have been over; zero where nothing says when its stop began.
func (r *Reading) stopSurelyOverAt(s *State, i, n int, most time.Duration) time.Time {
	if r.ev.EndTimeUnknown && r.ev.Period == nil && !r.goesOn(s, i) {
		return time.Time{} // it may have been ended with any period
	}
	end, least, known := r.deletionOverAt(s, i, n, most)
	if !known {
		return time.Time{}
	}
	switch s.c[i].kill {
	case byTermination:
		if r.ev.EndTimeUnknown {
			return r.endOverAt(s, i, most)
		}
		if r.deadlineIsOver(n) {
			at, known := r.deadlineAt()
			if !known {
				return time.Time{}
			}
			end = earlier(end, at.Add(least))
		}
		return r.terminationOverAt(s, i, n, end, least)
	case byProbe:
		return r.probeStopOverAt(s, i, n, least)
	case bySandbox:
		// The hook of a container that is stopped for a new sandbox has the period of the Pod.
		if x := r.seenOf(s, i); r.logOnly && x.preStopBegin.Known() {
			return r.writtenAt(x.preStopBegin).Add(least - r.late())
		}
	case byHook:
		x := r.seenOf(s, i)
		if !x.hookEnd.Known() || r.kubeletRestartedSince(s.c[i].killCause.Obs, n) {
			return time.Time{} // or another kubelet has stopped it for another reason
		}
		return r.writtenAt(x.hookEnd).Add(least)
	}
	return time.Time{}
}

// deletionOverAt is when the first period of the deletions by line n is over, zero if there
// is none, and the least period that the stop of container i may have. known: nothing stopped
// the container before it was deleted.
func (r *Reading) deletionOverAt(s *State, i, n int, most time.Duration) (end time.Time, least time.Duration, known bool) {
	c := &s.c[i]
	stopped := c.killCause
	if c.kill == byTermination && (!stopped.known() || s.terminating.Obs < stopped.Obs) {
		stopped = s.terminating
	}
	if least = min(r.podGrace(), most); r.ev.Period != nil {
		least = min(least, *r.ev.Period)
	}
	for _, a := range r.ev.Ends {
		if a.After(n) {
			break
		}
		if stopped.known() && stopped.Obs < a {
			return time.Time{}, 0, false // it was being stopped already, and nothing says since when
		}
		// A Pod that is being deleted has the period of its deletion, even for a container
		// that is stopped for another reason.
		g := min(r.grace(a), most)
		least = min(least, g)
		end = earlier(end, r.obAt(a).Entry.At.Add(g))
	}
	return end, least, true
}

// terminationOverAt is when the stop of container i with its Pod can have been over. deleted
// is when the period of a deletion, or of a deadline, is, zero if there was none.
func (r *Reading) terminationOverAt(s *State, i, n int, deleted time.Time, least time.Duration) time.Time {
	end := deleted
	if !deleted.IsZero() && r.sandboxLostForGood() {
		// Or it was stopped because its sandbox was lost, before the Pod was deleted and with
		// the grace period of the Pod; no line says which of the two.
		if len(r.ev.SandboxStops) == 0 {
			return time.Time{}
		}
		if a := r.ev.SandboxStops[0]; !a.After(n) {
			end = earlier(end, r.obAt(a).Entry.At.Add(least))
		}
	}
	last, seen := r.endedByItself(s, i, n, !deleted.IsZero())
	if !seen {
		return time.Time{}
	}
	if !last.IsZero() {
		end = earlier(end, last.Add(least))
	}
	return end
}

// probeStopOverAt is when the stop of container i for a failed probe, or because its
// definition changed, can have been over.
func (r *Reading) probeStopOverAt(s *State, i, n int, least time.Duration) time.Time {
	spec, x := &r.p.Containers[i], r.seenOf(s, i)
	if !spec.Liveness.Declared && !spec.Startup.Declared {
		// Its definition has changed. That counts only if an act changed it.
		a := r.ev.Containers[i].Changed
		unknown := a <= record.PlaceOf(0)
		if (r.logOnly || unknown && !r.kubeletRestarted(n)) && x.preStopBegin.Known() {
			return r.writtenAt(x.preStopBegin).Add(least - r.late())
		}
		if unknown || r.kubeletRestarted(n) {
			return time.Time{}
		}
		return r.obAt(a).Entry.At.Add(least)
	}
	if !x.failing.Known() || r.changedBy(i, n) { // or it was stopped for that
		return time.Time{}
	}
	g := min(orGrace(spec.Liveness, r.p.Grace), orGrace(spec.Startup, r.p.Grace))
	return r.writtenAt(x.failing).Add(min(least, time.Duration(g)*time.Second))
}

// outlivesGrace says why container i can no longer be alive when line n was written: its
// stop began longer ago than its grace period lasts.
func (r *Reading) outlivesGrace(s *State, i, n int) *Denial {
	stop := r.stopOf(s, i, n)
	if stop == nil {
		return nil
	}
	lasted := r.between(stop.begun, n)
	if lasted <= stop.most+r.slack(n) {
		return nil
	}
	return stop.denial(r.p.Containers[i].Name, "is still alive", lasted)
}

// outlivedGrace says why container i cannot have ended as late as an update shows it: its
// grace period was over. This is for a container that writes nothing.
// A process that has logged its end exits, and there is nothing to kill; the runtime may note
// that much later, where it was about to run a probe in the container (20 s were recorded).
func (r *Reading) outlivedGrace(s *State, i int, cs *corev1.ContainerStatus, n int) *Denial {
	end := cs.State.Terminated
	if !record.IsEnd(end) || end.FinishedAt.IsZero() || s.c[i].run != cs.RestartCount {
		return nil
	}
	stop := r.stopOf(s, i, n)
	if stop == nil || r.seenOf(s, i).mainEnd.Known() {
		return nil // lines say when it ended
	}
	// finishedAt has whole seconds, and is not later than the end.
	lasted := end.FinishedAt.Sub(r.writtenAt(stop.begun)).Round(time.Millisecond)
	if lasted <= stop.most+r.slackAt(stop.begun) {
		return nil
	}
	return stop.denial(cs.Name, "was still alive", lasted)
}

// outlivedBefore reports why the instance before the one that an update shows cannot have
// ended when it says: it was stopped while the Pod went on, so that its end may stand
// nowhere but in lastState.
func (r *Reading) outlivedBefore(i int, cs *corev1.ContainerStatus, n int) *Denial {
	end := cs.LastTerminationState.Terminated
	if cs.State.Running == nil || !record.IsEnd(end) || end.FinishedAt.IsZero() || cs.RestartCount == 0 {
		return nil // of one that waits, lastState has the end of the instance that is counted
	}
	x, spec := r.h[i].at(cs.RestartCount-1), &r.p.Containers[i]
	stop := &begunStop{begun: r.stopBegun(x), reason: Cause{x.failing, rules.Grace}, grace: r.probeGrace(x, i, n)}
	if stop.begun == 0 || x.mainEnd.Known() || r.ev.GraceNeverEnds || r.excused(rules.GraceEnds, i, n, stop.begun) {
		return nil
	}
	if hook := spec.PostStart && (x.hookEnd == 0 || x.hookCode != 0); hook || !spec.Liveness.Declared && !spec.Startup.Declared {
		stop.grace = max(stop.grace, r.podGrace()) // or it was stopped for its hook, or another definition
	}
	stop.most = r.mostAlive(stop.grace)
	lasted := end.FinishedAt.Sub(r.writtenAt(stop.begun)).Round(time.Millisecond)
	if lasted <= stop.most+r.slackAt(stop.begun) {
		return nil
	}
	return stop.denial(cs.Name, "was still alive", lasted)
}

// begunStop is a stop of a container that has surely begun.
type begunStop struct {
	// begun is the first line of the stop: it had begun by then.
	begun record.Place
	// reason is what the container was stopped for.
	reason Cause
	// grace is the longest period that the stop can have, and most how long the container may
	// live. The preStop hook and the wait of a sidecar for its turn are part of the period.
	// The least time after TERM may follow it
	// (pkg/kubelet/kuberuntime/kuberuntime_container.go, killContainer). What the runtime
	// takes for TERM and KILL is patience.
	grace, most time.Duration
}

func (s *begunStop) denial(name, alive string, lasted time.Duration) *Denial {
	d := late(rules.GraceEnds, Cause{s.begun, rules.Grace}, "container %s %s %s after its stop began, but its grace period is %s", name, alive, lasted, s.grace)
	if s.reason.known() {
		d.Because = append(d.Because, s.reason)
	}
	return d
}

// stopOf is the stop of container i by observation n; nil where there is none, or where
// nothing bounds it.
func (r *Reading) stopOf(s *State, i, n int) *begunStop {
	x := r.seenOf(s, i)
	begun := r.stopBegun(x)
	if begun == 0 || r.ev.GraceNeverEnds || r.logOnly && r.ev.LogComplete || r.excused(rules.GraceEnds, i, n, begun) {
		return nil // a new kubelet may have begun the stop once more, which no log shows
	}
	t := &begunStop{begun: begun, reason: Cause{Rule: rules.Grace}}
	switch s.c[i].kill {
	case byTermination:
		if !s.terminating.known() || len(r.ev.Ends) == 0 && r.ev.EndTimeUnknown && r.ev.Period == nil {
			return nil // somebody ended the Pod, with any period
		}
		t.grace = r.terminationGrace(s, i, n)
	case byProbe:
		t.grace, t.reason.Obs = r.probeGrace(x, i, n), x.failing
	case byHook:
		t.grace, t.reason.Obs = r.podGrace(), x.hookEnd
	case byRestartAll:
		// It has none (pkg/kubelet/kuberuntime/kuberuntime_manager.go, SyncPod).
	default:
		return nil
	}
	t.most = r.mostAlive(t.grace)
	return t
}

// mostAlive is how long a container may live that is stopped with a grace period.
func (r *Reading) mostAlive(grace time.Duration) time.Duration {
	return max(grace, minimumGrace) + minimumGrace + r.late()
}

// podGrace is the terminationGracePeriodSeconds of the Pod.
func (r *Reading) podGrace() time.Duration { return time.Duration(r.p.Grace) * time.Second }

// terminationGrace is the longest period that a stop of the whole Pod may give container i.
// Where nobody ended the Pod, it has come to its end by itself.
func (r *Reading) terminationGrace(s *State, i, n int) time.Duration {
	switch {
	case len(r.ev.Ends) > 0:
	case r.ev.EndTimeUnknown && !r.podIsOver(s, i):
		return *r.ev.Period
	default:
		return r.podGrace()
	}
	var g time.Duration
	for _, a := range r.ev.Ends {
		g = max(g, r.grace(a))
	}
	if r.mayHavePodGrace(s, i, n) {
		g = max(g, r.podGrace())
	}
	return g
}

// probeGrace is the longest period that a stop for a failed liveness or startup probe may
// give instance x of container i: the period of the probe, or that of the Pod where the probe has none
// (pkg/kubelet/kuberuntime/kuberuntime_container.go, setTerminationGracePeriod). Where only
// one of the two probes can have failed often enough, it was that one.
func (r *Reading) probeGrace(x *seen, i, n int) time.Duration {
	spec := &r.p.Containers[i]
	g, any := int64(0), int64(0)
	for _, a := range []trace.Actor{trace.LivenessProbe, trace.StartupProbe} {
		p := spec.Probe(a)
		if !p.Declared {
			continue
		}
		any = max(any, p.Grace)
		unlogged := r.logOnly || r.mayFailUnlogged(i, n)
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

// mayHavePodGrace reports whether container i may be stopped with the grace period of its
// Pod even though the Pod was deleted with another one: the Pod had come to its end by
// itself before, or somebody else ended it. A stop that has begun keeps its period, even if
// a deletion with a shorter one follows (pkg/kubelet/kubelet.go, SyncPod and
// SyncTerminatingPod). A period of 0 counts as none (pkg/kubelet/pod_workers.go,
// calculateEffectiveGracePeriod).
func (r *Reading) mayHavePodGrace(s *State, i, n int) bool {
	if r.endedByOthers(n) || r.deletionForced() || r.sandboxLostForGoodBefore(r.stopBegun(r.seenOf(s, i))) {
		return true
	}
	last, seen := r.endedByItself(s, i, n, true)
	first := r.obAt(r.ev.Ends[0]).Entry.At
	return !seen || !last.IsZero() && last.Add(-time.Second-record.StampSlack).Before(first)
}
