package model

import (
	"slices"
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
)

// deletionForced reports whether the Pod may have been removed without waiting for its
// node. The API shows a grace period of 0 in the last object of every
// deletion, so that the act decides; without one it may be.
func (r *Reading) deletionForced() bool {
	return len(r.ev.Ends) == 0 || slices.ContainsFunc(r.ev.Ends, func(a record.Place) bool { return r.grace(a) == 0 })
}

// excused reports whether a clause does not hold for container c at observation n: the
// kubelet does not have its rule, or one of the faults that suspend it has befallen the
// Pod. The clause counts from an observation; c is -1 where it is about the whole Pod.
// This is the one place where a fault keeps the model from refusing, or from concluding,
// what the clause says. What a fault explains instead (a start, a stop, a new round)
// stands in the chapter of that.
func (r *Reading) excused(clause rules.Clause, c, n int, from record.Place) bool {
	if !r.k.Holds(clause.Rule()) {
		return true
	}
	for _, s := range clause.Unless() {
		if r.befell(s, c, n, from) {
			return true
		}
	}
	return false
}

// befell reports whether a fault has befallen container c, or the Pod; see excused.
func (r *Reading) befell(s rules.Suspension, c, n int, from record.Place) bool {
	switch s.Fault {
	case rules.KubeletRestart:
		switch s.When {
		case rules.Before:
			return r.kubeletRestarted(n)
		case rules.Since:
			return r.kubeletRestartedSince(from, n)
		}
		return len(r.ev.Restarts) > 0
	case rules.NewSandbox:
		return r.ev.NewSandbox
	case rules.BegunAnew:
		return r.mayEverStartOver()
	case rules.FailedStart:
		if c < 0 {
			return slices.ContainsFunc(r.ev.Containers, func(c record.ContainerEvidence) bool { return c.StartFailed })
		}
		return r.ev.Containers[c].StartFailed
	case rules.Redefined:
		return r.ev.Containers[c].Changed.Known()
	case rules.ForcedDeletion:
		return r.deletionForced()
	case rules.EndedByOthers:
		return r.ev.EndTimeUnknown
	case rules.LogGap:
		return r.ev.LogGap
	case rules.EventGap:
		return r.ev.EventGap
	case rules.LostEvents:
		return r.eventsMayBeLate(n)
	case rules.SilentFailure:
		if s.When == rules.Ever {
			return r.ev.Containers[c].SilentFailure
		}
		return r.mayFailUnlogged(c, n) || r.logOnly && !r.ev.LogComplete
	case rules.LogAlone:
		return r.logOnly
	case rules.StoodStill:
		return r.ev.NodeStoodStill
	}
	panic("no such fault")
}

// stopping is for how long a kubelet that is told to stop may go on. This is
// patience.
const stopping = 5 * time.Second

// kubeletRestartedSince reports whether the kubelet was restarted between two observations:
// the hook that it ran has died then, without an end.
func (r *Reading) kubeletRestartedSince(from record.Place, n int) bool {
	return slices.ContainsFunc(r.ev.Restarts, func(x record.Place) bool {
		if x > from || x.After(n) {
			return !x.After(n)
		}
		return r.obAt(from).At().Before(r.obAt(x).Entry.At.Add(stopping))
	})
}

// kubeletRestarted reports whether the kubelet was restarted by observation n.
func (r *Reading) kubeletRestarted(n int) bool { return r.kubeletRestartedSince(0, n) }

// restartsInTurn reports whether it can be told which sync starts container j again:
// each that finds it exited and its back-off, if there is one, over.
func (r *Reading) restartsInTurn(j int) bool {
	return !r.excused(rules.RestartsInTurn, j, r.n, 0)
}

// changedBy reports whether the definition of container i may have been changed
// by observation n.
func (r *Reading) changedBy(i, n int) bool {
	c := r.ev.Containers[i].Changed
	return c != 0 && !c.After(n)
}

// mayStopForDefinition reports whether the kubelet may stop container i by observation n since
// its definition was changed.
func (r *Reading) mayStopForDefinition(i, n int) bool {
	return r.changedBy(i, n) && (r.p.IsRegular(i) || r.p.Containers[i].Role == podspec.Sidecar && r.k.ReplacesSidecars())
}

// mayFailUnlogged reports whether a probe of container i may have failed by observation n more
// often than lines tell.
func (r *Reading) mayFailUnlogged(i, n int) bool {
	return r.ev.Containers[i].SilentFailure || r.ev.MayDropEvents && !r.ob(n).At().Before(r.ev.EventsWholeUntil)
}

// eventsMayBeLate reports whether the Events may end before they come to observation n.
func (r *Reading) eventsMayBeLate(n int) bool {
	return !r.ev.NewestEvent.IsZero() && r.ev.NewestEvent.Before(r.ob(n).Entry.At)
}

// endRequested reports whether by observation n anything but its containers may have
// ended the Pod. Where nothing is started again, a lost sandbox does.
func (r *Reading) endRequested(n int) bool {
	return r.ev.EndTimeUnknown || r.sandboxLostForGoodBefore(record.PlaceOf(n)) || slices.ContainsFunc(r.ev.Ends, func(x record.Place) bool { return !x.After(n) })
}

// eventsMissing reports whether there may have been Events by observation n that the trace does
// not hold.
func (r *Reading) eventsMissing(n int) bool {
	return r.logOnly || r.ev.EventGap || r.ev.MayDropEvents || len(r.ev.Restarts) > 0 || r.ev.NewestEvent.IsZero() || r.eventsMayBeLate(n)
}

// mayEverStartOver reports whether the containers may have begun anew at all: then
// counts and states of a container may go back.
func (r *Reading) mayEverStartOver() bool {
	return r.ev.NewSandbox || r.p.Gates[rules.GateRestartAll] != ""
}
