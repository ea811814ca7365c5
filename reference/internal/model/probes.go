// The probes: the probe manager and its workers, and what a failed probe is good for. Rules:
// probes/after-sync, probes/startup-gates, probes/startup-stops, probes/initial-delay,
// probes/during-termination, terminate/cause.

package model

import (
	"slices"
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// lastProbes is how many liveness and startup probes of a container are accepted after the
// termination of its Pod has begun. A worker is told to end. Where a tick is due as well,
// because a probe took longer than its period, Go chooses between the two by chance
// (pkg/kubelet/prober/worker.go, run), so every second time one more probe follows. This is
// patience, not a rule: three in a row were recorded.
const lastProbes = 8

// beforeInitialDelay says why line n, of a probe of container i, comes before the initial delay
// was over. It goes by the start time that an update showed, and by what surely came before
// the start.
func (r *Reading) beforeInitialDelay(i, n int) *Denial {
	l, h := &r.ob(n).Log, &r.h[i]
	delay := r.delay(i, l.Actor)
	if delay == 0 || r.ev.GraceNeverEnds {
		return nil // there is none, or time does not matter
	}
	run := r.runOf(i, l)
	// The kubelet goes by the start in whole seconds, which loses one.
	if before := r.startedAfter(i, run); before.Known() {
		if wait := r.between(before, n); wait+r.slack(n) < delay-time.Second {
			return because(deny(rules.InitialDelay, Cause{before, rules.InitialDelay}), "the %s of container %s ran too early: its initialDelaySeconds is %d, and the container was started at most %s before", l.Actor, r.p.Containers[i].Name, int(delay/time.Second), wait)
		}
	}
	if h.startedRun < 0 || h.startedRun != run {
		return nil
	}
	// The kubelet compares whole seconds: it may be a second short.
	if first := h.startedAt.Add(delay - time.Second); l.Time.Add(r.slack(n)).Before(first) {
		return because(deny(rules.InitialDelay, Cause{r.shownAt, rules.InitialDelay}), "the %s of container %s ran too early: its initialDelaySeconds is %d, and the container was started %s before", l.Actor, r.p.Containers[i].Name, int(delay/time.Second), l.Time.Sub(h.startedAt).Round(time.Millisecond))
	}
	return nil
}

// delay is the initialDelaySeconds of a probe of container i.
func (r *Reading) delay(i int, a trace.Actor) time.Duration {
	return time.Duration(r.p.Containers[i].Probe(a).Delay) * time.Second
}

// onProbe takes a line of a probe of container i.
func (r *Reading) onProbe(s State, i, n int) ([]State, *Denial) {
	if r.asksOldInstance(&s, i, n) {
		return nil, nil
	}
	if c := &s.c[i]; c.kill == byHook && !r.excused(rules.NoProbeAfterHookFailed, i, n, c.killCause.Obs) {
		// It is stopped within the sync that started it, and probes come after that sync.
		return nil, deny(rules.AfterSync, Cause{c.killCause.Obs, rules.AfterSync})
	}
	if d := firstOf(r.startupGates(&s, i, n), r.probedAfterFailure(&s, i, n)); d != nil {
		return nil, d
	}
	if d := r.beforeInitialDelay(i, n); d != nil {
		return nil, d
	}
	var forced []State // none so far
	if r.probesShouldEnd(&s, i, n) {
		x, c := r.seenOf(&s, i), &s.c[i]
		startedSince := r.ob(n).Log.Actor == trace.LivenessProbe && x.started > s.terminating.Obs
		if c.lateProbes >= lastProbes || startedSince && !r.sleepsFirst(i, n) {
			return nil, deny(rules.ProbesStop, s.terminating, Cause{x.started, rules.StartupGates})
		}
		s = s.clone()
		s.c[i].lateProbes++
		forced = []State{s}
	}
	if c := &s.c[i]; c.hookReturned.known() && (s.startSyncEnded.known() || !r.p.IsRegular(i) || !c.progress.isFirst()) && !r.anyRestartIsOwed(&s, i) {
		return forced, nil
	}
	states, d := r.syncOfHasEnded(s, i, n, rules.AfterSync)
	return r.keepIfHookEnded(states, d, i, n, rules.AfterSync)
}

// startupGates says why line n, of a probe of container i, comes too early or too late beside
// the startup probe: the other probes wait for its success, and after that it is not run again.
func (r *Reading) startupGates(s *State, i, n int) *Denial {
	l, spec, x := &r.ob(n).Log, &r.p.Containers[i], r.seenOf(s, i)
	if l.Actor == trace.StartupProbe {
		if x.passed.Known() && !r.excused(rules.NoStartupProbeAgain, i, n, x.passed) {
			return deny(rules.StartupStops, Cause{x.started, rules.StartupStops}, Cause{x.passed, rules.StartupGates})
		}
		return nil
	}
	if spec.Startup.Declared && r.ev.Writes(i, trace.StartupProbe) && !x.started.Known() && !r.excused(rules.GateClosed, i, n, 0) && !r.startedEarly(s, i, s.c[i].run, n) {
		return because(deny(rules.StartupGates), "the %s of container %s ran before the startup probe of this instance had succeeded", l.Actor, spec.Name)
	}
	return nil
}

// probesShouldEnd reports whether line n is of a probe of container i that should have ended,
// since the termination of the Pod has begun. A Pod that comes to its end by itself, or loses its
// sandbox for good, is stopped by a sync, and is probed until its phase says so. In any other Pod
// one probe may be in flight when the termination begins, and a tick may fall into it: then
// chance decides whether the worker ends or probes once more.
func (r *Reading) probesShouldEnd(s *State, i, n int) bool {
	stops := r.ob(n).Log.Actor != trace.ReadinessProbe && (r.p.Containers[i].Role != podspec.Sidecar || r.k.SidecarProbesStop())
	return stops && s.terminating.known() && !r.podIsOver(s, i) && !r.sandboxLostForGoodBefore(s.terminating.Obs)
}

// sleepsFirst reports whether line n may be of the first run of a probe whose worker slept for
// a part of its period before that. Workers do so in a kubelet that was started less than a
// period before, and they hear of nothing meanwhile.
func (r *Reading) sleepsFirst(i, n int) bool {
	l := &r.ob(n).Log
	var since record.Place // the first line of the Pod, or the start of the kubelet that runs
	for j := range r.h {
		for k := range r.h[j].runs {
			if x := &r.h[j].runs[k]; since == 0 || x.first < since {
				since = x.first
			}
		}
	}
	for _, x := range r.ev.Restarts {
		if !x.After(n) {
			since = max(since, x)
		}
	}
	if r.ev.RestartAnyTime {
		return true
	}
	for k := range r.h[i].runs {
		if x := &r.h[i].runs[k]; x.probe(l.Actor) >= since && l.Actor != trace.ReadinessProbe {
			return false
		}
	}
	period := time.Duration(r.p.Containers[i].Probe(l.Actor).Period) * time.Second
	return since != 0 && (r.ev.NodeStoodStill || l.Time.Sub(r.obAt(since).At()) < period+r.patient(prompt)+r.slack(n))
}

// asksOldInstance reports whether line n may be of a probe that was meant for the instance
// before. Until the sync that restarted a container has ended, and a status shows the new
// instance, the probes over the network that are meant for the old instance reach the new one. One of
// them may still be in flight then. In a new sandbox that happens only where the Pod keeps its
// address (pkg/kubelet/prober/prober.go, runProbe, takes the address from the status).
func (r *Reading) asksOldInstance(s *State, i int, n int) bool {
	c, l := &s.c[i], &r.ob(n).Log
	p := r.p.Containers[i].Probe(l.Actor)
	if !p.Network || c.run <= 0 {
		return false
	}
	if c.progress.isFirst() && !(p.Fixed && s.startedOver) {
		return false // the probe asks the address of the old sandbox
	}
	if l.Actor == trace.StartupProbe && !r.startupAsksOld(i, c.run, n) {
		return false
	}
	return !r.shownBy(i, c.run, n)
}

// shownBy reports whether line n is of a probe that was surely run after a status showed
// instance run of container i. The probe goes over the network. The first sign of that status is an
// update, or the startup probe of the instance; one probe may be in flight then.
func (r *Reading) shownBy(i int, run int32, n int) bool {
	h, l := &r.h[i], &r.ob(n).Log
	x := h.at(run)
	last := x.probe(l.Actor)
	var sign record.Place
	var at time.Time
	if h.shownRun >= run {
		sign, at = h.shownObs, r.obAt(h.shownObs).Entry.At
	}
	if x.startupFirst != 0 && (sign == 0 || x.startupFirst < sign) && !r.startupAsksOld(i, run, n) {
		sign, at = x.startupFirst, r.writtenAt(x.startupFirst)
	}
	timeout := time.Duration(r.p.Containers[i].Probe(l.Actor).Timeout) * time.Second
	return sign != 0 && (last >= sign || l.Time.Sub(at) >= timeout+r.slack(n))
}

// startupAsksOld reports whether a startup probe that reaches instance run of container i may be
// meant for the instance before. That had not started then, as far as the running kubelet
// knows. It was not stopped for a startup probe, after which none is run, nor for a liveness probe,
// which waits until it has started: it was stopped because its definition or its sandbox had
// changed.
func (r *Reading) startupAsksOld(i int, run int32, n int) bool {
	p, old := &r.p.Containers[i].Startup, r.h[i].at(run-1)
	if !p.Network || run == 0 {
		return false
	}
	// Or a restarted kubelet, which does not remember that it had started, stopped it for a
	// liveness probe.
	forgot := r.kubeletRestarted(n) && (!r.k.Remembers() || r.youngAtRestart(old, n))
	return forgot || (old.passed == 0 || r.kubeletRestartedSince(old.passed, n)) && (r.p.IsRegular(i) && r.changedBy(i, n) || p.Fixed && r.ev.NewSandbox)
}

// youngAtRestart reports whether the kubelet may have been restarted, by observation n, so soon
// after the start of an instance that the new kubelet does not take it over as it was shown.
func (r *Reading) youngAtRestart(x *seen, n int) bool {
	return r.ev.RestartAnyTime || slices.ContainsFunc(r.ev.Restarts, func(a record.Place) bool {
		return !a.After(n) && (x.first == 0 || r.obAt(a).At().Sub(r.writtenAt(x.first)) < outlives)
	})
}

// tooFewFailures says why no probe of container i can have it stopped by observation n: each
// probe that could writes its failures to the log, and has not failed failureThreshold times in
// a row, or it goes over the network and was answered too short a time before. A log alone does
// not tell which probes ran out of time.
func (r *Reading) tooFewFailures(i int, x *seen, n int) *Denial {
	spec, counted := &r.p.Containers[i], !r.excused(rules.FailuresBeforeKill, i, n, 0)
	most, answered := int32(0), record.Place(0)
	for _, a := range []trace.Actor{trace.LivenessProbe, trace.StartupProbe} {
		p, row := spec.Probe(a), x.failures[record.RowOf(a)]
		switch {
		case !p.Declared:
		case a == trace.StartupProbe && p.Network && x.passed.Known() && !r.excused(rules.NoStartupProbeAgain, i, n, x.passed):
			// It is not run any more.
		case p.Network:
			at := r.answeredLately(i, a, x, n)
			if at == 0 || r.excused(rules.AnsweredGoesOn, i, n, at) {
				return nil
			}
			answered = max(answered, at)
		case !counted || !r.ev.Writes(i, a) || row >= p.Failures || r.logOnly && !r.ev.LogComplete && r.timeForFailures(i, x, a, n):
			return nil
		}
		most = max(most, row)
	}
	switch {
	case answered != 0:
		return because(deny(rules.TermCause, Cause{answered, rules.TermCause}), "container %s was stopped for a probe that it had answered too short a time before: that cannot have failed as often as its failureThreshold says", spec.Name)
	case !counted:
		return nil
	}
	return because(deny(rules.TermCause, Cause{x.failing, rules.TermCause}), "container %s was stopped after a probe had failed %d times in a row, which is less than its failureThreshold", spec.Name, most)
}

// answeredLately is the latest success of a probe of container i over the network, if it has had too
// little time since to fail failureThreshold times in a row, as it does at most once in a period. The
// first of these may follow a success at once that took a period. That the answer came in time
// is certain only if the line before it was written well within the time-out: the probe began after
// that line. 0 if there is none.
func (r *Reading) answeredLately(i int, a trace.Actor, x *seen, n int) record.Place {
	p, y := r.p.Containers[i].Probe(a), x.answered[answer(a)]
	if y.at == 0 || y.before == 0 || !r.ob(n).IsLog || r.between(y.before, y.at.Index()) > time.Duration(p.Timeout)*time.Second/2 {
		return 0
	}
	if since := r.between(y.at, n) + r.slack(n); since >= time.Duration(p.Failures-2)*time.Duration(p.Period)*time.Second {
		return 0
	}
	return y.at
}

// diedWhileProbed reports whether a liveness or startup probe of container j may have failed once
// more, and so often enough, because it died with its container: it has written nothing, and
// its Event may be lost.
func (r *Reading) diedWhileProbed(s *State, j int) bool {
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

// probeFailed reports whether a liveness or startup probe of container i may have failed by now.
// A probe over the network that nobody answers leaves no line. Where its Event may be missing as
// well, it is enough that another instance followed, or that the kubelet is stopped later, since
// the next kubelet knows nothing of it.
func (r *Reading) probeFailed(s *State, i int) bool {
	spec := &r.p.Containers[i]
	if !spec.Liveness.Declared && !spec.Startup.Declared {
		return false
	}
	stopped := r.ev.RestartAnyTime || slices.ContainsFunc(r.ev.Restarts, func(x record.Place) bool { return x.After(r.n) })
	followed := r.ev.Containers[i].NewestRun > s.c[i].run || stopped
	unanswered := (spec.Liveness.Network || spec.Startup.Network) && followed && r.eventsMissing(r.n)
	x := r.seenOf(s, i)
	unlogged := r.logOnly && r.ev.Containers[i].SilentFailure
	return unlogged || unanswered || x.failing != 0 || r.ev.Containers[i].ProbeFailed || r.ev.Containers[i].NewestRun > s.c[i].run && r.ranOutOfTime(i, x)
}

// ranOutOfTime reports whether a probe of instance x of container i may have failed often enough
// without a line, since its process was never in time to write one: it has written nothing for as
// long as that takes. Events would tell of it. A log has none, and shows at most that the
// container was started again.
func (r *Reading) ranOutOfTime(i int, x *seen) bool {
	if !r.logOnly || r.ev.LogComplete || x.first == 0 {
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
		if r.between(since, r.n)+r.slack(r.n) >= takes {
			return true
		}
	}
	return false
}
