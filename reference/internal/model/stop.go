// Why the kubelet stops a container (killContainer and its callers).
// Rules: terminate/cause, restart/kill-after-sync, restart/kills-serial, probes/after-sync, and
// terminate/prestop-before-term of a hook that sleeps, restart/all-containers.

package model

import (
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
)

// stop forces that the kubelet was stopping container i by observation n, for one of the
// given reasons. It returns one state for each reason that it may have had.
func (r *Reading) stop(s State, i, n int, why ...killReason) ([]State, *Denial) {
	if s.c[i].kill != notKilled {
		return []State{s.clone()}, nil
	}
	var next []State
	var first *Denial
	for _, w := range why {
		states, d := r.stopFor(s, i, n, w)
		for a := range states {
			c := &states[a].c[i]
			c.kill, c.killCause = w, at(n, rules.TermCause)
		}
		next, first = append(next, states...), firstOf(first, d)
	}
	if len(next) > 0 {
		return next, nil
	}
	return nil, firstOf(first, because(deny(rules.TermCause), "no earlier deletion, probe failure or hook failure explains why container %s is stopped", r.p.Containers[i].Name))
}

// stopFor forces what was so when the kubelet began to stop container i for a reason. No
// state means that it cannot have had that reason; a denial says why, where a rule does.
func (r *Reading) stopFor(s State, i, n int, w killReason) ([]State, *Denial) {
	switch w {
	case byTermination:
		return r.terminate(s, i, n)
	case byProbe:
		return r.stopForProbe(s, i, n)
	case byHook:
		return r.stopForHook(s, i, n), nil
	case bySandbox:
		return r.stopForSandbox(s, n), nil
	case byRestartAll:
		return r.stopForRestartAll(s, i, n), nil
	}
	return nil, nil
}

// stopForProbe: a probe worker asks for a sync when a liveness or startup probe has failed
// failureThreshold times in a row. That sync kills the container first of all; it does the
// same for a container whose definition was changed
// (pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions and SyncPod). So the
// sync that started the container has ended, and so has every postStart hook.
func (r *Reading) stopForProbe(s State, i, n int) ([]State, *Denial) {
	x := r.seenOf(&s, i)
	redefined := r.mayStopForDefinition(i, n)
	if r.logOnly {
		// It is started again in the same sync; and a reason that the log shows is the better one.
		redefined = redefined && r.ev.Containers[i].NewestRun > s.c[i].run && !r.restartAllShown(&s)
	}
	if !redefined && !r.probeFailed(&s, i) {
		return nil, nil
	}
	if d := r.tooFewFailures(i, x, n); d != nil {
		return nil, d
	}
	states, d := r.syncOfHasEnded(s, i, n, rules.AfterSync)
	// An Event may come late, and tell of a kill before what the lines have shown since.
	late, before := !r.ob(n).IsLog, record.PlaceOf(n)
	if late {
		before = x.failing
	}
	for a := range states {
		t := &states[a]
		r.otherHooksHaveReturned(t, i, n, rules.KillAfterSync, before)
		if late || !r.k.Holds(rules.KillsSerial) {
			continue
		}
		// One sync kills one container after the other, so those before are dead.
		for j := range t.c {
			if c := &t.c[j]; j != i && c.kill == byProbe && !c.ended.known() && !r.excused(rules.KillAwaited, j, n, c.killCause.Obs) {
				c.ended = at(n, rules.KillsSerial)
			}
		}
	}
	return states, d
}

// stopForHook: where a postStart hook fails, the sync that started the container kills it, and
// only then goes on (pkg/kubelet/kuberuntime/kuberuntime_container.go, startContainer).
func (r *Reading) stopForHook(s State, i, n int) []State {
	// A hook that died, or whose HTTP request nobody answered, has left no end, and its Event
	// may be lost. If it writes after this, that line is refused.
	x := r.seenOf(&s, i)
	noEnd := x.hookEnd == 0 && !s.c[i].hookReturned.known()
	succeeded := x.hookEnd != 0 && x.hookCode == 0 && (r.ob(n).IsLog || !r.hookMayHaveDied(&s, i, n))
	if !r.p.Containers[i].PostStart || !r.ev.Containers[i].HookFailed && !noEnd || succeeded {
		return nil
	}
	t := s.clone()
	r.hookHasReturned(&t, i, n, rules.TermCause)
	t.c[i].ended = s.c[i].ended // it is being stopped, and has not ended yet
	return []State{t}
}

