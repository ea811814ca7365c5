package model

import (
	"slices"
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/rules"

	"github.com/podorder/podorder/reference/trace"
	corev1 "k8s.io/api/core/v1"
)

// onLine takes a line of the shared log.
func (r *Reading) onLine(s State, n int) ([]State, *Denial) {
	o := r.ob(n)
	i, l := o.Container, &o.Log
	run := r.runOf(i, l)
	c := &s.c[i]
	if run < c.run || run == c.run && c.fresh {
		if c.gone.known() {
			return nil, deny(c.gone.Rule, c.gone)
		}
		return nil, deny(rules.Instances, Cause{r.h[i].at(c.run).first, rules.Instances})
	}
	var next []State
	states, d := []State(nil), (*Denial)(nil)
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
	if l.Actor.IsProbe() && c.fresh && run == c.run+1 && r.p.IsRegular(i) && !c.late && !s.ending.known() {
		// The first sign of an instance: it was started, and its sync ended.
		states, d = r.endSync(s, n, rules.AfterSync)
		for a := range states {
			states[a] = begun(states[a], i, int32(run))
		}
	} else {
		states, d = r.start(s, i, run, n)
	}
	if next, d = r.writeIn(states, next, d, i, n); len(next) > 0 {
		return next, nil
	}
	return nil, firstOf(d, deny(rules.ListedOrder, s.synced))
}

