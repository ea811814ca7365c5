// Whether and when a container is started again (computePodActions,
// ShouldContainerBeRestarted, doBackOff).
// Rules: restart/policy, restart/container-rules, restart/backoff, restart/ephemeral-never,
// start/restart-after-sync, start/listed-order, start/one-instance-at-a-time, init/not-again,
// terminate/no-start-after.

package model

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// The back-off between restarts (pkg/kubelet/kubelet.go, newCrashLoopBackOff). After
// backoffForget without a restart the kubelet forgets the one of a container.
const (
	backoffStart  = 10 * time.Second
	backoffMax    = 300 * time.Second
	backoffForget = 600 * time.Second
)

// backoff is the least time between the end of instance run-1 and the start of instance run.
func (r *Reading) backoff(run int32) time.Duration {
	first, most := backoffStart, backoffMax
	if r.k.Enabled(rules.GateShortBackoff) {
		first, most = time.Second, time.Minute
	}
	if limit := r.k.LongestBackoff(); limit != 0 {
		first, most = min(first, limit), limit
	}
	if run <= 1 {
		return 0
	}
	d := first
	for range run - 2 {
		if d = 2 * d; d >= most {
			return most
		}
	}
	return d
}

// tooSoonForBackoff reports whether line n shows an instance of container i that was started
// before its back-off was over. x is the instance before it. A restart in the sync that
// killed the container, and a restart of all containers, has no back-off; nor has one long
// after the last. An instance counts if a line shows it and the one before it, and none of
// its probes failed.
func (r *Reading) tooSoonForBackoff(i int, x *seen, n int) bool {
	l, spec := &r.ob(n).Log, &r.p.Containers[i]
	for _, a := range []trace.Actor{trace.LivenessProbe, trace.StartupProbe} {
		unlogged := !r.ev.Writes(i, a) || r.logOnly && r.ev.Containers[i].SilentFailure
		if p := spec.Probe(a); p.Network || p.Declared && unlogged {
			return false // a failure of this probe may leave no line, so a kill may have no sign
		}
	}
	if !r.ob(n).IsLog || r.ev.Containers[i].ProbeFailed || x.last == 0 || x.failing != 0 {
		return false
	}
	excused := r.excused(rules.BackoffHolds, i, n, 0)
	if excused && (!r.crashed(x, n) || r.ev.NodeStoodStill || r.p.Gates[rules.GateRestartAll] != "") {
		return false
	}
	runs := r.h[i].runs
	counted := int32(1)
	for k := len(runs) - 1; k > 0; k-- {
		a, b := &runs[k-1], &runs[k]
		again := spec.Role == podspec.InitContainer && a.mainCode == 0 // all were started over, and it was removed before
		if excused && (!a.mainEnd.Known() || r.stopShown(a) || again) {
			break // that restart may have had no back-off
		}
		if a.run+1 != b.run || a.failing != 0 || r.writtenAt(b.first).Sub(r.writtenAt(a.first)) > backoffForget-r.patient(patience) {
			break
		}
		counted++
	}
	if l.Time.Sub(r.writtenAt(x.first)) > backoffForget-r.patient(patience) {
		return false
	}
	return r.between(x.last, n)+r.slack(n)+r.slackAt(x.last) < r.backoff(counted)
}

// stillBackedOff reports whether container i cannot have been started by observation n even in a
// new sandbox, where its back-off goes on. It is asked of a log alone.
func (r *Reading) stillBackedOff(s *State, i int, run int32, n int) bool {
	_, all := r.p.Gates[rules.GateRestartAll]
	return r.logOnly && !all && s.c[i].run >= 0 && s.c[i].run == run-1 && r.tooSoonForBackoff(i, r.seenOf(s, i), n)
}