// stopForSandbox: the sync that finds the sandbox of the Pod lost kills all containers that
// are left, and the Pod starts over in a new one
// (pkg/kubelet/kuberuntime/kuberuntime_manager.go, SyncPod).
func (r *Reading) stopForSandbox(s State, n int) []State {
	if !r.sandboxMayBeReplaced(&s) {
		return nil
	}
	return []State{r.withHooksReturned(s, n)}
}

// stopForRestartAll: the sync that finds a container exited with a code for which its rules
// restart all containers removes the others, without their preStop hooks: regular containers
// first, then init containers and sidecars, each in the listed order. What asked for it goes
// last; it has exited. Each is waited for before the next one is stopped
// (pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions and SyncPod). A restarted
// kubelet finds the same exit, and begins again with what is left.
func (r *Reading) stopForRestartAll(s State, i, n int) []State {
	if !r.mayRestartAll(&s) {
		return nil
	}
	t := r.withHooksReturned(s, n)
	if r.p.Containers[i].Role == podspec.Ephemeral || !r.k.Holds(rules.RestartAll) {
		return []State{t}
	}
	for j := range r.p.Inits + r.p.Regulars {
		before := r.p.IsRegular(j) && !r.p.IsRegular(i) || r.p.IsRegular(j) == r.p.IsRegular(i) && j < i
		if c := &t.c[j]; before && c.progress.isStarted() && !c.ended.known() {
			c.ended = at(n, rules.RestartAll)
		}
	}
	return []State{t}
}

// withHooksReturned is the state in which every postStart hook that was seen has returned, as
// it has when a sync begins.
func (r *Reading) withHooksReturned(s State, n int) State {
	t := s.clone()
	r.otherHooksHaveReturned(&t, -1, n, rules.KillAfterSync, record.PlaceOf(n))
	return t
}

// preStopSleeps reports whether the preStop hook of container i had surely not returned when
// line n was written. It is a hook that sleeps in the kubelet, so it writes nothing. It takes
// its full time, or what there is of the grace period (pkg/kubelet/lifecycle/handlers.go,
// runSleepHandler).
func (r *Reading) preStopSleeps(s *State, i, n int) bool {
	spec := &r.p.Containers[i]
	d := spec.SleepStop
	if d == 0 || !r.k.Enabled(rules.GateSleepHooks) || r.ev.GraceNeverEnds || r.excused(rules.SleepingPreStop, i, n, 0) {
		return false
	}
	if s.c[i].kill == byProbe && (spec.Liveness.Network || spec.Startup.Network) {
		return false // the kill is not shown by a line, so nothing says when it began
	}
	for _, a := range r.ev.Ends {
		// The clock of the node may be behind. So the hook must not be over by the clock of the
		// recorder either, when the line arrived.
		if act := r.obAt(a).Entry.At; s.c[i].kill == byTermination && !a.After(n) && !r.ob(n).Entry.At.Before(act.Add(min(r.grace(a), d))) {
			return false
		}
	}
	if s.c[i].kill == byTermination && r.sandboxLostForGood() {
		for _, a := range r.ev.SandboxStops {
			if !a.After(n) && !r.ob(n).Entry.At.Before(r.obAt(a).Entry.At.Add(min(time.Duration(r.p.Grace)*time.Second, d))) {
				return false
			}
		}
	}
	return r.stoppedWithin(s, i, n, d)
}

// sleepCause is what preStopSleeps counts from: the sign of why container i is stopped.
func (r *Reading) sleepCause(s *State, i, n int) Cause {
	x := r.seenOf(s, i)
	obs := x.hookEnd
	switch s.c[i].kill {
	case byProbe:
		obs = x.failing
	case byTermination:
		obs = s.terminating.Obs
		for _, a := range r.ev.Ends {
			if !a.After(n) {
				obs = min(obs, a)
			}
		}
	}
	return Cause{obs, rules.PreStopFirst}
}

// stopBegun is the first line that shows the stop of an instance.
func (r *Reading) stopBegun(x *seen) record.Place {
	if x.preStop == 0 || x.term != 0 && x.term < x.preStop {
		return x.term
	}
	return x.preStop
}

// orGrace is the grace period of a probe, or the given one if it is not declared.
func orGrace(p podspec.Probe, grace int64) int64 {
	if p.Declared {
		return p.Grace
	}
	return grace
}
