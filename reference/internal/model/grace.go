package model

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/podspec"
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

// graceLeft reports whether the grace period within which container i is being
// stopped had surely not run out when line n was written.
func (r *Reading) graceLeft(s *State, i, n int) bool {
	return r.ev.GraceNeverEnds || r.stoppedWithin(s, i, n, math.MaxInt64)
}

// stoppedWithin reports whether line n was surely written before so much time
// had passed since the stop of container i began, with the grace period not over
// either. A second is left for the arithmetic in whole seconds (killContainer
// floors what it subtracts), and for the clock that an act was recorded by.
func (r *Reading) stoppedWithin(s *State, i, n int, most time.Duration) bool {
	if r.ev.EndTimeUnknown {
		return false // it may have been ended with any period
	}
	var end time.Time
	least := min(time.Duration(r.p.Grace)*time.Second, most)
	for _, a := range r.ev.Ends {
		if a.After(n) {
			break
		}
		by := s.c[i].killCause
		if s.c[i].kill == byTermination && (!by.known() || s.terminating.Obs < by.Obs) {
			by = s.terminating
		}
		if by.known() && by.Obs < a {
			return false // it was being stopped already, and nothing says since when
		}
		// A Pod that is being deleted has the period of its deletion, also for
		// a container that is stopped for another reason.
		g := min(r.grace(a), most)
		least = min(least, g)
		if e := r.obAt(a).Entry.At.Add(g); end.IsZero() || e.Before(end) {
			end = e
		}
	}
	x := r.seenOf(s, i)
	switch s.c[i].kill {
	case byTermination:
		deleted := !end.IsZero()
		if deleted && r.sandboxLostForGood() {
			// Or it was stopped because of its sandbox, before the Pod was deleted and
			// with the grace period of the Pod; no line says which of the two.
			if len(r.ev.SandboxStops) == 0 {
				return false
			}
			if a := r.ev.SandboxStops[0]; !a.After(n) {
				if e := r.obAt(a).Entry.At.Add(least); e.Before(end) {
					end = e
				}
			}
		}
		last, seen := r.endedByItself(s, i, n, deleted)
		if !seen {
			return false
		}
		if e := last.Add(least); !last.IsZero() && (end.IsZero() || e.Before(end)) {
			end = e
		}
	case byProbe:
		spec := &r.p.Containers[i]
		if !spec.Liveness.Declared && !spec.Startup.Declared {
			// Its definition has changed, and no act before has asked for it.
			a := r.ev.Containers[i].Changed
			if a <= 1 || r.kubeletRestarted(n) {
				return false
			}
			end = r.obAt(a).Entry.At.Add(least)
			break
		}
		if x.failing == 0 {
			return false
		}
		g := min(orGrace(spec.Liveness, r.p.Grace), orGrace(spec.Startup, r.p.Grace))
		end = r.writtenAt(x.failing).Add(min(least, time.Duration(g)*time.Second))
		if r.changedBy(i, n) {
			return false // or it was stopped for that
		}
	case byHook:
		if x.hookEnd == 0 || r.kubeletRestartedSince(s.c[i].killCause.Obs, n) {
			return false // or another kubelet has stopped it for another reason
		}
		end = r.writtenAt(x.hookEnd).Add(least)
	default:
		return false
	}
	return r.written(n).Add(r.slack(n)).Before(end.Add(-time.Second))
}

func orGrace(p podspec.Probe, grace int64) int64 {
	if p.Declared {
		return p.Grace
	}
	return grace
}

// stopBegun is the first line that shows an instance being stopped.
func (r *Reading) stopBegun(x *seen) record.Place {
	if x.preStop == 0 || x.term != 0 && x.term < x.preStop {
		return x.term
	}
	return x.preStop
}

// outlivesGrace reports why container i can no longer be alive when line n was written:
// it began to be stopped longer ago than its grace period lasts.
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