// mayBeReplaced reports whether container i may have been started again by observation n: in
// the sync that stopped it, or after it had ended. An Event may then be about an instance
// that neither a line nor an update shows yet.
func (r *Reading) mayBeReplaced(s *State, i, n int) bool {
	spec := &r.p.Containers[i]
	again := spec.Policy != corev1.RestartPolicyNever || len(spec.Rules) > 0
	return again && (r.seenOf(s, i).mainEnd != 0 || r.probeFailed(s, i)) || r.mayStopForDefinition(i, n)
}

// mayHaveExitedWith reports whether the kubelet may have seen such an exit code of instance x
// of container i: the one that a status shows, or else the one that it logged. The two can
// differ, since a process that is being stopped may be killed between its last line and its
// exit.
func (r *Reading) mayHaveExitedWith(i int, x *seen, such func(code int32) bool) bool {
	all := r.ev.Containers[i].Exits[x.run]
	last := x.mainEnd
	if last == 0 {
		last = x.last
	}
	if !r.ev.NewSandbox || last == 0 {
		if len(all) > 0 {
			return such(all[len(all)-1].ExitCode)
		}
		return such(x.mainCode)
	}
	// After a new sandbox another instance may have the same number. So the end is found by
	// its time, and several may fit within one second.
	at, shown := r.writtenAt(last), false
	for _, all := range r.ev.Containers[i].Exits {
		for _, end := range all {
			if at.Before(end.StartedAt.Time) || at.After(end.FinishedAt.Add(time.Second+record.StampSlack)) {
				continue
			}
			if shown = true; such(end.ExitCode) {
				return true
			}
		}
	}
	return !shown && such(x.mainCode)
}

// restart forces that container i was started again in this round, as instance run. The sync
// that did so began after the sync that had started the instance before.
func (r *Reading) restart(s State, i int, run int32, n int) ([]State, *Denial) {
	if d := r.mayRestart(&s, i, run, n); d != nil {
		return nil, d
	}
	states, d := r.syncOfHasEnded(s, i, n, rules.RestartSerial)
	if d != nil {
		return nil, d
	}
	var next []State
	for _, t := range states {
		if r.shownRunning(&t, i) {
			r.doOwedRestarts(&t, i, n, rules.RestartSerial)
		}
		r.restartEarlierDue(&t, i, n)
		late, early, hookOver := r.workerIsFree(t, i, n)
		if t, other := r.restartAfterAll(late, i, run, n); other == nil {
			next = append(next, t)
		} else {
			d = firstOf(d, other)
		}
		if early != nil {
			next = append(next, r.restartBeforeSome(*early, i, run, n, hookOver))
		}
	}
	if len(next) > 0 {
		return next, nil
	}
	return nil, d
}

// restartAfterAll starts container i again after every hook and every stop that has been
// seen. The state is the caller's own.
func (r *Reading) restartAfterAll(s State, i int, run int32, n int) (State, *Denial) {
	for j := range i {
		if r.restartedBeforeNext(&s, j, i) {
			r.restartFirstTime(&s, j, n, rules.ListedOrder)
		}
	}
	if over, known := r.podWasOver(&s, i); known {
		return s, deny(rules.NoStart, over)
	}
	return r.withRestart(s, i, run), nil
}

// restartBeforeSome starts container i again before some of them; its postStart hook was over
// by the given observation. The state is the caller's own.
func (r *Reading) restartBeforeSome(s State, i int, run int32, n int, hookOver Cause) State {
	s = r.withRestart(s, i, run)
	s.c[i].hookReturned = hookOver
	if r.p.Containers[i].PostStart && r.ev.Marks(i, trace.PostStart) && !r.excused(rules.HookWithoutEnd, i, n, 0) {
		s.c[i].ended = hookOver // the hook has logged no end, so it died with the instance
	}
	return s
}

// withRestart has container i started again, as instance run. It changes the state.
func (r *Reading) withRestart(s State, i int, run int32) State {
	c := &s.c[i]
	p := restarted
	if r.deadAfterFirstSync(&s, i) && run == 1 {
		p = restartedAtOnce
	}
	*c = instance{run: run, runBeforeRound: c.runBeforeRound, progress: p, nextMayStart: c.nextMayStart}
	return s
}

