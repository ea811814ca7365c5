package reference

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// restart is the hidden step to a later instance of container i within this
// round. The sync that does it begins after the sync that started the instance
// before.
func (r *reading) restart(s state, i int, run int32, n int) ([]state, *denial) {
	if d := r.mayRestart(&s, i, run, n); d != nil {
		return nil, d
	}
	states, d := r.instanceDone(s, i, n, ruleRestartSerial)
	if d != nil {
		return nil, d
	}
	again := func(t state, returned cause) state {
		prompt := r.diedStarting(&t, i)
		t.c[i] = instance{run: run, before: s.c[i].before, late: s.c[i].late, done: t.c[i].done, returned: returned, prompt: prompt && run == 1}
		return t
	}
	var next []state
	for _, t := range states {
		if r.shownRunning(&t, i) {
			r.startLeft(&t, i, n, ruleRestartSerial)
		}
		r.dueFirst(&t, i, n)
		after, before, by := r.free(t, i, n)
		for j := range i {
			if r.replacedFirst(&after, j, i) {
				r.startDue(&after, j, n, ruleListedOrder)
			}
		}
		if over, known := r.over(&after, i); known {
			d = firstOf(d, deny(ruleNoStart, over))
		} else {
			next = append(next, again(after, cause{}))
		}
		if before != nil {
			t := again(*before, by)
			if r.p.containers[i].postStart && r.ev.marks(i, trace.PostStart) && !r.ev.logGap && !r.cutOff(0, n) {
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
func (r *reading) replacedFirst(s *state, j, i int) bool {
	c, spec := &s.c[j], &r.p.containers[j]
	return c.kill == byProbe && c.gone.known() && c.run == 0 && r.ev.c[j].runs > 0 && r.foreseeable(j) && r.foreseeable(i) &&
		r.p.isRegular(j) && r.p.isRegular(i) && spec.policy == corev1.RestartPolicyAlways && len(spec.rules) == 0
}

// isDueFirst reports whether container j, listed before container i, was due in
// every sync that can have started the instance of i after the newest one: an
// update showed both as ended.
func (r *reading) isDueFirst(s *state, j, i, n int) bool {
	if !r.foreseeable(j) || !r.foreseeable(i) {
		return false
	}
	return j < i && r.p.isRegular(i) && (r.diedStarting(s, j) || s.c[j].prompt) || slices.ContainsFunc(r.ev.due, func(d duePair) bool {
		return d.first == j && d.second == i && d.run == s.c[i].run && int(d.obs) <= n
	})
}

// foreseeable reports whether it can be told which sync starts container j again:
// each that finds it exited and its back-off, if there is one, over.
func (r *reading) foreseeable(j int) bool {
	return !r.ev.c[j].startFailed && r.ev.c[j].changed == 0 && len(r.ev.restarts) == 0 && !r.roundsInTrace()
}

// diedStarting reports whether the first instance of regular container j was dead
// when the sync that started it ended: the next sync, which finds it so, starts the
// container again, and that first time without a back-off. Every restart of another
// regular container comes with that sync or a later one.
func (r *reading) diedStarting(s *state, j int) bool {
	c, spec := &s.c[j], &r.p.containers[j]
	// Of one that wrote nothing the number may be that of the next one.
	counted := r.seenOf(s, j).first != 0 || r.ev.complete
	return c.dead && c.first && !c.late && c.run == 0 && r.ev.c[j].runs > 0 && counted &&
		r.p.isRegular(j) && spec.policy == corev1.RestartPolicyAlways && len(spec.rules) == 0
}

// dueFirst starts again what a restart of container i shows to have been
// started by then: a sync starts the containers in the order in which the Pod
// lists them, and waits for the postStart hook of each. Lines alone never show
// which containers were due in one sync: a process ends some time after its last
// line, so the sync that began then may have seen the one exit and not the
// other. Nor is anything demanded of a second restart, which has a back-off, or
// of first lines, which lag.
func (r *reading) dueFirst(s *state, i, n int) {
	for j := range i {
		if !r.isDueFirst(s, j, i, n) {
			continue
		}
		r.startDue(s, j, n, ruleListedOrder)
	}
}

// startDue has container j started again for the first time, if it has not been, and
// waits for its postStart hook.
func (r *reading) startDue(s *state, j, n int, rule string) {
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
func (r *reading) free(s state, i, n int) (after state, before *state, by cause) {
	early := s.clone()
	last := r.h[i].newest().last
	for j := range s.c {
		c, x := &s.c[j], r.seenOf(&s, j)
		if r.isStopping(&s, i, j, n) {
			since := c.killed.obs
			if c.kill == byHook && x.first != 0 {
				since = x.first // that is a part of its start
			}
			if last < since {
				by = cause{max(by.obs, c.killed.obs), ruleHooksSerial}
			} else {
				early.c[j].stopped(n, ruleBlocksNext)
			}
		}
		since := r.hookSince(j, x)
		if j == i || since == 0 || c.fresh || c.returned.known() || c.gone.known() {
			continue
		}
		if last < x.first && !r.awaited(&s, i, j) {
			by = cause{max(by.obs, since), ruleHooksSerial}
		} else {
			r.settle(&early, j, n, ruleBlocksNext)
		}
		r.settle(&s, j, n, ruleBlocksNext)
	}
	r.killed(&s, i, n, ruleBlocksNext)
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
func (r *reading) awaited(s *state, i, j int) bool {
	spec := &r.p.containers[i]
	return spec.role == sidecar && i == r.p.inits-1 && j > i && s.c[j].first && !s.c[j].late && spec.startup.declared && r.ev.writes(i, trace.StartupProbe) && !r.ev.logGap && r.neverKilled(i)
}

// neverKilled reports whether no probe that fails has sidecar i killed once it has
// come to its start: the sync that does so starts it again, and behind it what its
// start had held back.
func (r *reading) neverKilled(i int) bool {
	spec := &r.p.containers[i]
	return r.foreseeable(i) && !spec.liveness.declared && (!spec.startup.declared || !spec.startup.network && r.k.startupProbeStops())
}

// killed forces, where no kubelet was restarted meanwhile, that the containers other than i that a sync was stopping have
// stopped: a sync stops first and starts then, and waits for both.
func (r *reading) killed(s *state, i, n int, rule string) {
	for j := range s.c {
		if r.isStopping(s, i, j, n) {
			s.c[j].stopped(n, rule)
		}
	}
}

// isStopping reports whether a sync is stopping container j, another one than i.
func (r *reading) isStopping(s *state, i, j, n int) bool {
	c := &s.c[j]
	return j != i && (c.kill == byProbe || c.kill == byHook) && !c.gone.known() && !r.cutOff(c.killed.obs, n)
}

// stopped forces that the sync which was stopping the instance has stopped it.
func (c *instance) stopped(n int, rule string) { c.gone, c.dead = at(n, rule), c.kill == byHook }

// mayRestart says why container i cannot have been started again.
func (r *reading) mayRestart(s *state, i int, run int32, n int) *denial {
	c, spec, x := &s.c[i], &r.p.containers[i], r.seenOf(s, i)
	switch {
	case spec.role == ephemeral:
		return deny(ruleEphemeralOnce, cause{x.last, ruleEphemeralOnce})
	case spec.role == initContainer && c.done.known():
		return deny(ruleInitOnce, c.done)
	case spec.role == initContainer && c.run == run-1 && x.mainEnd != 0 && !r.mayExit(i, x, failed):
		return deny(ruleInitOnce, cause{x.mainEnd, ruleInitOnce})
	case run > r.ev.c[i].runs:
		return deny(ruleInstances, cause{max(x.mainEnd, x.last), ruleInstances})
	case c.run == run-1 && r.tooSoon(i, x, n):
		return because(deny(ruleBackoff, cause{x.last, ruleBackoff}), "container %s is started again %s after its last line; restart %d comes no sooner than %s behind the exit before it",
			spec.name, r.between(int(x.last)-1, n), run, r.backoff(run))
	}
	if spec.role == sidecar {
		return nil
	}
	exited := c.run == run-1 && x.mainEnd != 0
	switch {
	case exited && r.mayExit(i, x, spec.restartsFor):
	case x.first == 0 && r.kubeletRestarted(n):
		// One that was created, and that its kubelet did not come to start, is made
		// anew whatever the policy says.
	case len(spec.rules) > 0 && !exited:
		// What the rules say depends on an exit code that was not seen.
	case r.replaced(s, i, run, n):
	case spec.policy == corev1.RestartPolicyNever:
		return deny(r.policyRule(spec), cause{max(x.mainEnd, x.term), rulePolicy})
	case spec.policy == corev1.RestartPolicyOnFailure && exited && !r.mayExit(i, x, failed) && c.kill == alive && !r.probeFailed(s, i) && !r.killedAtLast(i, x):
		// One that is being restarted because of a probe is started again
		// however it ended meanwhile.
		return deny(r.policyRule(spec), cause{x.mainEnd, rulePolicy})
	}
	return nil
}

// replaced reports whether the kubelet may have started instance run of
// container i in the place of one whose definition had changed: it does so
// whatever the policy says, once for each change, with one that ran when the sync
// began (pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions).
func (r *reading) replaced(s *state, i int, run int32, n int) bool {
	c, spec, x := &s.c[i], &r.p.containers[i], r.seenOf(s, i)
	if !r.p.isRegular(i) || !r.changedBy(i, n) {
		return false
	}
	// Each kubelet may have left one behind that it had created and not started, and
	// in each sandbox the container begins anew.
	most := r.ev.c[i].changes + int32(len(r.ev.restarts))
	if once := spec.policy == corev1.RestartPolicyNever && len(spec.rules) == 0 && !r.roundsInTrace(); once && run > most && !r.ev.c[i].startFailed {
		return false
	}
	if c.run != run-1 || x.mainEnd == 0 || c.kill != alive {
		return true
	}
	// It ended before anybody stopped it, and a sync may have learned of that
	// late.
	by := r.ob(int(r.ev.c[i].changed) - 1).entry
	return by.Did == nil || by.At.Sub(r.written(int(x.mainEnd)-1)) < r.patient(patience)
}

// changedBy reports whether the definition of container i may have been changed
// by observation n.
func (r *reading) changedBy(i, n int) bool {
	c := r.ev.c[i].changed
	return c != 0 && int(c) <= n+1
}

// redefined reports whether the kubelet may stop container i by observation n since
// its definition was changed.
func (r *reading) redefined(i, n int) bool {
	return r.changedBy(i, n) && (r.p.isRegular(i) || r.p.containers[i].role == sidecar && r.k.replacesSidecars())
}

// policyRule is the rule that a wrong restart breaks: where the container has a
// policy or rules of its own, theirs.
func (r *reading) policyRule(spec *spec) string {
	if len(spec.rules) > 0 || spec.policy != r.p.policy {
		return ruleExitRules
	}
	return rulePolicy
}

// ruleMatches finds the first restart rule that an exit code matches
// (pkg/api/v1/pod/util.go, ContainerShouldRestart).
func ruleMatches(rules []corev1.ContainerRestartRule, code int32) (corev1.ContainerRestartRule, bool) {
	for _, r := range rules {
		if r.ExitCodes == nil {
			continue
		}
		in := slices.Contains(r.ExitCodes.Values, code)
		if in == (r.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn) {
			return r, true
		}
	}
	return corev1.ContainerRestartRule{}, false
}

// restartsFor and restartsAllFor report whether a rule of the container has it, or all
// containers, restarted for an exit code.
func (s *spec) restartsFor(code int32) bool {
	rule, ok := ruleMatches(s.rules, code)
	return ok && rule.Action == corev1.ContainerRestartRuleActionRestart
}

func (s *spec) restartsAllFor(code int32) bool {
	rule, ok := ruleMatches(s.rules, code)
	return ok && restartsAll(rule)
}

// throughWith reports whether the container is not started again behind an exit code.
func (s *spec) throughWith(code int32) bool {
	return !s.restartsFor(code) && (s.policy == corev1.RestartPolicyNever || s.policy == corev1.RestartPolicyOnFailure && !failed(code))
}

// startLeft starts what the sync behind the first one has to start again, once
// that has surely ended, as regular container i shows.
func (r *reading) startLeft(s *state, i, n int, rule string) {
	for j := range r.p.containers {
		if r.isLeft(s, j, i) {
			r.startDue(s, j, n, rule)
		}
	}
}

// isLeft reports whether container j is one of these.
func (r *reading) isLeft(s *state, j, i int) bool {
	c := &s.c[j]
	starts := !c.returned.known() || c.kill == byHook && !c.gone.known()
	due := c.prompt && c.run == 1 && starts || r.diedStarting(s, j)
	return due && j != i && r.p.isRegular(i) && r.foreseeable(j) && r.foreseeable(i)
}

// leftBehind reports whether there is any.
func (r *reading) leftBehind(s *state, i int) bool {
	for j := range r.p.containers {
		if s.c[i].run > 0 && r.isLeft(s, j, i) {
			return true
		}
	}
	return false
}

// shownRunning reports whether a sync has begun with the newest instance of
// container i running: until then it is not probed by a process of its own.
func (r *reading) shownRunning(s *state, i int) bool {
	spec := &r.p.containers[i]
	return r.seenOf(s, i).probed != 0 && !spec.startup.network && !spec.readiness.network && !spec.liveness.network
}
