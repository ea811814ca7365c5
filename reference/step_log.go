package reference

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// onLine takes a line of the shared log.
func (r *reading) onLine(s state, n int) ([]state, *denial) {
	o := r.ob(n)
	i, l := o.c, &o.log
	run := r.runOf(i, l)
	c := &s.c[i]
	if run < c.run || run == c.run && c.fresh {
		if c.gone.known() {
			return nil, deny(c.gone.rule, c.gone)
		}
		return nil, deny(ruleInstances, cause{r.h[i].at(c.run).first, ruleInstances})
	}
	var next []state
	states, d := []state(nil), (*denial)(nil)
	if run == c.run {
		replaced := !r.logOnly && !s.ending.known() && c.first && r.seenOf(&s, i).first == 0 && r.mayBeginAnew(&s)
		if !replaced {
			return r.write(s, i, n)
		}
		// Or that one has left no line, nor taken a number, and all began anew.
		next, d = r.write(s, i, n)
		next = slices.Clone(next)
		states, _ = r.unseenFirst(r.beginAnew(s, n), i, run, n)
		return r.writeIn(states, next, d, i, n)
	}
	if s.anew && !c.fresh && c.first && r.seenOf(&s, i).first == 0 {
		// Or it is of the instance that is there: which number that has depends on
		// how many of the rounds before left no line.
		t := s.clone()
		t.c[i].run = run
		next, _ = r.write(t, i, n)
		next = slices.Clone(next)
	}
	if l.Actor.IsProbe() && c.fresh && run == c.run+1 && r.p.isRegular(i) && !c.late && !s.ending.known() {
		// The first sign of an instance: it was started, and its sync ended.
		states, d = r.endSync(s, n, ruleAfterSync)
		for a := range states {
			states[a] = begun(states[a], i, int32(run))
		}
	} else {
		states, d = r.start(s, i, run, n)
	}
	if next, d = r.writeIn(states, next, d, i, n); len(next) > 0 {
		return next, nil
	}
	return nil, firstOf(d, deny(ruleListedOrder, s.synced))
}

// writeIn takes the line as one of the newest instance of container i in each of the
// states, and adds what follows to next.
func (r *reading) writeIn(states, next []state, d *denial, i, n int) ([]state, *denial) {
	for _, t := range states {
		after, other := r.write(t, i, n)
		next, d = append(next, after...), firstOf(d, other)
	}
	if len(next) > 0 {
		return next, nil
	}
	return nil, d
}

// runOf is the instance that wrote a line. A line without a number is taken for
// the only instance that can have written it.
func (r *reading) runOf(i int, l *trace.Line) int32 {
	if l.Run != trace.NoRun {
		return int32(l.Run)
	}
	h := &r.h[i]
	x := h.newest()
	run := max(x.run, 0)
	over := h.over >= run || x.run >= 0 && l.Actor == trace.Main && (x.mainEnd != 0 || l.Mark.Kind == trace.Begin)
	if over && run < r.ev.c[i].runs {
		run = min(max(run, h.over)+1, r.ev.c[i].runs) // what has ended may have written nothing
	}
	if r.next && run < r.ev.c[i].runs {
		run++
	}
	return run
}

// write takes the line as one of the newest instance of container i.
func (r *reading) write(s state, i, n int) ([]state, *denial) {
	c := &s.c[i]
	if c.gone.known() {
		return nil, deny(c.gone.rule, c.gone)
	}
	if d := firstOf(r.tooLate(&s, i, n), firstOf(r.overdue(&s, i, n), r.heldBack(i, c.run, n))); d != nil {
		return nil, d
	}
	switch r.ob(n).log.Actor {
	case trace.Main:
		return r.onMain(s, i, n)
	case trace.PostStart:
		return r.onPostStart(s, i, n)
	case trace.PreStop:
		return r.onPreStop(s, i, n)
	}
	return r.onProbe(s, i, n)
}