// restartedBeforeNext reports whether container j, which was killed for a failed probe, was
// started again before container i, which is listed after it and has waited for that kill:
// the sync that kills container j starts it again, the first time without a back-off.
func (r *Reading) restartedBeforeNext(s *State, j, i int) bool {
	c, spec := &s.c[j], &r.p.Containers[j]
	return c.kill == byProbe && c.ended.known() && c.run == 0 && r.ev.Containers[j].NewestRun > 0 && r.restartsInTurn(j) && r.restartsInTurn(i) &&
		r.p.IsRegular(j) && r.p.IsRegular(i) && spec.Policy == corev1.RestartPolicyAlways && len(spec.Rules) == 0
}

// isDueBefore reports whether container j, listed before container i, was due for a restart
// in every sync that can have started container i again: an update showed both as ended, or
// container j was dead when the start sync ended.
func (r *Reading) isDueBefore(s *State, j, i, n int) bool {
	if !r.restartsInTurn(j) || !r.restartsInTurn(i) {
		return false
	}
	return j < i && r.p.IsRegular(i) && (r.deadAfterFirstSync(s, j) || s.c[j].progress == restartedAtOnce) || slices.ContainsFunc(r.ev.DueTogether, func(d record.DuePair) bool {
		return d.First == j && d.Second == i && d.Run == s.c[i].run && d.Obs.Index() < n
	})
}

// deadAfterFirstSync reports whether the first instance of regular container j was dead when
// the start sync ended. The next sync finds it so and starts the container again, without a
// back-off, as it is the first restart. Every restart of another regular container comes in
// that sync or in a later one.
func (r *Reading) deadAfterFirstSync(s *State, j int) bool {
	c, spec := &s.c[j], &r.p.Containers[j]
	// If it wrote nothing, the next instance may have its number in the log.
	counted := r.seenOf(s, j).first != 0 || r.ev.LogComplete
	return c.deadAtSyncEnd && c.progress.isFirst() && !c.progress.isByLaterSync() && c.run == 0 && r.ev.Containers[j].NewestRun > 0 && counted &&
		r.p.IsRegular(j) && spec.Policy == corev1.RestartPolicyAlways && len(spec.Rules) == 0
}

// restartEarlierDue starts again the containers that were due before container i, since a
// restart of container i shows that they were started by then. A sync starts containers in
// the order in which the Pod lists them, and waits for each postStart hook. Lines alone never
// show which containers were due in one sync: a process ends some time after its last line,
// so the sync may have seen one exit and not yet the other. Nothing is demanded of a second
// restart, which has a back-off, or of first lines, which may come late.
func (r *Reading) restartEarlierDue(s *State, i, n int) {
	for j := range i {
		if r.isDueBefore(s, j, i, n) {
			r.restartFirstTime(s, j, n, rules.ListedOrder)
		}
	}
}

// restartFirstTime has container j started again for the first time, if it was not yet, and
// forces that its postStart hook has returned.
func (r *Reading) restartFirstTime(s *State, j, n int, rule string) {
	switch run := s.c[j].run; {
	case run > 1:
		return // the instance of the first restart is over
	case run == 0:
		r.withRestart(*s, j, 1)
	}
	r.hookHasReturned(s, j, n, rule)
}

