package model

import (
	"slices"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"

	"github.com/podorder/podorder/reference/trace"
	corev1 "k8s.io/api/core/v1"
)

// restart is the hidden step to a later instance of container i within this
// round. The sync that does it begins after the sync that started the instance
// before.
func (r *Reading) restart(s State, i int, run int32, n int) ([]State, *Denial) {
	if d := r.mayRestart(&s, i, run, n); d != nil {
		return nil, d
	}
	states, d := r.instanceDone(s, i, n, rules.RestartSerial)
	if d != nil {
		return nil, d
	}
	again := func(t State, returned Cause) State {
		prompt := r.diedStarting(&t, i)
		t.c[i] = instance{run: run, before: s.c[i].before, late: s.c[i].late, done: t.c[i].done, returned: returned, prompt: prompt && run == 1}
		return t
	}
	var next []State
	for _, t := range states {
		if r.shownRunning(&t, i) {
			r.startLeft(&t, i, n, rules.RestartSerial)
		}
		r.dueFirst(&t, i, n)
		after, before, by := r.free(t, i, n)
		for j := range i {
			if r.replacedFirst(&after, j, i) {
				r.startDue(&after, j, n, rules.ListedOrder)
			}
		}
		if over, known := r.over(&after, i); known {
			d = firstOf(d, deny(rules.NoStart, over))
		} else {
			next = append(next, again(after, Cause{}))
		}
		if before != nil {
			t := again(*before, by)
			if r.p.Containers[i].PostStart && r.ev.Marks(i, trace.PostStart) && !r.ev.LogGap && !r.cutOff(0, n) {
				t.c[i].gone = by // its hook has logged no end, so it died with it
			}
			next = append(next, t)
		}
	}
	if len(next) > 0 {
		return next, nil
	}
	return nil, d
}

// replacedFirst reports whether container j, listed before container i and killed
// since a probe had failed, has been started again before what has waited for that
// kill: the sync that kills it does so, the first time without a back-off.
func (r *Reading) replacedFirst(s *State, j, i int) bool {
	c, spec := &s.c[j], &r.p.Containers[j]
	return c.kill == byProbe && c.gone.known() && c.run == 0 && r.ev.Containers[j].Runs > 0 && r.foreseeable(j) && r.foreseeable(i) &&
		r.p.IsRegular(j) && r.p.IsRegular(i) && spec.Policy == corev1.RestartPolicyAlways && len(spec.Rules) == 0
}

// isDueFirst reports whether container j, listed before container i, was due in
// every sync that can have started the instance of i after the newest one: an
// update showed both as ended.
func (r *Reading) isDueFirst(s *State, j, i, n int) bool {
	if !r.foreseeable(j) || !r.foreseeable(i) {
		return false
	}
	return j < i && r.p.IsRegular(i) && (r.diedStarting(s, j) || s.c[j].prompt) || slices.ContainsFunc(r.ev.Due, func(d record.DuePair) bool {
		return d.First == j && d.Second == i && d.Run == s.c[i].run && int(d.Obs) <= n
	})
}

// foreseeable reports whether it can be told which sync starts container j again:
// each that finds it exited and its back-off, if there is one, over.
func (r *Reading) foreseeable(j int) bool {
	return !r.ev.Containers[j].StartFailed && r.ev.Containers[j].Changed == 0 && len(r.ev.Restarts) == 0 && !r.roundsInTrace()
}

// diedStarting reports whether the first instance of regular container j was dead
// when the sync that started it ended: the next sync, which finds it so, starts the
// container again, and that first time without a back-off. Every restart of another
// regular container comes with that sync or a later one.
func (r *Reading) diedStarting(s *State, j int) bool {
	c, spec := &s.c[j], &r.p.Containers[j]
	// Of one that wrote nothing the number may be that of the next one.
	counted := r.seenOf(s, j).first != 0 || r.ev.Complete
	return c.dead && c.first && !c.late && c.run == 0 && r.ev.Containers[j].Runs > 0 && counted &&
		r.p.IsRegular(j) && spec.Policy == corev1.RestartPolicyAlways && len(spec.Rules) == 0
}

// dueFirst starts again what a restart of container i shows to have been
// started by then: a sync starts the containers in the order in which the Pod
// lists them, and waits for the postStart hook of each. Lines alone never show
// which containers were due in one sync: a process ends some time after its last
// line, so the sync that began then may have seen the one exit and not the
// other. Nor is anything demanded of a second restart, which has a back-off, or
// of first lines, which lag.
func (r *Reading) dueFirst(s *State, i, n int) {
	for j := range i {
		if !r.isDueFirst(s, j, i, n) {
			continue
		}
		r.startDue(s, j, n, rules.ListedOrder)
	}
}

