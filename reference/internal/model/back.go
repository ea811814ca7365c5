// What is due of a kubelet that was restarted, and of all containers after one has asked to restart
// them. Rules: restart/all-come-back.

package model

import (
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// kubeletIsBack is how long a kubelet may take from the act that started it until it has taken up its
// Pods again. This is patience.
const kubeletIsBack = 45 * time.Second

// kubeletBack is the given observation, or the act with which the kubelet was started again after
// it, and how long that may take to be at work. up is false where it does not run by observation n,
// or nothing says when it was restarted.
func (r *Reading) kubeletBack(since record.Place, n int) (from record.Place, takes time.Duration, up bool) {
	from, up = since, !r.ev.RestartAnyTime
	for _, a := range r.ev.Restarts {
		if a.After(n) {
			break
		}
		if a > from || r.obAt(from).At().Before(r.obAt(a).Entry.At.Add(stopping)) {
			from, takes = max(from, a), kubeletIsBack
		}
		up = up && r.obAt(a).Entry.Did.Name != trace.ActStop || r.obAt(a).Entry.Did.Name == trace.ActStart
	}
	return from, takes, up
}

// comesBackOverdue says why container i should have been started again by observation n: another one has asked
// to restart all since it was started, and everything that is listed before it is done again.
func (r *Reading) comesBackOverdue(s *State, i, n int) *Denial {
	asked := r.askedToRestartAll(i)
	if !asked.Known() || r.endedUnasked(n) || s.terminating.known() && s.terminating.Obs <= asked || !r.noSignOf(i, n) || r.passed(asked, n) <= 2*r.patient(patience) {
		return nil
	}
	since, allowed := asked, 2*r.patient(patience)+time.Duration(r.p.Grace)*time.Second
	for j := range r.p.Inits + r.p.Regulars {
		spec, y := &r.p.Containers[j], r.h[j].newest()
		allowed += spec.SleepStart + spec.SleepStop + minimumGrace
		if j >= i {
			if spec.PostStart && y.first.Known() && !y.hookEnd.Known() && !y.mainEnd.Known() {
				return nil // a sync may still be busy with its start
			}
			continue
		}
		done, ok := r.doneAgain(j, y, asked)
		if !ok {
			return nil
		}
		since = max(since, done)
	}
	since, takes, up := r.kubeletBack(since, n)
	if wait := r.passed(since, r.untilEnd(n)); up && wait > allowed+takes && !r.excused(rules.AllComeBack, -1, n, 0) {
		return late(rules.AllComeBack, Cause{asked, rules.BackToLife}, "container %s is not started again, %s after its turn has come; another one has asked to restart all containers", r.p.Containers[i].Name, wait)
	}
	return nil
}

// endedUnasked reports whether something else than an act may have ended the Pod by observation n. What is due
// of one that goes on has to come before the act that ends it; see [Reading.untilEnd].
func (r *Reading) endedUnasked(n int) bool {
	return r.deadlineIsOver(n) || r.ev.EndTimeUnknown || r.sandboxLostForGoodBefore(record.PlaceOf(n))
}

// askedToRestartAll is the last end of another container which asks to restart all, if nothing of
// container i was seen after it; else 0.
func (r *Reading) askedToRestartAll(i int) (asked record.Place) {
	for j := range r.p.Inits + r.p.Regulars {
		if !r.ev.Containers[j].AskedRestartAll {
			continue
		}
		for k := range r.h[j].runs {
			x := &r.h[j].runs[k]
			if x.mainEnd.Known() && !r.stopBegun(x).Known() && r.p.Containers[j].RestartsAllFor(x.mainCode) {
				asked = max(asked, x.mainEnd)
			}
		}
	}
	if x := r.h[i].newest(); x.first > asked || x.run >= 0 && r.h[i].counted > x.run {
		return 0
	}
	return asked
}

// doneAgain is what shows that container j, which is listed earlier, lets the next one start since all
// were asked to restart; ok is false where nothing does.
func (r *Reading) doneAgain(j int, y *seen, asked record.Place) (since record.Place, ok bool) {
	spec := &r.p.Containers[j]
	if y.first <= asked || spec.PostStart && !y.hookEnd.Known() || y.hookCode != 0 || y.failing.Known() {
		return 0, false
	}
	since = max(y.first, y.hookEnd)
	switch {
	case spec.Role == podspec.InitContainer:
		return max(since, y.mainEnd), y.mainEnd.Known() && y.mainCode == 0
	case spec.Role == podspec.Sidecar && spec.Startup.Declared:
		return max(since, y.started), y.started.Known() && !y.mainEnd.Known() && !r.ev.Containers[j].SilentFailure
	case spec.Role == podspec.Sidecar:
		return since, !y.mainEnd.Known()
	}
	return since, true
}