func (r *reading) onMain(s state, i, n int) ([]state, *denial) {
	l, x := &r.ob(n).log, r.seenOf(&s, i)
	if x.mainEnd != 0 {
		return nil, deny(ruleInstances, cause{x.mainEnd, ruleInstances})
	}
	switch stop := r.p.containers[i].stop; {
	case l.Mark.Kind == trace.Begin && x.mainBegin != 0 && !r.ev.logGap:
		return nil, deny(ruleInstances, cause{x.mainBegin, ruleInstances})
	case l.Mark.Kind != trace.Signal:
		return r.same(s), nil
	case l.Mark.Signal == stop:
	case l.Mark.Signal == "TERM":
		return nil, because(deny(ruleTermCause), "container %s asks to be stopped by %s; the kubelet sends it no TERM", l.Container, stop)
	default:
		return r.same(s), nil // of somebody else, or of the image
	}
	states, d := r.stop(s, i, n, byEnding, byProbe, byHook, bySandbox, byRestartAll)
	var next []state
	for _, t := range states {
		after, other := r.onTerm(t, i, n)
		if other == nil {
			next = append(next, after)
		}
		d = firstOf(d, other)
	}
	if len(next) > 0 {
		return next, nil
	}
	return nil, d
}

// onTerm takes the TERM of a container that is being stopped, in a state of the
// caller's own.
func (r *reading) onTerm(s state, i, n int) (state, *denial) {
	c, x := &s.c[i], r.seenOf(&s, i)
	if x.preStopBegin != 0 && x.preStopEnd == 0 && !r.ev.logGap && r.graceLeft(&s, i, n) {
		return s, because(deny(rulePreStopFirst, cause{x.preStopBegin, rulePreStopFirst}), "the preStop hook of container %s has begun and not ended, and its grace period is not over", r.p.containers[i].name)
	}
	if r.asleep(&s, i, n) {
		return s, because(deny(rulePreStopFirst, r.stopCause(&s, i, n)), "the preStop hook of container %s sleeps for %s, which are not over, nor is its grace period", r.p.containers[i].name, r.p.containers[i].sleepStop)
	}
	if d := r.turnMissed(&s, i, n); d != nil {
		return s, d
	}
	if c.kill != byEnding || r.p.containers[i].role != sidecar || !r.graceLeft(&s, i, n) {
		return s, nil
	}
	// A sidecar waits for its turn: for the regular containers and for the
	// sidecars behind it.
	for j := i + 1; j < r.p.inits+r.p.regulars; j++ {
		rule := ruleSidecarsLast
		if j < r.p.inits {
			rule = ruleSidecarsReverse
		}
		if o := &s.c[j]; !o.fresh && !o.gone.known() && r.waitsFor(&s, i, j) {
			o.gone = at(n, rule)
		}
	}
	return s, nil
}

// waitsFor reports whether sidecar i waits for container j, listed behind it,
// where the Pod ends: for each regular container, and for the next sidecar, which
// waits for the one behind that. One that did not run when it all began breaks
// this chain (pkg/kubelet/kuberuntime/kuberuntime_termination_order.go,
// newTerminationOrdering).
func (r *reading) waitsFor(s *state, i, j int) bool {
	if r.p.isRegular(j) {
		return true
	}
	for k := i + 1; k < j; k++ {
		if r.p.containers[k].role != sidecar {
			continue
		}
		c, x := &s.c[k], r.seenOf(s, k)
		ended := x.mainEnd != 0 && x.mainEnd < s.ending.obs || c.gone.known() && c.gone.obs < s.ending.obs
		// One that died without a line may be shown so only later.
		died := x.mainEnd == 0 && x.term == 0 && x.preStop == 0 && slices.ContainsFunc(r.ev.c[k].exits[c.run], func(end *corev1.ContainerStateTerminated) bool {
			return !end.FinishedAt.After(r.ob(int(s.ending.obs) - 1).at())
		})
		if ended || died || c.fresh || r.h[k].over >= c.run {
			return false
		}
	}
	return r.p.containers[j].role == sidecar
}