// startDue has container j started again for the first time, if it has not been, and
// waits for its postStart hook.
func (r *Reading) startDue(s *State, j, n int, rule string) {
	switch c := &s.c[j]; {
	case c.run > 1:
		return // that instance is over
	case c.run == 0:
		*c = instance{run: 1, before: c.before, late: c.late, done: c.done, prompt: r.diedStarting(s, j)}
	}
	r.settle(s, j, n, rule)
}

// free forces the worker to be free for a start of container i: no postStart
// hook of another container runs, and none is being stopped by a sync. The
// second state, where there is one, has the start come before some of that, unseen
// until now, as far as the lines of container i do not show that it was there
// meanwhile; a hook of container i was over by then, for the cause returned with
// it. The state is the caller's own.
func (r *Reading) free(s State, i, n int) (after State, before *State, by Cause) {
	early := s.clone()
	last := r.h[i].newest().last
	for j := range s.c {
		c, x := &s.c[j], r.seenOf(&s, j)
		if r.isStopping(&s, i, j, n) {
			since := c.killed.Obs
			if c.kill == byHook && x.first != 0 {
				since = x.first // that is a part of its start
			}
			if last < since {
				by = Cause{max(by.Obs, c.killed.Obs), rules.HooksSerial}
			} else {
				early.c[j].stopped(n, rules.BlocksNext)
			}
		}
		since := r.hookSince(j, x)
		if j == i || since == 0 || c.fresh || c.returned.known() || c.gone.known() {
			continue
		}
		if last < x.first && !r.awaited(&s, i, j) {
			by = Cause{max(by.Obs, since), rules.HooksSerial}
		} else {
			r.settle(&early, j, n, rules.BlocksNext)
		}
		r.settle(&s, j, n, rules.BlocksNext)
	}
	r.killed(&s, i, n, rules.BlocksNext)
	if by.known() {
		before = &early
	}
	return s, before, by
}

// awaited reports whether container j, which has been started for the first time
// in this round, waited for the instance of sidecar i that shows only now, if that
// was started before it: its startup probe would have shown it then. What is listed
// behind a sidecar waits for it only until it has begun itself
// (pkg/kubelet/kuberuntime/kuberuntime_container.go, computeInitContainerActions).
func (r *Reading) awaited(s *State, i, j int) bool {
	spec := &r.p.Containers[i]
	return spec.Role == podspec.Sidecar && i == r.p.Inits-1 && j > i && s.c[j].first && !s.c[j].late && spec.Startup.Declared && r.ev.Writes(i, trace.StartupProbe) && !r.ev.LogGap && r.neverKilled(i)
}

// neverKilled reports whether no probe that fails has sidecar i killed once it has
// come to its start: the sync that does so starts it again, and behind it what its
// start had held back.
func (r *Reading) neverKilled(i int) bool {
	spec := &r.p.Containers[i]
	return r.foreseeable(i) && !spec.Liveness.Declared && (!spec.Startup.Declared || !spec.Startup.Network && r.k.StartupProbeStops())
}

// killed forces, where no kubelet was restarted meanwhile, that the containers other than i that a sync was stopping have
// stopped: a sync stops first and starts then, and waits for both.
func (r *Reading) killed(s *State, i, n int, rule string) {
	for j := range s.c {
		if r.isStopping(s, i, j, n) {
			s.c[j].stopped(n, rule)
		}
	}
}

// isStopping reports whether a sync is stopping container j, another one than i.
func (r *Reading) isStopping(s *State, i, j, n int) bool {
	c := &s.c[j]
	return j != i && (c.kill == byProbe || c.kill == byHook) && !c.gone.known() && !r.cutOff(c.killed.Obs, n)
}

// stopped forces that the sync which was stopping the instance has stopped it.
func (c *instance) stopped(n int, rule string) { c.gone, c.dead = at(n, rule), c.kill == byHook }

