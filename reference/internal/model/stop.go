package model

import (
	"slices"
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"

	"github.com/podorder/podorder/reference/trace"
	corev1 "k8s.io/api/core/v1"
)

// over is what shows that the Pod had come to its end before sidecar i could be
// started again: every regular container was dead when the sync that started it
// ended, before the instance of the sidecar was, and none is started again. The next
// sync stops what is left. Up to 1.36 it does so only if what init container or
// sidecar is listed last has run: where that is a sidecar that has exited, it, and
// those before it, are started again first.
func (r *Reading) over(s *State, i int) (Cause, bool) {
	if r.p.Containers[i].Role != podspec.Sidecar || !r.foreseeable(i) {
		return Cause{}, false
	}
	if !r.k.EndsBeforeSidecars() && r.p.Containers[r.p.Inits-1].Role == podspec.Sidecar {
		return Cause{}, false
	}
	var last Cause
	for j := r.p.Inits; j < r.p.Inits+r.p.Regulars; j++ {
		c, x, spec := &s.c[j], r.seenOf(s, j), &r.p.Containers[j]
		if !c.dead || !r.foreseeable(j) || spec.Policy != corev1.RestartPolicyNever || len(spec.Rules) > 0 {
			return Cause{}, false
		}
		if x.first == 0 || x.first > r.seenOf(s, i).last {
			return Cause{}, false // the sidecar may have been started again before that
		}
		if c.gone.Obs > last.Obs {
			last = c.gone
		}
	}
	return last, last.known()
}

// stop is the hidden step to the kill of container i. It returns one state for
// each reason that the kubelet may have had by observation n.
func (r *Reading) stop(s State, i, n int, why ...killing) ([]State, *Denial) {
	if s.c[i].kill != alive {
		return []State{s.clone()}, nil
	}
	var next []State
	var first *Denial
	for _, w := range why {
		states, d := r.stopFor(s, i, n, w)
		next, first = append(next, states...), firstOf(first, d)
	}
	if len(next) > 0 {
		return next, nil
	}
	if first == nil {
		first = deny(rules.TermCause)
		first.Why = "nothing that was seen by then gives the kubelet a reason to stop container " + r.p.Containers[i].Name
	}
	return nil, first
}

