// The termination of a Pod, SyncTerminatingPod of the kubelet: when it begins, what has stopped by
// then, and in which order sidecars get TERM. Rules: terminate/after-sync, terminate/no-start-after,
// terminate/prestop-before-term, hooks/prestop-runs, sidecar/stops-last, sidecar/reverse-order, restart/all-containers.

package model

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
)

// endedByItself is when the Pod came to its end by itself: when its last regular container
// ended, or an init container failed for good. It is zero where the Pod was deleted and one of
// its regular containers had not ended when the stop of container i began. seen reports whether the
// end of each container that matters was seen.
func (r *Reading) endedByItself(s *State, i, n int, deleted bool) (last time.Time, seen bool) {
	if deleted && !r.podIsOver(s, i) {
		return time.Time{}, true
	}
	if j := r.failedInit(s); j >= 0 {
		x := r.seenOf(s, j)
		if x.mainEnd == 0 || x.mainCode == 0 {
			return time.Time{}, false // it wrote nothing of its end
		}
		return r.writtenAt(x.mainEnd), true
	}
	begun := r.stopBegun(r.seenOf(s, i))
	if begun == 0 {
		begun = record.PlaceOf(n)
	}
	for j := r.p.Inits; j < r.p.Inits+r.p.Regulars; j++ {
		y := r.seenOf(s, j)
		died := s.c[j].progress.isStarted() && r.h[j].over >= s.c[j].run
		switch {
		case y.mainEnd == 0 && (died || !deleted), r.stoppedForGood(s, j):
			return time.Time{}, false // container j may have been stopped with the Pod
		case deleted && (y.mainEnd == 0 || y.mainEnd > begun):
			return time.Time{}, true
		}
		if e := r.writtenAt(y.mainEnd); e.After(last) {
			last = e
		}
	}
	return last, true
}

// onTerm takes the TERM of container i, which is being stopped. The state is the caller's own.
func (r *Reading) onTerm(s State, i, n int) ([]State, *Denial) {
	c, x := &s.c[i], r.seenOf(&s, i)
	spec := &r.p.Containers[i]
	left := r.graceLeft(&s, i, n)
	if x.preStopBegin.Known() && !x.preStopEnd.Known() && !r.excused(rules.RunningPreStop, i, n, 0) {
		if r.logOnly && !left && c.kill == byTermination {
			r.periodIsOver(&s, at(n, rules.PreStopFirst))
		}
		if left {
			return nil, because(deny(rules.PreStopFirst, Cause{x.preStopBegin, rules.PreStopFirst}), "container %s got TERM before its preStop hook had ended, and its grace period was not over", spec.Name)
		}
	}
	if r.preStopSleeps(&s, i, n) {
		return nil, because(deny(rules.PreStopFirst, r.sleepCause(&s, i, n)), "container %s got TERM before its %s preStop sleep was over, and its grace period was not over", spec.Name, spec.SleepStop)
	}
	if d := firstOf(r.preStopSkipped(&s, i, n), r.sidecarOverdue(&s, i, n)); d != nil {
		return nil, d
	}
	if c.kill != byTermination || spec.Role != podspec.Sidecar || !left && !r.logOnly {
		return []State{s}, nil
	}
	over := s
	if !left {
		over = s.clone()
	}
	r.stoppedInTurn(&s, i, n)
	// A sidecar waits for its turn: for the regular containers, and for the sidecars listed
	// after it.
	for j := i + 1; j < r.p.Inits+r.p.Regulars; j++ {
		rule := rules.SidecarsLast
		if j < r.p.Inits {
			rule = rules.SidecarsReverse
		}
		if o := &s.c[j]; o.progress.isStarted() && !o.ended.known() && r.waitsFor(&s, i, j) {
			o.ended = at(n, rule)
		}
	}
	if !left {
		return r.waitsOrPeriodIsOver(over, s, i, n), nil
	}
	return []State{s}, nil
}

// waitsFor reports whether sidecar i, before it gets TERM, waits for container j, which is listed
// after it. It waits for each regular container, and for the next sidecar, which waits for
// the one after that. A sidecar that did not run when the termination began breaks this chain
// (pkg/kubelet/kuberuntime/kuberuntime_termination_order.go, newTerminationOrdering).
func (r *Reading) waitsFor(s *State, i, j int) bool {
	if r.p.IsRegular(j) {
		return true
	}
	for k := i + 1; k < j; k++ {
		if r.p.Containers[k].Role != podspec.Sidecar {
			continue
		}
		if r.deadAtTermination(s, k) {
			return false
		}
	}
	return r.p.Containers[j].Role == podspec.Sidecar
}