// mayRestart says why container i cannot have been started again.
func (r *Reading) mayRestart(s *State, i int, run int32, n int) *Denial {
	c, spec, x := &s.c[i], &r.p.Containers[i], r.seenOf(s, i)
	switch {
	case spec.Role == podspec.Ephemeral:
		return deny(rules.EphemeralOnce, Cause{x.last, rules.EphemeralOnce})
	case spec.Role == podspec.InitContainer && c.done.known():
		return deny(rules.InitOnce, c.done)
	case spec.Role == podspec.InitContainer && c.run == run-1 && x.mainEnd != 0 && !r.mayExit(i, x, podspec.Failed):
		return deny(rules.InitOnce, Cause{x.mainEnd, rules.InitOnce})
	case run > r.ev.Containers[i].Runs:
		return deny(rules.Instances, Cause{max(x.mainEnd, x.last), rules.Instances})
	case c.run == run-1 && r.tooSoon(i, x, n):
		return because(deny(rules.Backoff, Cause{x.last, rules.Backoff}), "container %s is started again %s after its last line; restart %d comes no sooner than %s behind the exit before it",
			spec.Name, r.between(int(x.last)-1, n), run, r.backoff(run))
	}
	if spec.Role == podspec.Sidecar {
		return nil
	}
	exited := c.run == run-1 && x.mainEnd != 0
	switch {
	case exited && r.mayExit(i, x, spec.RestartsFor):
	case x.first == 0 && r.kubeletRestarted(n):
		// One that was created, and that its kubelet did not come to start, is made
		// anew whatever the policy says.
	case len(spec.Rules) > 0 && !exited:
		// What the rules say depends on an exit code that was not seen.
	case r.replaced(s, i, run, n):
	case spec.Policy == corev1.RestartPolicyNever:
		return deny(r.policyRule(spec), Cause{max(x.mainEnd, x.term), rules.Policy})
	case spec.Policy == corev1.RestartPolicyOnFailure && exited && !r.mayExit(i, x, podspec.Failed) && c.kill == alive && !r.probeFailed(s, i) && !r.killedAtLast(i, x):
		// One that is being restarted because of a probe is started again
		// however it ended meanwhile.
		return deny(r.policyRule(spec), Cause{x.mainEnd, rules.Policy})
	}
	return nil
}

// replaced reports whether the kubelet may have started instance run of
// container i in the place of one whose definition had changed: it does so
// whatever the policy says, once for each change, with one that ran when the sync
// began (pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions).
func (r *Reading) replaced(s *State, i int, run int32, n int) bool {
	c, spec, x := &s.c[i], &r.p.Containers[i], r.seenOf(s, i)
	if !r.p.IsRegular(i) || !r.changedBy(i, n) {
		return false
	}
	// Each kubelet may have left one behind that it had created and not started, and
	// in each sandbox the container begins anew.
	most := r.ev.Containers[i].Changes + int32(len(r.ev.Restarts))
	if once := spec.Policy == corev1.RestartPolicyNever && len(spec.Rules) == 0 && !r.roundsInTrace(); once && run > most && !r.ev.Containers[i].StartFailed {
		return false
	}
	if c.run != run-1 || x.mainEnd == 0 || c.kill != alive {
		return true
	}
	// It ended before anybody stopped it, and a sync may have learned of that
	// late.
	by := r.ob(int(r.ev.Containers[i].Changed) - 1).Entry
	return by.Did == nil || by.At.Sub(r.written(int(x.mainEnd)-1)) < r.patient(patience)
}

// changedBy reports whether the definition of container i may have been changed
// by observation n.
func (r *Reading) changedBy(i, n int) bool {
	c := r.ev.Containers[i].Changed
	return c != 0 && int(c) <= n+1
}

// redefined reports whether the kubelet may stop container i by observation n since
// its definition was changed.
func (r *Reading) redefined(i, n int) bool {
	return r.changedBy(i, n) && (r.p.IsRegular(i) || r.p.Containers[i].Role == podspec.Sidecar && r.k.ReplacesSidecars())
}

// policyRule is the rule that a wrong restart breaks: where the container has a
// policy or rules of its own, theirs.
func (r *Reading) policyRule(spec *podspec.Container) string {
	if len(spec.Rules) > 0 || spec.Policy != r.p.Policy {
		return rules.ExitRules
	}
	return rules.Policy
}

// startLeft starts what the sync behind the first one has to start again, once
// that has surely ended, as regular container i shows.
func (r *Reading) startLeft(s *State, i, n int, rule string) {
	for j := range r.p.Containers {
		if r.isLeft(s, j, i) {
			r.startDue(s, j, n, rule)
		}
	}
}

// isLeft reports whether container j is one of these.
func (r *Reading) isLeft(s *State, j, i int) bool {
	c := &s.c[j]
	starts := !c.returned.known() || c.kill == byHook && !c.gone.known()
	due := c.prompt && c.run == 1 && starts || r.diedStarting(s, j)
	return due && j != i && r.p.IsRegular(i) && r.foreseeable(j) && r.foreseeable(i)
}

// leftBehind reports whether there is any.
func (r *Reading) leftBehind(s *State, i int) bool {
	for j := range r.p.Containers {
		if s.c[i].run > 0 && r.isLeft(s, j, i) {
			return true
		}
	}
	return false
}

// shownRunning reports whether a sync has begun with the newest instance of
// container i running: until then it is not probed by a process of its own.
func (r *Reading) shownRunning(s *State, i int) bool {
	spec := &r.p.Containers[i]
	return r.seenOf(s, i).probed != 0 && !spec.Startup.Network && !spec.Readiness.Network && !spec.Liveness.Network
}