func (r *reading) onPostStart(s state, i, n int) ([]state, *denial) {
	l, c, x := &r.ob(n).log, &s.c[i], r.seenOf(&s, i)
	switch {
	case x.hookEnd != 0:
		return nil, deny(ruleHookOnce, cause{x.hookEnd, ruleHookOnce})
	case l.Mark.Kind == trace.Begin && x.hookFirst != 0:
		return nil, deny(ruleHookOnce, cause{x.hookFirst, ruleHookOnce})
	case c.returned.known():
		return nil, deny(c.returned.rule, c.returned)
	}
	for j := range s.c {
		// Two hooks never overlap: that of the other container is over.
		if o, y := &s.c[j], r.seenOf(&s, j); j != i && !o.fresh && y.hookFirst > x.hookFirst && !o.returned.known() {
			if x.hookFirst != 0 {
				return nil, deny(ruleHooksSerial, cause{y.hookFirst, ruleHooksSerial})
			}
			s = s.clone()
			r.settle(&s, j, n, ruleHooksSerial)
		}
	}
	return r.same(s), nil
}

func (r *reading) onProbe(s state, i, n int) ([]state, *denial) {
	l, spec, x := &r.ob(n).log, &r.p.containers[i], r.seenOf(&s, i)
	if r.asksOldInstance(&s, i, n) {
		return r.same(s), nil
	}
	if c := &s.c[i]; c.kill == byHook && !r.cutOff(c.killed.obs, n) {
		// It is stopped within the sync that started it.
		return nil, deny(ruleAfterSync, cause{c.killed.obs, ruleAfterSync})
	}
	if l.Actor != trace.StartupProbe && spec.startup.declared && r.ev.writes(i, trace.StartupProbe) && x.started == 0 && !r.ev.logGap {
		return nil, because(deny(ruleStartupGates), "no startup probe of this instance has succeeded by then")
	}
	if l.Actor == trace.StartupProbe && x.passed != 0 && r.k.startupProbeStops() && !r.cutOff(x.passed, n) {
		return nil, deny(ruleStartupStops, cause{x.started, ruleStartupStops}, cause{x.passed, ruleStartupGates})
	}
	if d := r.tooEarly(i, n); d != nil {
		return nil, d
	}
	stops := l.Actor != trace.ReadinessProbe && (spec.role != sidecar || r.k.sidecarProbesStop())
	if c := &s.c[i]; stops && s.ending.known() && !r.finished(&s, i) && !r.lostBefore(s.ending.obs) {
		// A Pod that comes to its end by itself, or loses its sandbox for good, is
		// stopped by a sync, and probed until its phase says so. Of another, one probe may be in flight when the
		// termination begins, and a tick may fall into it: then chance decides
		// whether the worker ends or probes once more.
		if c.after >= lastProbes || l.Actor == trace.LivenessProbe && x.started > s.ending.obs && !r.sleepsFirst(i, n) {
			return nil, deny(ruleProbesStop, s.ending, cause{x.started, ruleStartupGates})
		}
		s = s.clone()
		s.c[i].after++
	}
	if c := &s.c[i]; c.returned.known() && (s.synced.known() || !r.p.isRegular(i) || !c.first) && !r.leftBehind(&s, i) {
		return r.same(s), nil
	}
	states, d := r.instanceDone(s, i, n, ruleAfterSync)
	return r.outlived(states, d, i, n, ruleAfterSync)
}

// sleepsFirst reports whether line n may be of the first run of a probe whose
// worker slept for a part of its period before: those of a kubelet that has been
// started within that time do, and hear of nothing meanwhile.
func (r *reading) sleepsFirst(i, n int) bool {
	l := &r.ob(n).log
	var since int32 // the first line of the Pod, or the start of the kubelet that runs
	for j := range r.h {
		for k := range r.h[j].runs {
			if x := &r.h[j].runs[k]; since == 0 || x.first < since {
				since = x.first
			}
		}
	}
	for _, x := range r.ev.restarts {
		if int(x) <= n+1 {
			since = max(since, x)
		}
	}
	for k := range r.h[i].runs {
		if x := &r.h[i].runs[k]; x.probe(l.Actor) >= since && l.Actor != trace.ReadinessProbe {
			return false
		}
	}
	period := time.Duration(r.p.containers[i].probe(l.Actor).period) * time.Second
	return since != 0 && l.Time.Sub(r.ob(int(since)-1).at()) < period+r.patient(prompt)+r.slack(n)
}

