// What suspends a rule, or a clause of it, such as a restart of the kubelet, a
// failed start or a gap in the trace. Every chapter asks excused before it refuses or concludes
// something that a fault may explain.

package model

import (
	"slices"
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// excused reports whether a clause does not hold for container c at observation n: the kubelet
// does not have its rule, or a fault that suspends the clause has befallen the Pod. Where a
// clause is suspended by a fault in between, from is the observation since which it counts.
// c is -1 where the clause is about the whole Pod.
//
// This is the only place where a fault keeps the model from refusing what the clause says, or
// from concluding by it. What a fault explains instead (a start, a stop, a new round) is in
// the chapter of that.
func (r *Reading) excused(clause rules.Clause, c, n int, from record.Place) bool {
	return r.excusedOf(clause, c, trace.Main, n, from)
}

// excusedOf is excused where the clause is about one probe of the container: that another one has failed
// without a line explains nothing of this one.
func (r *Reading) excusedOf(clause rules.Clause, c int, a trace.Actor, n int, from record.Place) bool {
	if !r.k.Holds(clause.Rule()) {
		return true
	}
	for _, s := range clause.Unless() {
		if s.Fault == rules.SilentFailure && a.IsProbe() && !r.ev.FailedSilently(c, a) && !r.ev.MayDropEvents {
			continue
		}
		if r.befell(s, c, n, from) && (r.ignores == nil || !r.ignores(clause, s)) {
			return true
		}
	}
	return false
}

// befell reports whether the fault has befallen container c, or its Pod, at the time that the
// suspension names; n and from are those of excused.
func (r *Reading) befell(s rules.Suspension, c, n int, from record.Place) bool {
	switch s.Fault {
	case rules.KubeletRestart:
		switch s.When {
		case rules.Before:
			return r.kubeletRestarted(n)
		case rules.Since:
			return r.kubeletRestartedSince(from, n)
		}
		return r.ev.RestartAnyTime || len(r.ev.Restarts) > 0
	case rules.NewSandbox:
		return r.ev.NewSandbox
	case rules.BegunAnew:
		return r.mayEverStartOver()
	case rules.FailedStart:
		if c < 0 {
			return slices.ContainsFunc(r.ev.Containers, func(c record.ContainerEvidence) bool { return c.StartFailed })
		}
		return r.ev.Containers[c].StartFailed
	case rules.FailedPreStop:
		return r.ev.Containers[c].PreStopFailed
	case rules.Redefined:
		return r.ev.Containers[c].Changed.Known()
	case rules.ForcedDeletion:
		return r.deletionForced()
	case rules.EndedByOthers:
		return r.endedByOthers(n)
	case rules.LogGap:
		return r.ev.LogGap && !r.beforeCut(n)
	case rules.EventGap:
		return r.ev.EventGap
	case rules.UpdateGap:
		return r.ev.UpdateGap
	case rules.LostEvents:
		return r.eventsMayBeLate(n)
	case rules.SilentFailure:
		if s.When == rules.Ever {
			return r.ev.Containers[c].SilentFailure
		}
		return r.mayFailUnlogged(c, n)
	case rules.LogAlone:
		return r.logOnly
	case rules.StoodStill:
		return r.ev.NodeStoodStill
	}
	panic("no such fault")
}

// stopping is how long a kubelet may go on after it was told to stop. This is patience.
const stopping = 5 * time.Second

// beforeCut reports whether no line is missing that is older than observation n: the log was only
// cut off, and later. An update is from before it came, by the clock of the recorder, of which
// that of the node may differ by a second.
func (r *Reading) beforeCut(n int) bool {
	switch o := r.ob(n); {
	case r.ev.LogCut.IsZero():
		return false
	case o.IsLog:
		return true
	default:
		return o.Entry.At.Add(time.Second).Before(r.ev.LogCut)
	}
}

// kubeletRestartedSince reports whether the kubelet was restarted between two observations. A
// hook that it ran then has died, and logs no end.
func (r *Reading) kubeletRestartedSince(from record.Place, n int) bool {
	if r.ev.RestartAnyTime {
		return !from.Known() || !r.ob(n).IsLog || r.between(from, n)+r.slack(n) > kubeletTakes
	}
	return slices.ContainsFunc(r.ev.Restarts, func(x record.Place) bool {
		if x > from || x.After(n) {
			return !x.After(n)
		}
		return r.obAt(from).At().Before(r.obAt(x).Entry.At.Add(stopping))
	})
}

// kubeletRestarted reports whether the kubelet was restarted by observation n.
func (r *Reading) kubeletRestarted(n int) bool { return r.kubeletRestartedSince(0, n) }

// restartsInTurn reports whether it is known which sync starts container j again: the first one
// that finds it exited and its back-off, if there is one, over. So containers that are due
// in one sync are started again in their order.
func (r *Reading) restartsInTurn(j int) bool {
	return !r.excused(rules.RestartsInTurn, j, r.n, 0)
}

// changedBy reports whether the definition of container i may have been changed by observation
// n.
func (r *Reading) changedBy(i, n int) bool {
	c := r.ev.Containers[i].Changed
	return c != 0 && !c.After(n)
}

// mayStopForDefinition reports whether the kubelet may stop container i by observation n because
// its definition was changed.
func (r *Reading) mayStopForDefinition(i, n int) bool {
	return r.changedBy(i, n) && (r.p.IsRegular(i) || r.p.Containers[i].Role == podspec.Sidecar && r.k.ReplacesSidecars())
}

// mayFailUnlogged reports whether a probe of container i may have failed by observation n more
// often than the log tells.
func (r *Reading) mayFailUnlogged(i, n int) bool {
	of := &r.ev.Containers[i]
	return of.SilentFailure && !r.ob(n).At().Before(of.SilentFrom) || r.ev.MayDropEvents && !r.ob(n).At().Before(r.ev.EventsWholeUntil)
}

// eventsMayBeLate reports whether Events that were recorded before observation n may not have
// arrived when the trace ended.
func (r *Reading) eventsMayBeLate(n int) bool {
	return !r.ev.NewestEvent.IsZero() && r.ev.NewestEvent.Before(r.ob(n).Entry.At)
}

// endRequested reports whether something other than the exits of its containers may have ended
// the Pod by observation n: a deletion, an eviction, or a lost sandbox that is not replaced.
func (r *Reading) endRequested(n int) bool {
	return r.deadlineIsOver(n) || r.ev.EndTimeUnknown && !r.written(n).Add(r.slack(n)).Before(r.ev.EndedFrom) || r.sandboxLostForGoodBefore(record.PlaceOf(n)) || slices.ContainsFunc(r.ev.Ends, func(x record.Place) bool { return !x.After(n) })
}

// eventsMissing reports whether the kubelet may have recorded Events by observation n that the
// trace does not hold.
func (r *Reading) eventsMissing(n int) bool {
	return r.logOnly || r.ev.EventGap || r.ev.MayDropEvents || len(r.ev.Restarts) > 0 || r.ev.NewestEvent.IsZero() || r.eventsMayBeLate(n)
}

// mayEverStartOver reports whether all containers may have been started over anywhere in the
// trace. Then the restart count and the state of a container may go back.
func (m *model) mayEverStartOver() bool { return m.startsOver }

// deletionForced reports whether the Pod may have been removed without waiting for its node.
// The last object of every deletion has a grace period of 0, so only the act tells. Where no
// act ended the Pod, it may have been.
func (r *Reading) deletionForced() bool {
	return len(r.ev.Ends) == 0 || slices.ContainsFunc(r.ev.Ends, func(a record.Place) bool { return r.grace(a) == 0 })
}
