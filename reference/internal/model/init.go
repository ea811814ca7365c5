// Init containers and sidecars, and what they hold back
// (computeInitContainerActions).
// Rules: init/serial, init/before-regular, init/failure-blocks, init/not-again,
// sidecar/started-before-next, sidecar/hook-failure-holds, sidecar/readiness-holds-nothing.

package model

import (
	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// wouldHaveWaitedFor reports whether container j, which was started for the first time in
// this round, would have waited for an instance of sidecar i that shows only now, if that
// had been started before it: the startup probe of the sidecar would have shown it then.
// What is listed after a sidecar waits for it only until it has been started itself
// (pkg/kubelet/kuberuntime/kuberuntime_container.go, computeInitContainerActions).
func (r *Reading) wouldHaveWaitedFor(s *State, i, j int) bool {
	spec := &r.p.Containers[i]
	return spec.Role == podspec.Sidecar && i == r.p.Inits-1 && j > i && s.c[j].progress.isFirst() && !s.c[j].progress.isByLaterSync() && spec.Startup.Declared && r.ev.Writes(i, trace.StartupProbe) && !r.excused(rules.SidecarStartLogged, i, r.n, 0) && r.probesNeverKill(i)
}

// probesNeverKill reports whether no probe can have sidecar i killed once it has come to its
// start. Otherwise the sync that kills it starts it again, and after it what it held back.
func (r *Reading) probesNeverKill(i int) bool {
	spec := &r.p.Containers[i]
	return r.restartsInTurn(i) && !spec.Liveness.Declared && (!spec.Startup.Declared || !spec.Startup.Network && r.k.StartupProbeStops())
}

// initialize takes the Pod to where what is listed after its first k init containers and
// sidecars may start: each init container of them has exited with 0, and each sidecar has
// been started. The state is the caller's own.
func (r *Reading) initialize(s State, k, n int) (State, *Denial) {
	k = min(k, r.p.Inits)
	rule := rules.InitSerial
	if k == r.p.Inits {
		rule = rules.InitFirst
	}
	for j := range k {
		c, x := &s.c[j], r.seenOf(&s, j)
		if c.nextMayStart.known() {
			continue
		}
		before, unstarted := *c, c.progress.isUnstarted()
		if unstarted {
			// It was started and has left no line so far.
			if c.ended.known() {
				return s, deny(c.ended.Rule, c.ended)
			}
			s, x = withFirstStart(s, j, c.run+1), &unseen
		}
		d := (*Denial)(nil)
		if r.p.Containers[j].Role == podspec.Sidecar {
			d = r.sidecarLetsNextStart(&s, x, j, n)
		} else {
			d = r.initHasSucceeded(&s, x, j, n, rule)
		}
		if d == nil {
			continue
		}
		after := s.c[j]
		s.c[j] = before
		if !r.initSkipped(&s, j, n) {
			return s, d
		}
		if r.p.Containers[j].Role == podspec.Sidecar {
			s.c[j] = after
		} else if unstarted {
			s.c[j].ended = at(n, rule)
		}
		s.c[j].nextMayStart = at(n, rule)
	}
	return s, nil
}

// sidecarLetsNextStart forces that sidecar j was started, so that what is listed after it
// could start. x is what was seen of its newest instance.
func (r *Reading) sidecarLetsNextStart(s *State, x *seen, j, n int) *Denial {
	now, d := r.sidecarHasStarted(&s.c[j], x, j, n)
	if d != nil {
		return d
	}
	s.c[j].nextMayStart = at(n, rules.SidecarStarted)
	if now {
		r.hookHasReturned(s, j, n, rules.SidecarStarted)
	}
	return nil
}

// initHasSucceeded forces that init container j has exited with 0, by the given rule. x is
// what was seen of its newest instance.
func (r *Reading) initHasSucceeded(s *State, x *seen, j, n int, rule string) *Denial {
	c, name := &s.c[j], r.p.Containers[j].Name
	switch {
	case r.excused(rules.InitEndLogged, j, n, 0):
	case x.mainEnd != 0 && x.mainCode != 0:
		return deny(rules.InitFailure, Cause{x.mainEnd, rules.InitFailure})
	case x.mainEnd == 0 && x.mainBegin != 0:
		return because(deny(rule, Cause{x.mainBegin, rule}), "init container %s had begun and not ended", name)
	case x.mainEnd == 0 && r.ev.Marks(j, trace.Main):
		return because(deny(rule), "init container %s logs its end, and had not done so", name)
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
	return nil
}

// succeededRun returns which instance of init container j has exited with 0: the given one,
// or a later one. Where the container writes nothing, only a status tells that an instance
// failed, and it may come later than what is listed after the container.
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

// sidecarHasStarted says why sidecar j cannot have been started by now: its postStart hook
// failed or had not ended, or its startup probe had not succeeded. Any instance of this round
// will do, whatever has become of it since; now tells whether it was the newest one, c. A
// hook that a restart of the kubelet may have cut off counts as ended.
func (r *Reading) sidecarHasStarted(c *instance, x *seen, j, n int) (now bool, why *Denial) {
	spec := &r.p.Containers[j]
	if r.excused(rules.SidecarStartLogged, j, n, 0) {
		return true, nil
	}
	if d := r.onlyHookFailed(j); d != nil {
		return false, d
	}
	var first *Denial
	newest, earlier := false, false // such an instance has a hook that may have been cut off
	for k, x := range append([]seen{*x}, r.h[j].runs...) {
		if k > 0 && (x.run > c.run || x.run <= c.runBeforeRound) {
			continue // a later instance, or one of another round
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
				first = firstOf(first, because(deny(rules.SidecarStarted, Cause{x.hookBegin, rules.SidecarStarted}), "the postStart hook of sidecar %s had not ended", spec.Name))
				continue
			}
		}
		switch {
		case spec.Startup.Declared && r.ev.Writes(j, trace.StartupProbe) && x.started == 0:
			first = firstOf(first, because(deny(rules.SidecarStarted, Cause{x.last, rules.SidecarStarted}), "no startup probe of sidecar %s had succeeded", spec.Name))
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

// onlyHookFailed says why sidecar j was never started: it had one instance, and an Event says
// that the postStart hook of it failed, whether or not that hook writes to the log.
func (r *Reading) onlyHookFailed(j int) *Denial {
	ev := &r.ev.Containers[j]
	if ev.HookFailedEvent == 0 || ev.OnlyInstance == 0 || r.excused(rules.SidecarNeverStarted, j, r.n, 0) {
		return nil
	}
	return because(deny(rules.SidecarHook, Cause{ev.HookFailedEvent, rules.SidecarHook}, Cause{ev.OnlyInstance, rules.SidecarHook}), "the postStart hook of sidecar %s failed, and the sidecar was not started again", r.p.Containers[j].Name)
}