// outlived drops the states in which the sync that started container i has
// ended by observation n, but its hook only by dying with it.
func (r *reading) outlived(states []state, d *denial, i, n int, rule string) ([]state, *denial) {
	var next []state
	for _, t := range states {
		if t.c[i].gone != at(n, rule) {
			next = append(next, t)
			continue
		}
		x := r.seenOf(&t, i)
		d = firstOf(d, because(deny(rule, cause{max(x.hookBegin, x.first), rule}), "the postStart hook of container %s has not ended", r.p.containers[i].name))
	}
	return next, d
}

// asksOldInstance reports whether a probe may be one that was meant for the
// instance before: until the sync that restarted a container has ended, and a
// status shows the new instance, a probe over the network reaches the new one. One
// may still be in flight then. In a new sandbox that is so only where the Pod keeps
// its address (pkg/kubelet/prober/prober.go, runProbe, asks the one of the status).
func (r *reading) asksOldInstance(s *state, i int, n int) bool {
	c, l := &s.c[i], &r.ob(n).log
	p := r.p.containers[i].probe(l.Actor)
	if !p.network || c.run <= 0 {
		return false
	}
	if c.first && !(p.fixed && s.anew) {
		return false // the address that is asked was that of another sandbox
	}
	if l.Actor == trace.StartupProbe && !r.startsOld(i, c.run, n) {
		return false
	}
	return !r.shownBy(i, c.run, n)
}

// shownBy reports whether line n, of a probe over the network that reached instance
// run of container i, was surely run when a status showed that instance: an update,
// or its startup probe, is the first sign, and one may be in flight then.
func (r *reading) shownBy(i int, run int32, n int) bool {
	h, l := &r.h[i], &r.ob(n).log
	x := h.at(run)
	last := x.probe(l.Actor)
	var sign int32
	var at time.Time
	if h.shownRun >= run {
		sign, at = h.shownObs, r.ob(int(h.shownObs)-1).entry.At
	}
	if x.startupFirst != 0 && (sign == 0 || x.startupFirst < sign) && !r.startsOld(i, run, n) {
		sign, at = x.startupFirst, r.written(int(x.startupFirst)-1)
	}
	timeout := time.Duration(r.p.containers[i].probe(l.Actor).timeout) * time.Second
	return sign != 0 && (last >= sign || l.Time.Sub(at) >= timeout+r.slack(n))
}

// startsOld reports whether a startup probe that reaches instance run of container
// i may be meant for the one before. That had not started then, as far as the kubelet
// that runs knows, and was stopped neither for a startup probe, after which none is run, nor for a liveness probe,
// which waits for it to start: its definition had changed, or its sandbox.
func (r *reading) startsOld(i int, run int32, n int) bool {
	p, old := &r.p.containers[i].startup, r.h[i].at(run-1)
	if !p.network || run == 0 {
		return false
	}
	// A kubelet that was restarted, and that does not remember, may have stopped it for a
	// liveness probe before it had started again in its eyes.
	forgot := r.kubeletRestarted(n) && (!r.k.remembers() || r.youngAtRestart(old, n))
	return forgot || (old.passed == 0 || r.cutOff(old.passed, n)) && (r.p.isRegular(i) && r.changedBy(i, n) || p.fixed && r.ev.newSandbox)
}

// youngAtRestart reports whether the kubelet may have been restarted, by observation n, so soon
// after the start of an instance that it forgets what it has shown of it.
func (r *reading) youngAtRestart(x *seen, n int) bool {
	return slices.ContainsFunc(r.ev.restarts, func(a int32) bool {
		return int(a) <= n+1 && (x.first == 0 || r.ob(int(a)-1).at().Sub(r.written(int(x.first)-1)) < outlives)
	})
}

func (r *reading) onPreStop(s state, i, n int) ([]state, *denial) {
	x := r.seenOf(&s, i)
	if x.term != 0 && !r.cutOff(x.term, n) && r.graceLeft(&s, i, int(x.term)-1) {
		return nil, deny(rulePreStopFirst, cause{x.term, rulePreStopFirst})
	}
	next, d := r.stop(s, i, n, byEnding, byProbe, byHook, bySandbox)
	if exit, asks := r.asked(&s); d != nil && d.rule == ruleTermCause && asks {
		d = because(deny(ruleRestartAll, exit), "a container has asked for the restart of all, which runs no preStop hook")
	}
	return next, d
}
