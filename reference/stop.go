package reference

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// over is what shows that the Pod had come to its end before sidecar i could be
// started again: every regular container was dead when the sync that started it
// ended, before the instance of the sidecar was, and none is started again. The next
// sync stops what is left. Up to 1.36 it does so only if what init container or
// sidecar is listed last has run: where that is a sidecar that has exited, it, and
// those before it, are started again first.
func (r *reading) over(s *state, i int) (cause, bool) {
	if r.p.containers[i].role != sidecar || !r.foreseeable(i) {
		return cause{}, false
	}
	if !r.k.endsBeforeSidecars() && r.p.containers[r.p.inits-1].role == sidecar {
		return cause{}, false
	}
	var last cause
	for j := r.p.inits; j < r.p.inits+r.p.regulars; j++ {
		c, x, spec := &s.c[j], r.seenOf(s, j), &r.p.containers[j]
		if !c.dead || !r.foreseeable(j) || spec.policy != corev1.RestartPolicyNever || len(spec.rules) > 0 {
			return cause{}, false
		}
		if x.first == 0 || x.first > r.seenOf(s, i).last {
			return cause{}, false // the sidecar may have been started again before that
		}
		if c.gone.obs > last.obs {
			last = c.gone
		}
	}
	return last, last.known()
}

// stop is the hidden step to the kill of container i. It returns one state for
// each reason that the kubelet may have had by observation n.
func (r *reading) stop(s state, i, n int, why ...killing) ([]state, *denial) {
	if s.c[i].kill != alive {
		return []state{s.clone()}, nil
	}
	var next []state
	var first *denial
	for _, w := range why {
		states, d := r.stopFor(s, i, n, w)
		next, first = append(next, states...), firstOf(first, d)
	}
	if len(next) > 0 {
		return next, nil
	}
	if first == nil {
		first = deny(ruleTermCause)
		first.why = "nothing that was seen by then gives the kubelet a reason to stop container " + r.p.containers[i].name
	}
	return nil, first
}

func (r *reading) stopFor(s state, i, n int, w killing) ([]state, *denial) {
	spec, x := &r.p.containers[i], r.seenOf(&s, i)
	stopping := func(t state) state {
		t.c[i].kill, t.c[i].killed = w, at(n, ruleTermCause)
		return t
	}
	switch w {
	case byEnding:
		states, d := r.end(s, i, n)
		var next []state
		for _, t := range states {
			next = append(next, stopping(t))
		}
		return next, d
	case byProbe:
		if !r.redefined(i, n) && !r.probeFailed(&s, i) {
			return nil, nil
		}
		if d := r.tooFewFailures(i, x, n); d != nil {
			return nil, d
		}
		states, d := r.instanceDone(s, i, n, ruleAfterSync)
		var next []state
		// An Event may come late, and tell of a kill before what lines have shown.
		told, since := !r.ob(n).isLog, int32(n)+1
		if told {
			since = x.failing
		}
		for _, t := range states {
			r.quiet(&t, i, n, ruleKillAfterSync, since)
			if !r.k.killsInParallel() && !told {
				for j := range t.c {
					if c := &t.c[j]; j != i && c.kill == byProbe && !c.gone.known() && !r.cutOff(c.killed.obs, n) {
						c.gone = at(n, ruleKillsSerial)
					}
				}
			}
			next = append(next, stopping(t))
		}
		return next, d
	case byHook:
		// A hook that died, or that nobody answered, has left no end, and its
		// Event may be lost. What it writes behind this is refused.
		died := x.hookEnd == 0 && !s.c[i].returned.known()
		if !spec.postStart || !r.ev.c[i].hookFailed && !died || x.hookEnd != 0 && x.hookCode == 0 && (r.ob(n).isLog || !r.hookDied(&s, i, n)) {
			return nil, nil
		}
		t := s.clone()
		r.settle(&t, i, n, ruleTermCause)
		t.c[i].gone = s.c[i].gone // it is being stopped, and has not ended yet
		return []state{stopping(t)}, nil
	case bySandbox, byRestartAll:
		if w == bySandbox && !r.sandboxLost(&s) || w == byRestartAll && !r.asksForAll(&s) {
			return nil, nil
		}
		t := s.clone()
		r.quiet(&t, -1, n, ruleKillAfterSync, int32(n)+1)
		return []state{stopping(t)}, nil
	}
	return nil, nil
}

// tooFewFailures says why no probe of container i can have failed for good by
// observation n: each that could stop it fails in the log, and has not done so failureThreshold
// times in a row. A log alone does not tell which probes ran out of time.
func (r *reading) tooFewFailures(i int, x *seen, n int) *denial {
	if r.logOnly && !r.ev.complete || r.ev.logGap || r.ev.eventGap || r.ev.c[i].changed != 0 || r.unlogged(i, n) || r.eventsBehind(n) {
		return nil
	}
	spec := &r.p.containers[i]
	most := int32(0)
	for _, a := range []trace.Actor{trace.LivenessProbe, trace.StartupProbe} {
		p, row := spec.probe(a), x.failures[rowOf(a)]
		if p.declared && (p.network || !r.ev.writes(i, a) || row >= p.failures) {
			return nil
		}
		most = max(most, row)
	}
	return because(deny(ruleTermCause, cause{x.failing, ruleTermCause}), "a probe of container %s has failed %d times in a row by then, which is less than its failureThreshold", spec.name, most)
}

