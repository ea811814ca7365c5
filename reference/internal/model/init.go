package model

import (
	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// wouldHaveWaitedFor reports whether container j, which has been started for the first time
// in this round, waited for the instance of sidecar i that shows only now, if that
// was started before it: its startup probe would have shown it then. What is listed
// behind a sidecar waits for it only until it has begun itself
// (pkg/kubelet/kuberuntime/kuberuntime_container.go, computeInitContainerActions).
func (r *Reading) wouldHaveWaitedFor(s *State, i, j int) bool {
	spec := &r.p.Containers[i]
	return spec.Role == podspec.Sidecar && i == r.p.Inits-1 && j > i && s.c[j].progress.isFirst() && !s.c[j].progress.isByLaterSync() && spec.Startup.Declared && r.ev.Writes(i, trace.StartupProbe) && !r.excused(rules.SidecarStartLogged, i, r.n, 0) && r.probesNeverKill(i)
}

// probesNeverKill reports whether no probe that fails has sidecar i killed once it has
// come to its start: the sync that does so starts it again, and behind it what its
// start had held back.
func (r *Reading) probesNeverKill(i int) bool {
	spec := &r.p.Containers[i]
	return r.restartsInTurn(i) && !spec.Liveness.Declared && (!spec.Startup.Declared || !spec.Startup.Network && r.k.StartupProbeStops())
}

// initialize takes the Pod to where what is listed behind its first k init
// containers and sidecars may start: each of these has exited with 0, or has
// been started. The state is the caller's own.
func (r *Reading) initialize(s State, k, n int) ([]State, *Denial) {
	k = min(k, r.p.Inits)
	for j := range k {
		c, x, spec := &s.c[j], r.seenOf(&s, j), &r.p.Containers[j]
		if c.nextMayStart.known() {
			continue
		}
		if c.progress.isUnstarted() {
			// It has run without a line so far, and, if it is no sidecar, ended.
			if c.ended.known() {
				return nil, deny(c.ended.Rule, c.ended)
			}
			s, x = withFirstStart(s, j, c.run+1), &unseen
			c = &s.c[j]
		}
		if spec.Role == podspec.Sidecar {
			now, d := r.sidecarHasStarted(c, x, j, n)
			if d != nil {
				return nil, d
			}
			c.nextMayStart = at(n, rules.SidecarStarted)
			if now {
				r.hookHasReturned(&s, j, n, rules.SidecarStarted)
			}
			continue
		}
		rule := rules.InitSerial
		if k == r.p.Inits {
			rule = rules.InitFirst
		}
		switch {
		case r.excused(rules.InitEndLogged, j, n, 0):
		case x.mainEnd != 0 && x.mainCode != 0:
			return nil, deny(rules.InitFailure, Cause{x.mainEnd, rules.InitFailure})
		case x.mainEnd == 0 && x.mainBegin != 0:
			return nil, because(deny(rule, Cause{x.mainBegin, rule}), "init container %s has begun and not ended", spec.Name)
		case x.mainEnd == 0 && r.ev.Marks(j, trace.Main):
			return nil, because(deny(rule), "init container %s writes the end of its main process, and has not done so", spec.Name)
		case x.mainEnd != 0:
			rule = rules.InitOnce
		}
		if run := r.succeededRun(j, c.run); run > c.run {
			c.run, c.progress = run, restarted
		}
		c.nextMayStart, c.ended = at(n, rule), at(n, rule)
		if x.mainEnd != 0 {
			c.ended = Cause{x.mainEnd, rules.InitOnce}
		}
	}
	return []State{s}, nil
}

// succeededRun returns which instance of init container j, from one on, has exited with 0:
// where it writes nothing, only the status tells whether that one failed, and may do so
// later than what is listed behind it shows.
func (r *Reading) succeededRun(j int, run int32) int32 {
	if r.ev.Writes(j, trace.Main) {
		return run
	}
	for other := run; other <= r.ev.Containers[j].NewestRun; other++ {
		for _, end := range r.ev.Containers[j].Exits[other] {
			if end.ExitCode == 0 {
				return other
			}
		}
	}
	return run
}

// sidecarHasStarted reports why sidecar j cannot have been started by now: its
// hook failed or still runs, or its startup probe has not succeeded. It tells
// whether the newest instance has been started; an earlier one of this round
// may have been, whatever has become of it.
func (r *Reading) sidecarHasStarted(c *instance, x *seen, j, n int) (now bool, why *Denial) {
	spec := &r.p.Containers[j]
	if r.excused(rules.SidecarStartLogged, j, n, 0) {
		return true, nil
	}
	if d := r.onlyHookFailed(j); d != nil {
		return false, d
	}
	var first *Denial
	newest, earlier := false, false // one whose hook may have been cut off
	for k, x := range append([]seen{*x}, r.h[j].runs...) {
		if k > 0 && (x.run > c.run || x.run <= c.runBeforeRound) {
			continue // of later, or of another round
		}
		cut := false
		switch {
		case x.hookEnd != 0 && x.hookCode != 0:
			if cut = r.kubeletRestartedSince(x.hookEnd, n); !cut {
				first = firstOf(first, deny(rules.SidecarHook, Cause{x.hookEnd, rules.SidecarHook}))
				continue
			}
		case spec.PostStart && x.hookEnd == 0 && (x.hookBegin != 0 || r.ev.Marks(j, trace.PostStart)):
			if cut = r.kubeletRestartedSince(x.hookBegin, n); !cut {
				first = firstOf(first, because(deny(rules.SidecarStarted, Cause{x.hookBegin, rules.SidecarStarted}), "the postStart hook of sidecar %s has not ended", spec.Name))
				continue
			}
		}
		switch {
		case spec.Startup.Declared && r.ev.Writes(j, trace.StartupProbe) && x.started == 0:
			first = firstOf(first, because(deny(rules.SidecarStarted, Cause{x.last, rules.SidecarStarted}), "no startup probe of sidecar %s has succeeded by then", spec.Name))
		case !cut:
			return k == 0, nil
		case k == 0 || x.run == c.run:
			newest = true
		default:
			earlier = true
		}
	}
	if newest || earlier {
		return !earlier, nil
	}
	return false, first
}

// onlyHookFailed says why sidecar j was never started: there was one instance of it, whose
// postStart hook failed, as an Event says, whether or not that hook writes to the log.
func (r *Reading) onlyHookFailed(j int) *Denial {
	ev := &r.ev.Containers[j]
	if ev.HookFailedEvent == 0 || ev.OnlyInstance == 0 || r.excused(rules.SidecarNeverStarted, j, r.n, 0) {
		return nil
	}
	return because(deny(rules.SidecarHook, Cause{ev.HookFailedEvent, rules.SidecarHook}, Cause{ev.OnlyInstance, rules.SidecarHook}), "the postStart hook of sidecar %s failed, and it was not started again", r.p.Containers[j].Name)
}
