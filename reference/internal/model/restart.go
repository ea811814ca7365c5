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

// Backoff between restarts (pkg/kubelet/kubelet.go, newCrashLoopBackOff), and
// the time after which the kubelet forgets a container's.
const (
	backoffStart  = 10 * time.Second
	backoffMax    = 300 * time.Second
	backoffForget = 600 * time.Second
)

// backoff is the least time between the end of instance run-1 and the start of
// instance run.
func (r *Reading) backoff(run int32) time.Duration {
	first, most := backoffStart, backoffMax
	if r.k.Enabled(rules.GateShortBackoff) {
		first, most = time.Second, time.Minute
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

// tooSoonForBackoff reports whether line n shows an instance of container i that was
// started before its backoff was over. x is the instance before it. A start in
// the sync of a kill, and one of all containers, has no backoff; nor has one
// long after the last. Only instances that were all seen to their end are
// counted.
func (r *Reading) tooSoonForBackoff(i int, x *seen, n int) bool {
	l, spec := &r.ob(n).Log, &r.p.Containers[i]
	for _, a := range []trace.Actor{trace.LivenessProbe, trace.StartupProbe} {
		if p := spec.Probe(a); p.Network || p.Declared && !r.ev.Writes(i, a) {
			return false // one that nobody answers, or that is cut off, leaves no line
		}
	}
	if !r.ob(n).IsLog || r.ev.Containers[i].ProbeFailed || x.last == 0 || x.failing != 0 || r.excused(rules.BackoffHolds, i, n, 0) {
		return false
	}
	runs := r.h[i].runs
	counted := int32(1)
	for k := len(runs) - 1; k > 0; k-- {
		a, b := &runs[k-1], &runs[k]
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

// mayBeReplaced reports whether container i may have been started again by
// observation n, in the sync that stopped it or since it has ended: then an Event may
// speak of an instance that neither a line nor an update shows yet.
func (r *Reading) mayBeReplaced(s *State, i, n int) bool {
	spec := &r.p.Containers[i]
	again := spec.Policy != corev1.RestartPolicyNever || len(spec.Rules) > 0
	return again && (r.seenOf(s, i).mainEnd != 0 || r.probeFailed(s, i)) || r.mayStopForDefinition(i, n)
}

// mayHaveExitedWith reports whether the kubelet may go by such an exit code of instance x of
// container i: the one that it was shown to have ended with, else the one that it
// logged. A process that is being stopped may be killed between its last line and
// its exit.
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
	// In a new sandbox another instance may have that number, and several may have been
	// shown with in one second.
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

// restart is the hidden step to a later instance of container i within this
// round. The sync that does it begins after the sync that started the instance
// before.
func (r *Reading) restart(s State, i int, run int32, n int) ([]State, *Denial) {
	if d := r.mayRestart(&s, i, run, n); d != nil {
		return nil, d
	}
	states, d := r.syncOfHasEnded(s, i, n, rules.RestartSerial)
	if d != nil {
		return nil, d
	}
	again := func(t State, returned Cause) State {
		phase := restarted
		if r.deadAfterFirstSync(&t, i) && run == 1 {
			phase = restartedAtOnce
		}
		t.c[i] = instance{run: run, runBeforeRound: s.c[i].runBeforeRound, progress: phase, nextMayStart: t.c[i].nextMayStart, hookReturned: returned}
		return t
	}
	var next []State
	for _, t := range states {
		if r.shownRunning(&t, i) {
			r.doOwedRestarts(&t, i, n, rules.RestartSerial)
		}
		r.restartThoseListedBefore(&t, i, n)
		after, before, by := r.workerIsFree(t, i, n)
		for j := range i {
			if r.restartedBeforeNext(&after, j, i) {
				r.restartFirstTime(&after, j, n, rules.ListedOrder)
			}
		}
		if over, known := r.podWasOver(&after, i); known {
			d = firstOf(d, deny(rules.NoStart, over))
		} else {
			next = append(next, again(after, Cause{}))
		}
		if before != nil {
			t := again(*before, by)
			if r.p.Containers[i].PostStart && r.ev.Marks(i, trace.PostStart) && !r.excused(rules.HookWithoutEnd, i, n, 0) {
				t.c[i].ended = by // its hook has logged no end, so it died with it
			}
			next = append(next, t)
		}
	}
	if len(next) > 0 {
		return next, nil
	}
	return nil, d
}

// restartedBeforeNext reports whether container j, listed before container i and killed
// since a probe had failed, has been started again before what has waited for that
// kill: the sync that kills it does so, the first time without a back-off.
func (r *Reading) restartedBeforeNext(s *State, j, i int) bool {
	c, spec := &s.c[j], &r.p.Containers[j]
	return c.kill == byProbe && c.ended.known() && c.run == 0 && r.ev.Containers[j].NewestRun > 0 && r.restartsInTurn(j) && r.restartsInTurn(i) &&
		r.p.IsRegular(j) && r.p.IsRegular(i) && spec.Policy == corev1.RestartPolicyAlways && len(spec.Rules) == 0
}

// isDueBefore reports whether container j, listed before container i, was due in
// every sync that can have started the instance of i after the newest one: an
// update showed both as ended.
func (r *Reading) isDueBefore(s *State, j, i, n int) bool {
	if !r.restartsInTurn(j) || !r.restartsInTurn(i) {
		return false
	}
	return j < i && r.p.IsRegular(i) && (r.deadAfterFirstSync(s, j) || s.c[j].progress == restartedAtOnce) || slices.ContainsFunc(r.ev.DueTogether, func(d record.DuePair) bool {
		return d.First == j && d.Second == i && d.Run == s.c[i].run && d.Obs.Index() < n
	})
}

// deadAfterFirstSync reports whether the first instance of regular container j was dead
// when the sync that started it ended: the next sync, which finds it so, starts the
// container again, and that first time without a back-off. Every restart of another
// regular container comes with that sync or a later one.
func (r *Reading) deadAfterFirstSync(s *State, j int) bool {
	c, spec := &s.c[j], &r.p.Containers[j]
	// Of one that wrote nothing the number may be that of the next one.
	counted := r.seenOf(s, j).first != 0 || r.ev.LogComplete
	return c.deadAtSyncEnd && c.progress.isFirst() && !c.progress.isByLaterSync() && c.run == 0 && r.ev.Containers[j].NewestRun > 0 && counted &&
		r.p.IsRegular(j) && spec.Policy == corev1.RestartPolicyAlways && len(spec.Rules) == 0
}

// restartThoseListedBefore starts again what a restart of container i shows to have been
// started by then: a sync starts the containers in the order in which the Pod
// lists them, and waits for the postStart hook of each. Lines alone never show
// which containers were due in one sync: a process ends some time after its last
// line, so the sync that began then may have seen the one exit and not the
// other. Nor is anything demanded of a second restart, which has a back-off, or
// of first lines, which lag.
func (r *Reading) restartThoseListedBefore(s *State, i, n int) {
	for j := range i {
		if !r.isDueBefore(s, j, i, n) {
			continue
		}
		r.restartFirstTime(s, j, n, rules.ListedOrder)
	}
}

// restartFirstTime has container j started again for the first time, if it has not been, and
// waits for its postStart hook.
func (r *Reading) restartFirstTime(s *State, j, n int, rule string) {
	switch c := &s.c[j]; {
	case c.run > 1:
		return // that instance is over
	case c.run == 0:
		phase := restarted
		if r.deadAfterFirstSync(s, j) {
			phase = restartedAtOnce
		}
		*c = instance{run: 1, runBeforeRound: c.runBeforeRound, progress: phase, nextMayStart: c.nextMayStart}
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
	case c.run == run-1 && r.tooSoonForBackoff(i, x, n):
		return because(deny(rules.Backoff, Cause{x.last, rules.Backoff}), "container %s is started again %s after its last line; restart %d comes no sooner than %s behind the exit before it",
			spec.Name, r.between(x.last, n), run, r.backoff(run))
	}
	if spec.Role == podspec.Sidecar {
		return nil
	}
	exited := c.run == run-1 && x.mainEnd != 0
	switch {
	case exited && r.mayHaveExitedWith(i, x, spec.RestartsFor):
	case x.first == 0 && r.kubeletRestarted(n):
		// One that was created, and that its kubelet did not come to start, is made
		// anew whatever the policy says.
	case len(spec.Rules) > 0 && !exited:
		// What the rules say depends on an exit code that was not seen.
	case r.replacedForDefinition(s, i, run, n):
	case spec.Policy == corev1.RestartPolicyNever:
		return deny(r.policyRule(spec), Cause{max(x.mainEnd, x.term), rules.Policy})
	case spec.Policy == corev1.RestartPolicyOnFailure && exited && !r.mayHaveExitedWith(i, x, podspec.Failed) && c.kill == notKilled && !r.probeFailed(s, i) && !r.mayHaveDiedOfHook(i, x):
		// One that is being restarted because of a probe is started again
		// however it ended meanwhile.
		return deny(r.policyRule(spec), Cause{x.mainEnd, rules.Policy})
	}
	return nil
}

// replacedForDefinition reports whether the kubelet may have started instance run of
// container i in the place of one whose definition had changed: it does so
// whatever the policy says, once for each change, with one that ran when the sync
// began (pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions).
func (r *Reading) replacedForDefinition(s *State, i int, run int32, n int) bool {
	c, spec, x := &s.c[i], &r.p.Containers[i], r.seenOf(s, i)
	if !r.p.IsRegular(i) || !r.changedBy(i, n) {
		return false
	}
	// Each kubelet may have left one behind that it had created and not started, and
	// in each sandbox the container begins anew.
	most := r.ev.Containers[i].Changes + int32(len(r.ev.Restarts))
	if once := spec.Policy == corev1.RestartPolicyNever && len(spec.Rules) == 0 && !r.mayEverStartOver(); once && run > most && !r.ev.Containers[i].StartFailed {
		return false
	}
	if c.run != run-1 || x.mainEnd == 0 || c.kill != notKilled {
		return true
	}
	// It ended before anybody stopped it, and a sync may have learned of that
	// late.
	by := r.obAt(r.ev.Containers[i].Changed).Entry
	return by.Did == nil || by.At.Sub(r.writtenAt(x.mainEnd)) < r.patient(patience)
}

// policyRule is the rule that a wrong restart breaks: where the container has a
// policy or rules of its own, theirs.
func (r *Reading) policyRule(spec *podspec.Container) string {
	if len(spec.Rules) > 0 || spec.Policy != r.p.Policy {
		return rules.ExitRules
	}
	return rules.Policy
}

// shownRunning reports whether a sync has begun with the newest instance of
// container i running: until then it is not probed by a process of its own.
func (r *Reading) shownRunning(s *State, i int) bool {
	spec := &r.p.Containers[i]
	return r.seenOf(s, i).probed != 0 && !spec.Startup.Network && !spec.Readiness.Network && !spec.Liveness.Network
}