// unlogged reports whether a probe of container i may have failed by observation n more
// often than lines tell.
func (r *reading) unlogged(i, n int) bool {
	return r.ev.c[i].unlogged || r.ev.crowded && !r.ob(n).at().Before(r.ev.heardUntil)
}

// eventsBehind reports whether the Events may end before they come to observation n.
func (r *reading) eventsBehind(n int) bool {
	return !r.ev.toldUntil.IsZero() && r.ev.toldUntil.Before(r.ob(n).entry.At)
}

// hookDied reports whether the postStart hook of container i may have died with
// its container between its last line and its own exit: nothing shows that one
// behind observation n, or its preStop hook could not be run either.
func (r *reading) hookDied(s *state, i, n int) bool {
	c, x := &s.c[i], r.seenOf(s, i)
	if x.mainEnd == 0 {
		return int(r.ev.c[i].alive) <= n+1 || r.ev.c[i].preStopFailed && x.preStop == 0
	}
	return !c.returned.known() || c.returned.obs > x.mainEnd
}

// lostForGood reports whether a sandbox was lost that is not replaced: the sync that
// finds it so stops all that is left of the Pod (pkg/kubelet/kuberuntime/kuberuntime_manager.go,
// computePodActions).
func (r *reading) lostForGood() bool {
	return r.ev.newSandbox && r.p.policy == corev1.RestartPolicyNever
}

// lostBefore reports whether that may have been so before an observation (index + 1).
func (r *reading) lostBefore(obs int32) bool {
	return r.lostForGood() && (len(r.ev.sandboxes) == 0 || r.ev.sandboxes[0] <= obs)
}

// endAsked reports whether by observation n anything but its containers may have
// ended the Pod. Where nothing is started again, a lost sandbox does.
func (r *reading) endAsked(n int) bool {
	return r.ev.endsAnyTime || r.lostBefore(int32(n)+1) || slices.ContainsFunc(r.ev.ends, func(x int32) bool { return int(x) <= n+1 })
}

// undone is the state in which a new kubelet finds a Pod that the one before it
// was stopping because a probe had failed in the last container that ran: it
// knows of no failure, and the Pod goes on. If it has been deleted since, that may
// have come in the middle of a sync.
func (r *reading) undone(s state, n int) state {
	if !s.ending.known() || !r.cutOff(s.ending.obs, n) {
		return s
	}
	last := n
	for _, x := range r.ev.restarts {
		if int(x) <= n+1 {
			last = int(x) - 1
		}
	}
	if r.endAsked(last) {
		return s
	}
	s = s.clone()
	s.ending = cause{}
	for i := range s.c {
		if c := &s.c[i]; c.kill == byEnding {
			c.kill, c.killed = alive, cause{}
		}
	}
	return s
}

// end is the hidden step to the termination of the whole Pod, seen on
// container i.
func (r *reading) end(s state, i, n int) ([]state, *denial) {
	if s.ending.known() {
		return []state{s.clone()}, nil
	}
	asked := r.endAsked(n)
	if !asked && !r.finished(&s, i) {
		return nil, nil
	}
	s = s.clone()
	r.killed(&s, -1, n, ruleTermAfterSync)
	for j := range s.c {
		r.settle(&s, j, n, ruleTermAfterSync)
	}
	next, d := r.endSync(s, n, ruleTermAfterSync)
	if r.p.inits > 0 && !s.synced.known() && !slices.ContainsFunc(s.c[r.p.inits:], func(c instance) bool { return !c.fresh }) {
		// The Pod ends while it is being initialized: what was not started
		// never is.
		t := s.clone()
		for j := range t.c {
			// The next one may have been started, and not be seen yet.
			if c := &t.c[j]; c.fresh && j >= r.p.inits {
				c.gone = at(n, ruleNoStart)
			}
		}
		next, d = append(next, t), nil
	}
	for a := range next {
		t := &next[a]
		if !asked {
			// Nobody ended the Pod: the regular containers are through.
			for j := r.p.inits; j < r.p.inits+r.p.regulars; j++ {
				if c := &t.c[j]; !c.gone.known() && !r.condemned(t, j) {
					c.gone = at(n, ruleSidecarsLast)
				}
			}
		}
		t.ending = at(n, ruleNoStart)
	}
	return next, d
}

// condemned reports whether a probe of container j may have failed for good: it
// is not started again, and where nothing else is left to run it is stopped with
// its whole Pod (pkg/kubelet/kuberuntime/kuberuntime_manager.go,
// computePodActions).
func (r *reading) condemned(s *state, j int) bool {
	spec := &r.p.containers[j]
	return spec.policy == corev1.RestartPolicyNever && (r.probeFailed(s, j) || r.diedProbed(s, j))
}