// outlivedGrace reports why container i cannot have ended when an update shows it
// to have: the same of one that writes nothing.
func (r *Reading) outlivedGrace(s *State, i int, cs *corev1.ContainerStatus, n int) *Denial {
	end := cs.State.Terminated
	if !record.IsEnd(end) || end.FinishedAt.IsZero() || s.c[i].run != cs.RestartCount {
		return nil
	}
	stop := r.stopOf(s, i, n)
	if stop == nil {
		return nil
	}
	// finishedAt has whole seconds, and is not later than the end.
	lasted := end.FinishedAt.Sub(r.writtenAt(stop.begun)).Round(time.Millisecond)
	if lasted <= stop.most+r.slackAt(stop.begun) {
		return nil
	}
	return stop.denial(cs.Name, "was still alive", lasted)
}

// begunStop is a stop of a container that has surely begun.
type begunStop struct {
	// begun is the first of its lines (index + 1): the stop had begun by then.
	begun record.Place
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
	begun := r.stopBegun(x)
	if begun == 0 || r.ev.GraceNeverEnds || r.excused(rules.GraceEnds, i, n, begun) {
		return nil // or a new kubelet has begun the stop once more, which no log shows
	}
	t := &begunStop{begun: begun, reason: Cause{Rule: rules.Grace}}
	switch s.c[i].kill {
	case byTermination:
		if !s.terminating.known() || len(r.ev.Ends) == 0 && r.ev.EndTimeUnknown {
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
		unlogged := r.mayFailUnlogged(i, n)
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
	if r.ev.EndTimeUnknown || r.deletionForced() || r.sandboxLostForGoodBefore(r.stopBegun(r.seenOf(s, i))) {
		return true
	}
	last, seen := r.endedByItself(s, i, n, true)
	first := r.obAt(r.ev.Ends[0]).Entry.At
	return !seen || !last.IsZero() && last.Add(-time.Second-record.StampSlack).Before(first)
}

// killedTooSoon says why a container cannot have been killed so soon after its
// TERM: the kubelet leaves it two seconds at least.
func (r *Reading) killedTooSoon(s *State, i int, cs *corev1.ContainerStatus, n int) *Denial {
	end := cs.State.Terminated
	if end == nil || end.ExitCode != 137 || end.Reason == "OOMKilled" || end.FinishedAt.IsZero() {
		return nil
	}
	// A line of TERM may come long after the signal. What came surely before
	// the signal is the end of the preStop hook, or the end of the Pod.
	x := r.h[i].at(cs.RestartCount)
	if x.mainEnd != 0 || s.c[i].run != cs.RestartCount {
		return nil
	}
	before, since := x.preStopEnd, time.Time{}
	switch {
	case before != 0 && before < x.term:
		if !r.graceLeft(s, i, before.Index()) {
			return nil // one that outlasts the grace period is not waited for
		}
		since = r.writtenAt(before)
	case before == 0 && r.deletedOnly(s, i):
		// A preStop hook that goes on was waited for until the grace period was over.
		outlasted := x.preStopBegin != 0 && r.ev.Marks(i, trace.PreStop) && len(r.ev.Ends) == 1
		before = r.ev.Ends[0]
		if !outlasted && before > x.term {
			return nil
		}
		since = r.obAt(before).Entry.At.Add(r.ev.ClockAhead)
		grace := time.Duration(0)
		if outlasted {
			grace = r.grace(before)
		}
		if r.podIsOver(s, i) {
			// Or it had come to its end by itself before.
			last, seen := r.endedByItself(s, i, n, true)
			if !seen {
				return nil
			}
			if !last.IsZero() && last.Before(since) {
				since, grace = last, min(grace, time.Duration(r.p.Grace)*time.Second)
			}
		}
		since = since.Add(grace)
	default:
		return nil
	}
	// finishedAt has whole seconds: the end came less than one later.
	if end.FinishedAt.Add(time.Second + record.StampSlack).Before(since.Add(minimumGrace)) {
		return because(deny(rules.KillAfterTerm, Cause{before, rules.KillAfterTerm}, Cause{x.term, rules.KillAfterTerm}), "container %s was killed at %s, less than %s after its TERM", cs.Name, end.FinishedAt.UTC().Format("15:04:05"), minimumGrace)
	}
	return nil
}