func (r *Reading) stopFor(s State, i, n int, w killing) ([]State, *Denial) {
	spec, x := &r.p.Containers[i], r.seenOf(&s, i)
	stopping := func(t State) State {
		t.c[i].kill, t.c[i].killed = w, at(n, rules.TermCause)
		return t
	}
	switch w {
	case byEnding:
		states, d := r.end(s, i, n)
		var next []State
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
		states, d := r.instanceDone(s, i, n, rules.AfterSync)
		var next []State
		// An Event may come late, and tell of a kill before what lines have shown.
		told, since := !r.ob(n).IsLog, int32(n)+1
		if told {
			since = x.failing
		}
		for _, t := range states {
			r.quiet(&t, i, n, rules.KillAfterSync, since)
			if !r.k.KillsInParallel() && !told {
				for j := range t.c {
					if c := &t.c[j]; j != i && c.kill == byProbe && !c.gone.known() && !r.cutOff(c.killed.Obs, n) {
						c.gone = at(n, rules.KillsSerial)
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
		if !spec.PostStart || !r.ev.Containers[i].HookFailed && !died || x.hookEnd != 0 && x.hookCode == 0 && (r.ob(n).IsLog || !r.hookDied(&s, i, n)) {
			return nil, nil
		}
		t := s.clone()
		r.settle(&t, i, n, rules.TermCause)
		t.c[i].gone = s.c[i].gone // it is being stopped, and has not ended yet
		return []State{stopping(t)}, nil
	case bySandbox, byRestartAll:
		if w == bySandbox && !r.sandboxLost(&s) || w == byRestartAll && !r.asksForAll(&s) {
			return nil, nil
		}
		t := s.clone()
		r.quiet(&t, -1, n, rules.KillAfterSync, int32(n)+1)
		return []State{stopping(t)}, nil
	}
	return nil, nil
}

// tooFewFailures says why no probe of container i can have failed for good by
// observation n: each that could stop it fails in the log, and has not done so failureThreshold
// times in a row. A log alone does not tell which probes ran out of time.
func (r *Reading) tooFewFailures(i int, x *seen, n int) *Denial {
	if r.logOnly && !r.ev.Complete || r.ev.LogGap || r.ev.EventGap || r.ev.Containers[i].Changed != 0 || r.unlogged(i, n) || r.eventsBehind(n) {
		return nil
	}
	spec := &r.p.Containers[i]
	most := int32(0)
	for _, a := range []trace.Actor{trace.LivenessProbe, trace.StartupProbe} {
		p, row := spec.Probe(a), x.failures[record.RowOf(a)]
		if p.Declared && (p.Network || !r.ev.Writes(i, a) || row >= p.Failures) {
			return nil
		}
		most = max(most, row)
	}
	return because(deny(rules.TermCause, Cause{x.failing, rules.TermCause}), "a probe of container %s has failed %d times in a row by then, which is less than its failureThreshold", spec.Name, most)
}

// unlogged reports whether a probe of container i may have failed by observation n more
// often than lines tell.
func (r *Reading) unlogged(i, n int) bool {
	return r.ev.Containers[i].Unlogged || r.ev.Crowded && !r.ob(n).At().Before(r.ev.HeardUntil)
}

// eventsBehind reports whether the Events may end before they come to observation n.
func (r *Reading) eventsBehind(n int) bool {
	return !r.ev.ToldUntil.IsZero() && r.ev.ToldUntil.Before(r.ob(n).Entry.At)
}

// hookDied reports whether the postStart hook of container i may have died with
// its container between its last line and its own exit: nothing shows that one
// behind observation n, or its preStop hook could not be run either.
func (r *Reading) hookDied(s *State, i, n int) bool {
	c, x := &s.c[i], r.seenOf(s, i)
	if x.mainEnd == 0 {
		return int(r.ev.Containers[i].Alive) <= n+1 || r.ev.Containers[i].PreStopFailed && x.preStop == 0
	}
	return !c.returned.known() || c.returned.Obs > x.mainEnd
}

// lostForGood reports whether a sandbox was lost that is not replaced: the sync that
// finds it so stops all that is left of the Pod (pkg/kubelet/kuberuntime/kuberuntime_manager.go,
// computePodActions).
func (r *Reading) lostForGood() bool {
	return r.ev.NewSandbox && r.p.Policy == corev1.RestartPolicyNever
}

// lostBefore reports whether that may have been so before an observation (index + 1).
func (r *Reading) lostBefore(obs int32) bool {
	return r.lostForGood() && (len(r.ev.Sandboxes) == 0 || r.ev.Sandboxes[0] <= obs)
}

// endAsked reports whether by observation n anything but its containers may have
// ended the Pod. Where nothing is started again, a lost sandbox does.
func (r *Reading) endAsked(n int) bool {
	return r.ev.EndsAnyTime || r.lostBefore(int32(n)+1) || slices.ContainsFunc(r.ev.Ends, func(x int32) bool { return int(x) <= n+1 })
}

// undone is the state in which a new kubelet finds a Pod that the one before it
// was stopping because a probe had failed in the last container that ran: it
// knows of no failure, and the Pod goes on. If it has been deleted since, that may
// have come in the middle of a sync.
func (r *Reading) undone(s State, n int) State {
	if !s.ending.known() || !r.cutOff(s.ending.Obs, n) {
		return s
	}
	last := n
	for _, x := range r.ev.Restarts {
		if int(x) <= n+1 {
			last = int(x) - 1
		}
	}
	if r.endAsked(last) {
		return s
	}
	s = s.clone()
	s.ending = Cause{}
	for i := range s.c {
		if c := &s.c[i]; c.kill == byEnding {
			c.kill, c.killed = alive, Cause{}
		}
	}
	return s
}

// end is the hidden step to the termination of the whole Pod, seen on
// container i.
func (r *Reading) end(s State, i, n int) ([]State, *Denial) {
	if s.ending.known() {
		return []State{s.clone()}, nil
	}
	asked := r.endAsked(n)
	if !asked && !r.finished(&s, i) {
		return nil, nil
	}
	s = s.clone()
	r.killed(&s, -1, n, rules.TermAfterSync)
	for j := range s.c {
		r.settle(&s, j, n, rules.TermAfterSync)
	}
	next, d := r.endSync(s, n, rules.TermAfterSync)
	if r.p.Inits > 0 && !s.synced.known() && !slices.ContainsFunc(s.c[r.p.Inits:], func(c instance) bool { return !c.fresh }) {
		// The Pod ends while it is being initialized: what was not started
		// never is.
		t := s.clone()
		for j := range t.c {
			// The next one may have been started, and not be seen yet.
			if c := &t.c[j]; c.fresh && j >= r.p.Inits {
				c.gone = at(n, rules.NoStart)
			}
		}
		next, d = append(next, t), nil
	}
	for a := range next {
		t := &next[a]
		if !asked {
			// Nobody ended the Pod: the regular containers are through.
			for j := r.p.Inits; j < r.p.Inits+r.p.Regulars; j++ {
				if c := &t.c[j]; !c.gone.known() && !r.condemned(t, j) {
					c.gone = at(n, rules.SidecarsLast)
				}
			}
		}
		t.ending = at(n, rules.NoStart)
	}
	return next, d
}

// condemned reports whether a probe of container j may have failed for good: it
// is not started again, and where nothing else is left to run it is stopped with
// its whole Pod (pkg/kubelet/kuberuntime/kuberuntime_manager.go,
// computePodActions).
func (r *Reading) condemned(s *State, j int) bool {
	spec := &r.p.Containers[j]
	return spec.Policy == corev1.RestartPolicyNever && (r.probeFailed(s, j) || r.diedProbed(s, j))
}

// diedProbed reports whether a liveness or startup probe of container j may have failed for good
// since it died with it: it has written nothing, and its Event may be lost.
func (r *Reading) diedProbed(s *State, j int) bool {
	spec, x := &r.p.Containers[j], r.seenOf(s, j)
	if x.mainEnd == 0 {
		return false
	}
	for _, a := range []trace.Actor{trace.LivenessProbe, trace.StartupProbe} {
		if p := spec.Probe(a); p.Declared && x.failures[record.RowOf(a)]+1 >= p.Failures {
			return true
		}
	}
	return false
}

// probeFailed reports whether a liveness or startup probe of container i may
// have failed by now. One over the network that nobody answers leaves no line; where
// its Event may be missing as well, it is enough that the instance was followed by
// another one, or that the kubelet was stopped and the next one knows nothing of it.
func (r *Reading) probeFailed(s *State, i int) bool {
	spec := &r.p.Containers[i]
	if !spec.Liveness.Declared && !spec.Startup.Declared {
		return false
	}
	stopped := slices.ContainsFunc(r.ev.Restarts, func(x int32) bool { return int(x) > r.n+1 })
	followed := r.ev.Containers[i].Runs > s.c[i].run || stopped
	unanswered := (spec.Liveness.Network || spec.Startup.Network) && followed && r.eventsMissing(r.n)
	x := r.seenOf(s, i)
	return unanswered || x.failing != 0 || r.ev.Containers[i].ProbeFailed || r.ev.Containers[i].Runs > s.c[i].run && r.ranOutOfTime(i, x)
}

// eventsMissing reports whether there may have been Events by observation n that the trace does
// not hold.
func (r *Reading) eventsMissing(n int) bool {
	return r.logOnly || r.ev.EventGap || r.ev.Crowded || len(r.ev.Restarts) > 0 || r.ev.ToldUntil.IsZero() || r.eventsBehind(n)
}

// ranOutOfTime reports whether a probe of instance x of container i may have failed
// for good with no line, its process never being in time to write one: it has
// written nothing for as long as that takes. Events would tell of it; a log has none,
// and shows at most that the container was started again.
func (r *Reading) ranOutOfTime(i int, x *seen) bool {
	if !r.logOnly || r.ev.Complete || x.first == 0 {
		return false
	}
	for _, a := range []trace.Actor{trace.LivenessProbe, trace.StartupProbe} {
		p, since := r.p.Containers[i].Probe(a), x.probe(a)
		if !p.Declared || p.Network {
			continue
		}
		if since == 0 {
			since = x.first
		}
		takes := time.Duration((p.Failures-1)*p.Period+p.Timeout) * time.Second
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
func (r *Reading) finished(s *State, i int) bool {
	if r.p.IsRegular(i) && !r.condemned(s, i) {
		return false
	}
	over := func(j int) bool {
		spec, x := &r.p.Containers[j], r.seenOf(s, j)
		switch {
		case r.condemned(s, j):
			return true // whatever it has exited with since
		case x.mainEnd != 0:
			return r.mayExit(j, x, spec.ThroughWith) || r.followedBy(j, s.c[j].run, spec.ThroughWith)
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

// followedBy reports whether an instance of container j behind the given one may have exited with
// such a code by now, without a line: a status that comes later may show it.
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

// failedInit is an init container that may have failed for good, -1 if there is
// none.
func (r *Reading) failedInit(s *State) int {
	for j := range r.p.Inits {
		spec, c, x := &r.p.Containers[j], &s.c[j], r.seenOf(s, j)
		died := x.mainEnd == 0 && !c.fresh && !c.done.known() && r.h[j].over >= c.run
		for run, ends := range r.ev.Containers[j].Exits {
			// A status that comes later shows it, or that the next one did, which wrote nothing.
			died = died || (run > c.run || run == c.run && x.mainEnd == 0) && slices.ContainsFunc(ends, func(end *corev1.ContainerStateTerminated) bool { return end.ExitCode != 0 })
		}
		if spec.Role == podspec.InitContainer && spec.Policy == corev1.RestartPolicyNever && (died || x.mainEnd != 0 && x.mainCode != 0) {
			return j
		}
	}
	return -1
}