// diedProbed reports whether a liveness or startup probe of container j may have failed for good
// since it died with it: it has written nothing, and its Event may be lost.
func (r *reading) diedProbed(s *state, j int) bool {
	spec, x := &r.p.containers[j], r.seenOf(s, j)
	if x.mainEnd == 0 {
		return false
	}
	for _, a := range []trace.Actor{trace.LivenessProbe, trace.StartupProbe} {
		if p := spec.probe(a); p.declared && x.failures[rowOf(a)]+1 >= p.failures {
			return true
		}
	}
	return false
}

// probeFailed reports whether a liveness or startup probe of container i may
// have failed by now. One over the network that nobody answers leaves no line; where
// its Event may be missing as well, it is enough that the instance was followed by
// another one, or that the kubelet was stopped and the next one knows nothing of it.
func (r *reading) probeFailed(s *state, i int) bool {
	spec := &r.p.containers[i]
	if !spec.liveness.declared && !spec.startup.declared {
		return false
	}
	stopped := slices.ContainsFunc(r.ev.restarts, func(x int32) bool { return int(x) > r.n+1 })
	followed := r.ev.c[i].runs > s.c[i].run || stopped
	unanswered := (spec.liveness.network || spec.startup.network) && followed && r.eventsMissing(r.n)
	x := r.seenOf(s, i)
	return unanswered || x.failing != 0 || r.ev.c[i].probeFailed || r.ev.c[i].runs > s.c[i].run && r.ranOutOfTime(i, x)
}

// eventsMissing reports whether there may have been Events by observation n that the trace does
// not hold.
func (r *reading) eventsMissing(n int) bool {
	return r.logOnly || r.ev.eventGap || r.ev.crowded || len(r.ev.restarts) > 0 || r.ev.toldUntil.IsZero() || r.eventsBehind(n)
}

// ranOutOfTime reports whether a probe of instance x of container i may have failed
// for good with no line, its process never being in time to write one: it has
// written nothing for as long as that takes. Events would tell of it; a log has none,
// and shows at most that the container was started again.
func (r *reading) ranOutOfTime(i int, x *seen) bool {
	if !r.logOnly || r.ev.complete || x.first == 0 {
		return false
	}
	for _, a := range []trace.Actor{trace.LivenessProbe, trace.StartupProbe} {
		p, since := r.p.containers[i].probe(a), x.probe(a)
		if !p.declared || p.network {
			continue
		}
		if since == 0 {
			since = x.first
		}
		takes := time.Duration((p.failures-1)*p.period+p.timeout) * time.Second
		if r.between(int(since)-1, r.n)+r.slack(r.n) >= takes {
			return true
		}
	}
	return false
}

// finished reports whether the Pod may have come to its end by itself, so that
// the kubelet stops container i, which is not a regular one: every regular
// container has exited and is not started again, or an init container failed
// for good.
func (r *reading) finished(s *state, i int) bool {
	if r.p.isRegular(i) && !r.condemned(s, i) {
		return false
	}
	over := func(j int) bool {
		spec, x := &r.p.containers[j], r.seenOf(s, j)
		switch {
		case r.condemned(s, j):
			return true // whatever it has exited with since
		case x.mainEnd != 0:
			return r.mayExit(j, x, spec.throughWith) || r.followedBy(j, s.c[j].run, spec.throughWith)
		case spec.policy == corev1.RestartPolicyOnFailure:
			return x.mainBegin == 0
		}
		return spec.policy == corev1.RestartPolicyNever
	}
	if r.failedInit(s) >= 0 {
		return true
	}
	for j := r.p.inits; j < r.p.inits+r.p.regulars; j++ {
		if !over(j) {
			return false
		}
	}
	return true
}

// followedBy reports whether an instance of container j behind the given one may have exited with
// such a code by now, without a line: a status that comes later may show it.
func (r *reading) followedBy(j int, run int32, such func(code int32) bool) bool {
	for later, ends := range r.ev.c[j].exits {
		if later > run && slices.ContainsFunc(ends, func(end *corev1.ContainerStateTerminated) bool {
			return such(end.ExitCode) && !end.FinishedAt.After(r.ob(r.n).at())
		}) {
			return true
		}
	}
	return false
}

// failedInit is an init container that may have failed for good, -1 if there is
// none.
func (r *reading) failedInit(s *state) int {
	for j := range r.p.inits {
		spec, c, x := &r.p.containers[j], &s.c[j], r.seenOf(s, j)
		died := x.mainEnd == 0 && !c.fresh && !c.done.known() && r.h[j].over >= c.run
		for run, ends := range r.ev.c[j].exits {
			// A status that comes later shows it, or that the next one did, which wrote nothing.
			died = died || (run > c.run || run == c.run && x.mainEnd == 0) && slices.ContainsFunc(ends, func(end *corev1.ContainerStateTerminated) bool { return end.ExitCode != 0 })
		}
		if spec.role == initContainer && spec.policy == corev1.RestartPolicyNever && (died || x.mainEnd != 0 && x.mainCode != 0) {
			return j
		}
	}
	return -1
}