// mayRestart says why container i cannot have been started again.
func (r *Reading) mayRestart(s *State, i int, run int32, n int) *Denial {
	c, spec, x := &s.c[i], &r.p.Containers[i], r.seenOf(s, i)
	switch {
	case spec.Role == podspec.Ephemeral:
		return deny(rules.EphemeralOnce, Cause{x.last, rules.EphemeralOnce})
	case spec.Role == podspec.InitContainer && c.nextMayStart.known():
		return deny(rules.InitOnce, c.nextMayStart)
	case spec.Role == podspec.InitContainer && c.run == run-1 && x.mainEnd != 0 && !r.mayHaveExitedWith(i, x, podspec.Failed):
		return deny(rules.InitOnce, Cause{x.mainEnd, rules.InitOnce})
	case run > r.ev.Containers[i].NewestRun:
		return deny(rules.Instances, Cause{max(x.mainEnd, x.last), rules.Instances})
	case c.run == run-1 && !(r.logOnly && s.startedOver && c.progress.isFirst()) && r.tooSoonForBackoff(i, x, n):
		return because(deny(rules.Backoff, Cause{x.last, rules.Backoff}), "container %s was started again %s after its last line; restart %d comes at least %s after the exit before it",
			spec.Name, r.between(x.last, n), run, r.backoff(run))
	}
	if spec.Role == podspec.Sidecar {
		return nil
	}
	exited := c.run == run-1 && x.mainEnd != 0
	switch {
	case exited && r.mayHaveExitedWith(i, x, spec.RestartsFor):
	case x.first == 0 && r.kubeletRestarted(n):
		// An instance that was created, and that the kubelet did not start before it was
		// restarted itself, is replaced whatever the policy says.
	case len(spec.Rules) > 0 && !exited:
		// Its rules decide by the exit code, which was not seen.
	case r.replacedForDefinition(s, i, run, n):
	case spec.Policy == corev1.RestartPolicyNever:
		return deny(r.policyRule(spec), Cause{max(x.mainEnd, x.term), rules.Policy})
	case spec.Policy == corev1.RestartPolicyOnFailure && exited && !r.mayHaveExitedWith(i, x, podspec.Failed) && c.kill == notKilled && !r.probeFailed(s, i) && !r.mayHaveDiedOfHook(i, x):
		// A container that is killed for a failed probe is started again whatever it exits
		// with, so it is not refused here.
		return deny(r.policyRule(spec), Cause{x.mainEnd, rules.Policy})
	}
	return nil
}

// replacedForDefinition reports whether the kubelet may have started instance run of
// container i in place of one whose definition was changed. It does so whatever the policy
// says, once for each change, with an instance that ran when the sync began
// (pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions).
func (r *Reading) replacedForDefinition(s *State, i int, run int32, n int) bool {
	c, spec, x := &s.c[i], &r.p.Containers[i], r.seenOf(s, i)
	if !r.p.IsRegular(i) || !r.changedBy(i, n) {
		return false
	}
	// Each kubelet may also have left an instance that it had created and not started, and in
	// a new sandbox the container starts over.
	most := r.ev.Containers[i].Changes + int32(len(r.ev.Restarts))
	if once := !r.ev.RestartAnyTime && spec.Policy == corev1.RestartPolicyNever && len(spec.Rules) == 0 && !r.mayEverStartOver(); once && run > most && !r.ev.Containers[i].StartFailed {
		return false
	}
	switch {
	case c.run != run-1 || x.mainEnd == 0:
		return true
	case r.logOnly:
		return c.kill == byProbe || c.kill == notKilled && r.stopShown(x)
	case c.kill != notKilled:
		return true
	}
	// It ended by itself. The sync that replaced it may not have known that yet, if the
	// change came soon after.
	by := r.obAt(r.ev.Containers[i].Changed).Entry
	return by.Did == nil || r.ev.NodeStoodStill || by.At.Sub(r.writtenAt(x.mainEnd)) < r.patient(patience)
}

// policyRule is the rule that a wrong restart breaks: restart/container-rules where the
// container has a policy or rules of its own, else restart/policy.
func (r *Reading) policyRule(spec *podspec.Container) string {
	if len(spec.Rules) > 0 || spec.Policy != r.p.Policy {
		return rules.ExitRules
	}
	return rules.Policy
}

// shownRunning reports whether a sync has begun with the newest instance of container i
// running, since a probe that runs as a process was seen of it. A probe over the network
// may have been meant for the instance before.
func (r *Reading) shownRunning(s *State, i int) bool {
	spec := &r.p.Containers[i]
	return r.seenOf(s, i).probed != 0 && !spec.Startup.Network && !spec.Readiness.Network && !spec.Liveness.Network
}
