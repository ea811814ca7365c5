package model

import (
	"slices"
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
)

// forced reports whether the Pod may have been removed without waiting for its
// node. The API shows a grace period of 0 in the last object of every
// deletion, so that the act decides; without one it may be.
func (r *Reading) forced() bool {
	return len(r.ev.Ends) == 0 || slices.ContainsFunc(r.ev.Ends, func(a record.Place) bool { return r.grace(a) == 0 })
}

// stopping is for how long a kubelet that is told to stop may go on. This is
// patience.
const stopping = 5 * time.Second

// cutOff reports whether the kubelet was restarted between two observations:
// the hook that it ran has died then, without an end.
func (r *Reading) cutOff(from record.Place, n int) bool {
	return slices.ContainsFunc(r.ev.Restarts, func(x record.Place) bool {
		if x > from || x.After(n) {
			return !x.After(n)
		}
		return r.obAt(from).At().Before(r.obAt(x).Entry.At.Add(stopping))
	})
}

// kubeletRestarted reports whether the kubelet was restarted by observation n.
func (r *Reading) kubeletRestarted(n int) bool { return r.cutOff(0, n) }

// foreseeable reports whether it can be told which sync starts container j again:
// each that finds it exited and its back-off, if there is one, over.
func (r *Reading) foreseeable(j int) bool {
	return !r.ev.Containers[j].StartFailed && r.ev.Containers[j].Changed == 0 && len(r.ev.Restarts) == 0 && !r.mayBeginAgain()
}

// changedBy reports whether the definition of container i may have been changed
// by observation n.
func (r *Reading) changedBy(i, n int) bool {
	c := r.ev.Containers[i].Changed
	return c != 0 && !c.After(n)
}

// redefined reports whether the kubelet may stop container i by observation n since
// its definition was changed.
func (r *Reading) redefined(i, n int) bool {
	return r.changedBy(i, n) && (r.p.IsRegular(i) || r.p.Containers[i].Role == podspec.Sidecar && r.k.ReplacesSidecars())
}

// unlogged reports whether a probe of container i may have failed by observation n more
// often than lines tell.
func (r *Reading) unlogged(i, n int) bool {
	return r.ev.Containers[i].Unlogged || r.ev.Crowded && !r.ob(n).At().Before(r.ev.HeardUntil)
}

// eventsBehind reports whether the Events may end before they come to observation n.
func (r *Reading) eventsBehind(n int) bool {
	return !r.ev.ToldUntil.IsZero() && r.ev.ToldUntil.Before(r.ob(n).Entry.At)
}

// endAsked reports whether by observation n anything but its containers may have
// ended the Pod. Where nothing is started again, a lost sandbox does.
func (r *Reading) endAsked(n int) bool {
	return r.ev.EndsAnyTime || r.lostBefore(record.PlaceOf(n)) || slices.ContainsFunc(r.ev.Ends, func(x record.Place) bool { return !x.After(n) })
}

// eventsMissing reports whether there may have been Events by observation n that the trace does
// not hold.
func (r *Reading) eventsMissing(n int) bool {
	return r.logOnly || r.ev.EventGap || r.ev.Crowded || len(r.ev.Restarts) > 0 || r.ev.ToldUntil.IsZero() || r.eventsBehind(n)
}

// mayBeginAgain reports whether the containers may have begun anew at all: then
// counts and states of a container may go back.
func (r *Reading) mayBeginAgain() bool {
	return r.ev.NewSandbox || r.p.Gates[rules.GateRestartAll] != ""
}