// deadAtTermination reports whether container k may not have run when the termination of the Pod
// began.
func (r *Reading) deadAtTermination(s *State, k int) bool {
	c, x := &s.c[k], r.seenOf(s, k)
	ended := x.mainEnd != 0 && x.mainEnd < s.terminating.Obs || c.ended.known() && c.ended.Obs < s.terminating.Obs
	// If it died without a line, a status may show that only later.
	died := x.mainEnd == 0 && x.term == 0 && x.preStop == 0 && slices.ContainsFunc(r.ev.Containers[k].Exits[c.run], func(end *corev1.ContainerStateTerminated) bool {
		return !end.FinishedAt.After(r.obAt(s.terminating.Obs).At())
	})
	return ended || died || c.progress.isUnstarted() || r.h[k].over >= c.run
}

// onPreStop takes a line of the preStop hook of container i.
func (r *Reading) onPreStop(s State, i, n int) ([]State, *Denial) {
	x := r.seenOf(&s, i)
	if x.term != 0 && !r.excused(rules.PreStopBeforeTERM, i, n, x.term) {
		if r.graceLeft(&s, i, x.term.Index()) || r.hookTooLate(x, n) {
			return nil, deny(rules.PreStopFirst, Cause{x.term, rules.PreStopFirst})
		}
		if r.logOnly && s.c[i].kill == byTermination && !s.periodOver.known() {
			s = s.clone()
			r.periodIsOver(&s, Cause{x.term, rules.PreStopFirst})
		}
	}
	next, d := r.stop(s, i, n, byTermination, byProbe, byHook, bySandbox)
	if exit, asks := r.restartAllAsked(&s); d != nil && d.Rule == rules.TermCause && asks {
		d = because(deny(rules.RestartAll, exit), "a container has asked to restart all containers, which runs no preStop hooks")
	}
	return next, d
}

// podWasOver is what shows that the Pod had come to its end before sidecar i could be started
// again: every regular container had ended when the sync that started it did, before the
// instance of the sidecar ended, and none is started again. The next sync stops what is left.
// Up to 1.36 it does so only if the last listed init container or sidecar has run: where
// that is a sidecar that has exited, it and those before it are started again first.
func (r *Reading) podWasOver(s *State, i int) (Cause, bool) {
	if r.p.Containers[i].Role != podspec.Sidecar || !r.restartsInTurn(i) {
		return Cause{}, false
	}
	if !r.k.EndsBeforeSidecars() && r.p.Containers[r.p.Inits-1].Role == podspec.Sidecar {
		return Cause{}, false
	}
	var last Cause
	for j := r.p.Inits; j < r.p.Inits+r.p.Regulars; j++ {
		c, x, spec := &s.c[j], r.seenOf(s, j), &r.p.Containers[j]
		if !c.deadAtSyncEnd || !r.restartsInTurn(j) || spec.Policy != corev1.RestartPolicyNever || len(spec.Rules) > 0 {
			return Cause{}, false
		}
		if x.first == 0 || x.first > r.seenOf(s, i).last {
			return Cause{}, false // the sidecar may have been started again before that
		}
		if c.ended.Obs > last.Obs {
			last = c.ended
		}
	}
	return last, last.known()
}

// asNewKubeletFinds is the state in which a restarted kubelet finds a Pod that it was stopping
// before, because a probe had failed in the last container that ran: it knows of no failure,
// and the Pod goes on. If the Pod has been deleted since, that may have come in the middle of a
// sync.
func (r *Reading) asNewKubeletFinds(s State, n int) State {
	if !s.terminating.known() || !r.kubeletRestartedSince(s.terminating.Obs, n) {
		return s
	}
	last := n
	for _, x := range r.ev.Restarts {
		if !x.After(n) {
			last = x.Index()
		}
	}
	for j := 0; r.ev.RestartAnyTime && j < len(s.c); j++ {
		if s.c[j].kill == byTermination && r.stoppedForGood(&s, j) {
			last = -1 // in a log alone it was the probe, since the Pod goes on
		}
	}
	if last >= 0 && r.endRequested(last) {
		return s
	}
	s = s.clone()
	s.terminating, s.periodOver = Cause{}, Cause{}
	for i := range s.c {
		if c := &s.c[i]; c.kill == byTermination {
			c.kill, c.killCause = notKilled, Cause{}
		}
	}
	return s
}

