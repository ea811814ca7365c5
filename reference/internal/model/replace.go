// The duties to replace a container whose image was changed, and all containers when one asks for it
// (computePodActions, computeInitContainerActions).
// Rules: restart/image-changed, restart/all-containers.

package model

import (
	"slices"
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// imageOverdue says why container i, of which an instance ran when its image was changed, should
// have been stopped by observation n: the sync that follows the change does so, whatever the
// restartPolicy. A sidecar has to have started.
func (r *Reading) imageOverdue(s *State, i, n int) *Denial {
	spec, x := &r.p.Containers[i], r.seenOf(s, i)
	since := r.imageChanged(i, n)
	if since == 0 || x.first == 0 || x.first > since || !r.p.IsRegular(i) && (spec.Role != podspec.Sidecar || !r.k.ReplacesSidecars()) {
		return nil
	}
	// What writes nothing meanwhile is alive if it is still shown so: its stop would have left a line.
	shown := r.h[i].shown == record.Shown{Run: s.c[i].run, State: record.Running}
	if r.stopBegun(x) != 0 || x.mainEnd != 0 || !r.ev.Marks(i, trace.Main) || !r.lives(s, i, n) && !(shown && r.noSignOf(i, n)) {
		return nil
	}
	if s.terminating.known() || r.endedUnasked(n) || r.excused(rules.ImageReplaced, i, n, since) {
		return nil
	}
	if spec.Role == podspec.Sidecar && spec.Startup.Declared {
		if x.started == 0 {
			return nil
		}
		since = max(since, x.started)
	}
	// A sync that runs goes first, with its hooks and all that it stops. What is stopped may leave
	// no line before it has ended.
	allowed := r.patient(patience)
	for j := range r.p.Containers {
		other, y := &r.p.Containers[j], r.seenOf(s, j)
		if other.PostStart && y.first != 0 && y.hookEnd == 0 && y.mainEnd == 0 {
			return nil
		}
		since = max(since, y.hookEnd)
		allowed += other.SleepStart + time.Duration(max(r.p.Grace, other.Liveness.Grace, other.Startup.Grace))*time.Second + minimumGrace
	}
	if wait := r.passed(since, r.untilEnd(n)); wait > allowed {
		return late(rules.ImageReplaced, Cause{since, rules.ImageChanged}, "container %s runs on %s after its image was changed", spec.Name, wait)
	}
	return nil
}

// imageChanged is the latest act by observation n that changed the image of container i; 0 if
// there is none.
func (r *Reading) imageChanged(i, n int) record.Place {
	all := r.ev.Containers[i].Images
	k := slices.IndexFunc(all, func(p record.Place) bool { return p.After(n) })
	switch {
	case k < 0 && len(all) > 0:
		return all[len(all)-1]
	case k > 0:
		return all[k-1]
	}
	return 0
}

// allOverdue says why container i, which ran when another one asked to restart all, should have been
// stopped by observation n. That stops them one after the other, with two seconds for each.
func (r *Reading) allOverdue(s *State, i, n int) *Denial {
	x := r.seenOf(s, i)
	if !r.k.Enabled(rules.GateRestartAll) || r.p.Gates[rules.GateRestartAll] == "" || r.p.Containers[i].Role == podspec.InitContainer {
		return nil
	}
	if x.first == 0 || x.mainEnd != 0 || r.stopBegun(x) != 0 || s.terminating.known() || r.endRequested(n) || !r.lives(s, i, n) {
		return nil
	}
	var asked record.Place
	allowed := r.patient(patience) + time.Duration(r.p.Grace)*time.Second
	for j := range r.p.Inits + r.p.Regulars {
		other, y := &r.p.Containers[j], r.seenOf(s, j)
		if s.c[j].progress.isUnstarted() || other.PostStart && y.first != 0 && y.hookEnd == 0 && y.mainEnd == 0 {
			return nil // a sync may be busy with its start
		}
		if y.mainEnd != 0 && y.mainEnd > x.first && r.stopBegun(y) == 0 && other.RestartsAllFor(y.mainCode) && (asked == 0 || y.mainEnd < asked) {
			asked = y.mainEnd
		}
		allowed += other.SleepStart + minimumGrace
	}
	if asked == 0 || r.excused(rules.AllStopped, i, n, asked) {
		return nil
	}
	if wait := r.passed(asked, n); wait > allowed {
		return late(rules.AllStopped, Cause{asked, rules.RestartAll}, "container %s runs on %s after another one had asked to restart all containers", r.p.Containers[i].Name, wait)
	}
	return nil
}
