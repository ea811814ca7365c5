package model

import (
	"slices"
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// lastProbes is how many liveness and startup probes of a container are accepted
// after the termination of its Pod has begun. A worker is told to end; where a tick
// is due as well, because a probe took longer than its period, Go chooses between
// the two by chance (pkg/kubelet/prober/worker.go, run), so one more probe follows
// another with a probability of a half. This is patience, not a rule: three in a
// row were recorded.
const lastProbes = 8

// beforeInitialDelay reports why line n, of a probe of container i, comes before the
// initial delay was over. It goes by the start that an update showed.
func (r *Reading) beforeInitialDelay(i, n int) *Denial {
	l, h := &r.ob(n).Log, &r.h[i]
	delay := r.delay(i, l.Actor)
	if delay == 0 || h.startedRun < 0 || h.startedRun != r.runOf(i, l) {
		return nil
	}
	// The kubelet compares whole seconds: it may be a second short.
	if first := h.startedAt.Add(delay - time.Second); l.Time.Add(r.slack(n)).Before(first) {
		return because(deny(rules.InitialDelay, Cause{r.shownAt, rules.InitialDelay}), "the %s of container %s has initialDelaySeconds %d, and the container was started %s before", l.Actor, r.p.Containers[i].Name, int(delay/time.Second), l.Time.Sub(h.startedAt).Round(time.Millisecond))
	}
	return nil
}

func (r *Reading) delay(i int, a trace.Actor) time.Duration {
	return time.Duration(r.p.Containers[i].Probe(a).Delay) * time.Second
}

func (r *Reading) onProbe(s State, i, n int) ([]State, *Denial) {
	l, spec, x := &r.ob(n).Log, &r.p.Containers[i], r.seenOf(&s, i)
	if r.asksOldInstance(&s, i, n) {
		return []State{s}, nil
	}
	if c := &s.c[i]; c.kill == byHook && !r.excused(rules.NoProbeAfterHookFailed, i, n, c.killCause.Obs) {
		// It is stopped within the sync that started it.
		return nil, deny(rules.AfterSync, Cause{c.killCause.Obs, rules.AfterSync})
	}
	if l.Actor != trace.StartupProbe && spec.Startup.Declared && r.ev.Writes(i, trace.StartupProbe) && x.started == 0 && !r.excused(rules.GateClosed, i, n, 0) {
		return nil, because(deny(rules.StartupGates), "no startup probe of this instance has succeeded by then")
	}
	if l.Actor == trace.StartupProbe && x.passed != 0 && !r.excused(rules.NoStartupProbeAgain, i, n, x.passed) {
		return nil, deny(rules.StartupStops, Cause{x.started, rules.StartupStops}, Cause{x.passed, rules.StartupGates})
	}
	if d := r.beforeInitialDelay(i, n); d != nil {
		return nil, d
	}
	stops := l.Actor != trace.ReadinessProbe && (spec.Role != podspec.Sidecar || r.k.SidecarProbesStop())
	if c := &s.c[i]; stops && s.terminating.known() && !r.podIsOver(&s, i) && !r.sandboxLostForGoodBefore(s.terminating.Obs) {
		// A Pod that comes to its end by itself, or loses its sandbox for good, is
		// stopped by a sync, and probed until its phase says so. Of another, one probe may be in flight when the
		// termination begins, and a tick may fall into it: then chance decides
		// whether the worker ends or probes once more.
		if c.lateProbes >= lastProbes || l.Actor == trace.LivenessProbe && x.started > s.terminating.Obs && !r.sleepsFirst(i, n) {
			return nil, deny(rules.ProbesStop, s.terminating, Cause{x.started, rules.StartupGates})
		}
		s = s.clone()
		s.c[i].lateProbes++
	}
	if c := &s.c[i]; c.hookReturned.known() && (s.startSyncEnded.known() || !r.p.IsRegular(i) || !c.progress.isFirst()) && !r.anyRestartIsOwed(&s, i) {
		return []State{s}, nil
	}
	states, d := r.syncOfHasEnded(s, i, n, rules.AfterSync)
	return r.keepIfHookEnded(states, d, i, n, rules.AfterSync)
}

// sleepsFirst reports whether line n may be of the first run of a probe whose
// worker slept for a part of its period before: those of a kubelet that has been
// started within that time do, and hear of nothing meanwhile.
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
	for k := range r.h[i].runs {
		if x := &r.h[i].runs[k]; x.probe(l.Actor) >= since && l.Actor != trace.ReadinessProbe {
			return false
		}
	}
	period := time.Duration(r.p.Containers[i].Probe(l.Actor).Period) * time.Second
	return since != 0 && l.Time.Sub(r.obAt(since).At()) < period+r.patient(prompt)+r.slack(n)
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
	if c.progress.isFirst() && !(p.Fixed && s.startedOver) {
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
	var sign record.Place
	var at time.Time
	if h.shownRun >= run {
		sign, at = h.shownObs, r.obAt(h.shownObs).Entry.At
	}
	if x.startupFirst != 0 && (sign == 0 || x.startupFirst < sign) && !r.startsOld(i, run, n) {
		sign, at = x.startupFirst, r.writtenAt(x.startupFirst)
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
	return forgot || (old.passed == 0 || r.kubeletRestartedSince(old.passed, n)) && (r.p.IsRegular(i) && r.changedBy(i, n) || p.Fixed && r.ev.NewSandbox)
}

// youngAtRestart reports whether the kubelet may have been restarted, by observation n, so soon
// after the start of an instance that it forgets what it has shown of it.
func (r *Reading) youngAtRestart(x *seen, n int) bool {
	return slices.ContainsFunc(r.ev.Restarts, func(a record.Place) bool {
		return !a.After(n) && (x.first == 0 || r.obAt(a).At().Sub(r.writtenAt(x.first)) < outlives)
	})
}

// tooFewFailures says why no probe of container i can have failed for good by
// observation n: each that could stop it fails in the log, and has not done so failureThreshold
// times in a row. A log alone does not tell which probes ran out of time.
func (r *Reading) tooFewFailures(i int, x *seen, n int) *Denial {
	if r.excused(rules.FailuresBeforeKill, i, n, 0) {
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
	stopped := slices.ContainsFunc(r.ev.Restarts, func(x record.Place) bool { return x.After(r.n) })
	followed := r.ev.Containers[i].NewestRun > s.c[i].run || stopped
	unanswered := (spec.Liveness.Network || spec.Startup.Network) && followed && r.eventsMissing(r.n)
	x := r.seenOf(s, i)
	return unanswered || x.failing != 0 || r.ev.Containers[i].ProbeFailed || r.ev.Containers[i].NewestRun > s.c[i].run && r.ranOutOfTime(i, x)
}

// ranOutOfTime reports whether a probe of instance x of container i may have failed
// for good with no line, its process never being in time to write one: it has
// written nothing for as long as that takes. Events would tell of it; a log has none,
// and shows at most that the container was started again.
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