// writeIn takes the line as one of the newest instance of container i in each of the
// states, and adds what follows to next.
func (r *Reading) writeIn(states, next []State, d *Denial, i, n int) ([]State, *Denial) {
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
func (r *Reading) runOf(i int, l *trace.Line) int32 {
	if l.Run != trace.NoRun {
		return int32(l.Run)
	}
	h := &r.h[i]
	x := h.newest()
	run := max(x.run, 0)
	over := h.over >= run || x.run >= 0 && l.Actor == trace.Main && (x.mainEnd != 0 || l.Mark.Kind == trace.Begin)
	if over && run < r.ev.Containers[i].Runs {
		run = min(max(run, h.over)+1, r.ev.Containers[i].Runs) // what has ended may have written nothing
	}
	if r.next && run < r.ev.Containers[i].Runs {
		run++
	}
	return run
}

// write takes the line as one of the newest instance of container i.
func (r *Reading) write(s State, i, n int) ([]State, *Denial) {
	c := &s.c[i]
	if c.gone.known() {
		return nil, deny(c.gone.Rule, c.gone)
	}
	if d := firstOf(r.tooLate(&s, i, n), firstOf(r.overdue(&s, i, n), r.heldBack(i, c.run, n))); d != nil {
		return nil, d
	}
	switch r.ob(n).Log.Actor {
	case trace.Main:
		return r.onMain(s, i, n)
	case trace.PostStart:
		return r.onPostStart(s, i, n)
	case trace.PreStop:
		return r.onPreStop(s, i, n)
	}
	return r.onProbe(s, i, n)
}

func (r *Reading) onMain(s State, i, n int) ([]State, *Denial) {
	l, x := &r.ob(n).Log, r.seenOf(&s, i)
	if x.mainEnd != 0 {
		return nil, deny(rules.Instances, Cause{x.mainEnd, rules.Instances})
	}
	switch stop := r.p.Containers[i].Stop; {
	case l.Mark.Kind == trace.Begin && x.mainBegin != 0 && !r.ev.LogGap:
		return nil, deny(rules.Instances, Cause{x.mainBegin, rules.Instances})
	case l.Mark.Kind != trace.Signal:
		return r.same(s), nil
	case l.Mark.Signal == stop:
	case l.Mark.Signal == "TERM":
		return nil, because(deny(rules.TermCause), "container %s asks to be stopped by %s; the kubelet sends it no TERM", l.Container, stop)
	default:
		return r.same(s), nil // of somebody else, or of the image
	}
	states, d := r.stop(s, i, n, byEnding, byProbe, byHook, bySandbox, byRestartAll)
	var next []State
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
func (r *Reading) onTerm(s State, i, n int) (State, *Denial) {
	c, x := &s.c[i], r.seenOf(&s, i)
	if x.preStopBegin != 0 && x.preStopEnd == 0 && !r.ev.LogGap && r.graceLeft(&s, i, n) {
		return s, because(deny(rules.PreStopFirst, Cause{x.preStopBegin, rules.PreStopFirst}), "the preStop hook of container %s has begun and not ended, and its grace period is not over", r.p.Containers[i].Name)
	}
	if r.asleep(&s, i, n) {
		return s, because(deny(rules.PreStopFirst, r.stopCause(&s, i, n)), "the preStop hook of container %s sleeps for %s, which are not over, nor is its grace period", r.p.Containers[i].Name, r.p.Containers[i].SleepStop)
	}
	if d := r.turnMissed(&s, i, n); d != nil {
		return s, d
	}
	if c.kill != byEnding || r.p.Containers[i].Role != podspec.Sidecar || !r.graceLeft(&s, i, n) {
		return s, nil
	}
	// A sidecar waits for its turn: for the regular containers and for the
	// sidecars behind it.
	for j := i + 1; j < r.p.Inits+r.p.Regulars; j++ {
		rule := rules.SidecarsLast
		if j < r.p.Inits {
			rule = rules.SidecarsReverse
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
func (r *Reading) waitsFor(s *State, i, j int) bool {
	if r.p.IsRegular(j) {
		return true
	}
	for k := i + 1; k < j; k++ {
		if r.p.Containers[k].Role != podspec.Sidecar {
			continue
		}
		c, x := &s.c[k], r.seenOf(s, k)
		ended := x.mainEnd != 0 && x.mainEnd < s.ending.Obs || c.gone.known() && c.gone.Obs < s.ending.Obs
		// One that died without a line may be shown so only later.
		died := x.mainEnd == 0 && x.term == 0 && x.preStop == 0 && slices.ContainsFunc(r.ev.Containers[k].Exits[c.run], func(end *corev1.ContainerStateTerminated) bool {
			return !end.FinishedAt.After(r.ob(int(s.ending.Obs) - 1).At())
		})
		if ended || died || c.fresh || r.h[k].over >= c.run {
			return false
		}
	}
	return r.p.Containers[j].Role == podspec.Sidecar
}

func (r *Reading) onPostStart(s State, i, n int) ([]State, *Denial) {
	l, c, x := &r.ob(n).Log, &s.c[i], r.seenOf(&s, i)
	switch {
	case x.hookEnd != 0:
		return nil, deny(rules.HookOnce, Cause{x.hookEnd, rules.HookOnce})
	case l.Mark.Kind == trace.Begin && x.hookFirst != 0:
		return nil, deny(rules.HookOnce, Cause{x.hookFirst, rules.HookOnce})
	case c.returned.known():
		return nil, deny(c.returned.Rule, c.returned)
	}
	for j := range s.c {
		// Two hooks never overlap: that of the other container is over.
		if o, y := &s.c[j], r.seenOf(&s, j); j != i && !o.fresh && y.hookFirst > x.hookFirst && !o.returned.known() {
			if x.hookFirst != 0 {
				return nil, deny(rules.HooksSerial, Cause{y.hookFirst, rules.HooksSerial})
			}
			s = s.clone()
			r.settle(&s, j, n, rules.HooksSerial)
		}
	}
	return r.same(s), nil
}

func (r *Reading) onProbe(s State, i, n int) ([]State, *Denial) {
	l, spec, x := &r.ob(n).Log, &r.p.Containers[i], r.seenOf(&s, i)
	if r.asksOldInstance(&s, i, n) {
		return r.same(s), nil
	}
	if c := &s.c[i]; c.kill == byHook && !r.cutOff(c.killed.Obs, n) {
		// It is stopped within the sync that started it.
		return nil, deny(rules.AfterSync, Cause{c.killed.Obs, rules.AfterSync})
	}
	if l.Actor != trace.StartupProbe && spec.Startup.Declared && r.ev.Writes(i, trace.StartupProbe) && x.started == 0 && !r.ev.LogGap {
		return nil, because(deny(rules.StartupGates), "no startup probe of this instance has succeeded by then")
	}
	if l.Actor == trace.StartupProbe && x.passed != 0 && r.k.StartupProbeStops() && !r.cutOff(x.passed, n) {
		return nil, deny(rules.StartupStops, Cause{x.started, rules.StartupStops}, Cause{x.passed, rules.StartupGates})
	}
	if d := r.tooEarly(i, n); d != nil {
		return nil, d
	}
	stops := l.Actor != trace.ReadinessProbe && (spec.Role != podspec.Sidecar || r.k.SidecarProbesStop())
	if c := &s.c[i]; stops && s.ending.known() && !r.finished(&s, i) && !r.lostBefore(s.ending.Obs) {
		// A Pod that comes to its end by itself, or loses its sandbox for good, is
		// stopped by a sync, and probed until its phase says so. Of another, one probe may be in flight when the
		// termination begins, and a tick may fall into it: then chance decides
		// whether the worker ends or probes once more.
		if c.after >= lastProbes || l.Actor == trace.LivenessProbe && x.started > s.ending.Obs && !r.sleepsFirst(i, n) {
			return nil, deny(rules.ProbesStop, s.ending, Cause{x.started, rules.StartupGates})
		}
		s = s.clone()
		s.c[i].after++
	}
	if c := &s.c[i]; c.returned.known() && (s.synced.known() || !r.p.IsRegular(i) || !c.first) && !r.leftBehind(&s, i) {
		return r.same(s), nil
	}
	states, d := r.instanceDone(s, i, n, rules.AfterSync)
	return r.outlived(states, d, i, n, rules.AfterSync)
}

// sleepsFirst reports whether line n may be of the first run of a probe whose
// worker slept for a part of its period before: those of a kubelet that has been
// started within that time do, and hear of nothing meanwhile.
func (r *Reading) sleepsFirst(i, n int) bool {
	l := &r.ob(n).Log
	var since int32 // the first line of the Pod, or the start of the kubelet that runs
	for j := range r.h {
		for k := range r.h[j].runs {
			if x := &r.h[j].runs[k]; since == 0 || x.first < since {
				since = x.first
			}
		}
	}
	for _, x := range r.ev.Restarts {
		if int(x) <= n+1 {
			since = max(since, x)
		}
	}
	for k := range r.h[i].runs {
		if x := &r.h[i].runs[k]; x.probe(l.Actor) >= since && l.Actor != trace.ReadinessProbe {
			return false
		}
	}
	period := time.Duration(r.p.Containers[i].Probe(l.Actor).Period) * time.Second
	return since != 0 && l.Time.Sub(r.ob(int(since)-1).At()) < period+r.patient(prompt)+r.slack(n)
}

// outlived drops the states in which the sync that started container i has
// ended by observation n, but its hook only by dying with it.
func (r *Reading) outlived(states []State, d *Denial, i, n int, rule string) ([]State, *Denial) {
	var next []State
	for _, t := range states {
		if t.c[i].gone != at(n, rule) {
			next = append(next, t)
			continue
		}
		x := r.seenOf(&t, i)
		d = firstOf(d, because(deny(rule, Cause{max(x.hookBegin, x.first), rule}), "the postStart hook of container %s has not ended", r.p.Containers[i].Name))
	}
	return next, d
}

// asksOldInstance reports whether a probe may be one that was meant for the
// instance before: until the sync that restarted a container has ended, and a
// status shows the new instance, a probe over the network reaches the new one. One
// may still be in flight then. In a new sandbox that is so only where the Pod keeps
// its address (pkg/kubelet/prober/prober.go, runProbe, asks the one of the status).
func (r *Reading) asksOldInstance(s *State, i int, n int) bool {
	c, l := &s.c[i], &r.ob(n).Log
	p := r.p.Containers[i].Probe(l.Actor)
	if !p.Network || c.run <= 0 {
		return false
	}
	if c.first && !(p.Fixed && s.anew) {
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
func (r *Reading) shownBy(i int, run int32, n int) bool {
	h, l := &r.h[i], &r.ob(n).Log
	x := h.at(run)
	last := x.probe(l.Actor)
	var sign int32
	var at time.Time
	if h.shownRun >= run {
		sign, at = h.shownObs, r.ob(int(h.shownObs)-1).Entry.At
	}
	if x.startupFirst != 0 && (sign == 0 || x.startupFirst < sign) && !r.startsOld(i, run, n) {
		sign, at = x.startupFirst, r.written(int(x.startupFirst)-1)
	}
	timeout := time.Duration(r.p.Containers[i].Probe(l.Actor).Timeout) * time.Second
	return sign != 0 && (last >= sign || l.Time.Sub(at) >= timeout+r.slack(n))
}

// startsOld reports whether a startup probe that reaches instance run of container
// i may be meant for the one before. That had not started then, as far as the kubelet
// that runs knows, and was stopped neither for a startup probe, after which none is run, nor for a liveness probe,
// which waits for it to start: its definition had changed, or its sandbox.
func (r *Reading) startsOld(i int, run int32, n int) bool {
	p, old := &r.p.Containers[i].Startup, r.h[i].at(run-1)
	if !p.Network || run == 0 {
		return false
	}
	// A kubelet that was restarted, and that does not remember, may have stopped it for a
	// liveness probe before it had started again in its eyes.
	forgot := r.kubeletRestarted(n) && (!r.k.Remembers() || r.youngAtRestart(old, n))
	return forgot || (old.passed == 0 || r.cutOff(old.passed, n)) && (r.p.IsRegular(i) && r.changedBy(i, n) || p.Fixed && r.ev.NewSandbox)
}

// youngAtRestart reports whether the kubelet may have been restarted, by observation n, so soon
// after the start of an instance that it forgets what it has shown of it.
func (r *Reading) youngAtRestart(x *seen, n int) bool {
	return slices.ContainsFunc(r.ev.Restarts, func(a int32) bool {
		return int(a) <= n+1 && (x.first == 0 || r.ob(int(a)-1).At().Sub(r.written(int(x.first)-1)) < outlives)
	})
}

func (r *Reading) onPreStop(s State, i, n int) ([]State, *Denial) {
	x := r.seenOf(&s, i)
	if x.term != 0 && !r.cutOff(x.term, n) && r.graceLeft(&s, i, int(x.term)-1) {
		return nil, deny(rules.PreStopFirst, Cause{x.term, rules.PreStopFirst})
	}
	next, d := r.stop(s, i, n, byEnding, byProbe, byHook, bySandbox)
	if exit, asks := r.asked(&s); d != nil && d.Rule == rules.TermCause && asks {
		d = because(deny(rules.RestartAll, exit), "a container has asked for the restart of all, which runs no preStop hook")
	}
	return next, d
}