// terminate begins the termination of the whole Pod, which observation n shows on container i.
// There is no state where nothing ends the Pod.
func (r *Reading) terminate(s State, i, n int) ([]State, *Denial) {
	if s.terminating.known() {
		return []State{s.clone()}, nil
	}
	asked := r.endRequested(n)
	if !asked && !r.podIsOver(&s, i) {
		return nil, nil
	}
	s = s.clone()
	r.otherKillsHaveEnded(&s, -1, n, rules.TermAfterSync)
	for j := range s.c {
		r.hookHasReturned(&s, j, n, rules.TermAfterSync)
	}
	next, d := r.startSyncHasEnded(s, n, rules.TermAfterSync)
	if r.p.Inits > 0 && !s.startSyncEnded.known() && !slices.ContainsFunc(s.c[r.p.Inits:], func(c instance) bool { return c.progress.isStarted() }) {
		// The Pod ends while it is being initialized: what was not started is never
		// started.
		t := s.clone()
		for j := range t.c {
			// The next init container may have been started, and not be seen yet.
			if c := &t.c[j]; c.progress.isUnstarted() && j >= r.p.Inits {
				c.ended = at(n, rules.NoStart)
			}
		}
		next, d = append(next, t), nil
	}
	for a := range next {
		t := &next[a]
		if !asked {
			// Nobody ended the Pod: the regular containers have ended.
			for j := r.p.Inits; j < r.p.Inits+r.p.Regulars; j++ {
				if c := &t.c[j]; !c.ended.known() && !r.stoppedForGood(t, j) {
					c.ended = at(n, rules.SidecarsLast)
				}
			}
		}
		t.terminating = at(n, rules.NoStart)
	}
	return next, d
}

// stoppedForGood reports whether container j may be stopped for a failed probe and not be
// started again. Where nothing else is left to run, it is stopped with its whole Pod
// (pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions).
func (r *Reading) stoppedForGood(s *State, j int) bool {
	spec := &r.p.Containers[j]
	return spec.Policy == corev1.RestartPolicyNever && (r.probeFailed(s, j) || r.diedWhileProbed(s, j))
}

// podIsOver reports whether the Pod may have come to its end by itself, so that the kubelet
// stops container i: every regular container has exited and is not started again, or an init
// container has failed for good. Container i is no regular container, or it is one that is
// stopped for good.
func (r *Reading) podIsOver(s *State, i int) bool {
	if r.p.IsRegular(i) && !r.stoppedForGood(s, i) {
		return false
	}
	over := func(j int) bool {
		spec, x := &r.p.Containers[j], r.seenOf(s, j)
		switch {
		case r.stoppedForGood(s, j):
			return true // whatever it has exited with since
		case x.mainEnd != 0:
			return r.mayHaveExitedWith(j, x, spec.ThroughWith) || r.followedBy(j, s.c[j].run, spec.ThroughWith)
		case spec.Policy == corev1.RestartPolicyOnFailure:
			return x.mainBegin == 0
		}
		return spec.Policy == corev1.RestartPolicyNever
	}
	if r.failedInit(s) >= 0 {
		return true
	}
	for j := r.p.Inits; j < r.p.Inits+r.p.Regulars; j++ {
		if !over(j) {
			return false
		}
	}
	return true
}

// followedBy reports whether an instance of container j after the given run may have exited with
// such a code by now, without a line: a later status may show it.
func (r *Reading) followedBy(j int, run int32, such func(code int32) bool) bool {
	for later, ends := range r.ev.Containers[j].Exits {
		if later > run && slices.ContainsFunc(ends, func(end *corev1.ContainerStateTerminated) bool {
			return such(end.ExitCode) && !end.FinishedAt.After(r.ob(r.n).At())
		}) {
			return true
		}
	}
	return false
}

// failedInit is an init container that may have failed for good; -1 if there is none.
func (r *Reading) failedInit(s *State) int {
	for j := range r.p.Inits {
		spec, c, x := &r.p.Containers[j], &s.c[j], r.seenOf(s, j)
		died := x.mainEnd == 0 && c.progress.isStarted() && !c.nextMayStart.known() && r.h[j].over >= c.run
		for run, ends := range r.ev.Containers[j].Exits {
			// A later status shows that it failed, or that the next instance did, which wrote nothing.
			died = died || (run > c.run || run == c.run && x.mainEnd == 0) && slices.ContainsFunc(ends, func(end *corev1.ContainerStateTerminated) bool { return end.ExitCode != 0 })
		}
		if spec.Role == podspec.InitContainer && spec.Policy == corev1.RestartPolicyNever && (died || x.mainEnd != 0 && x.mainCode != 0) {
			return j
		}
	}
	return -1
}

// deletedOnly reports whether container i was stopped because its Pod was deleted, and for no
// other reason.
func (r *Reading) deletedOnly(s *State, i int) bool {
	ev := &r.ev.Containers[i]
	return s.c[i].kill == byTermination && len(r.ev.Ends) > 0 && !r.endedByOthers(r.n) && !r.sandboxLostForGood() && !ev.ProbeFailed && !ev.HookFailed && r.seenOf(s, i).failing == 0
}
