// The duty of the probe workers: each probe is run once a period, from when the status shows
// its container until that is stopped. Rules: probes/run-periodically.

package model

import (
	"slices"
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// probeKinds are the probes that a container may have.
var probeKinds = [...]trace.Actor{trace.StartupProbe, trace.ReadinessProbe, trace.LivenessProbe}

// probed reports whether the container has a probe of any kind.
func probed(spec *podspec.Container) bool {
	return spec.Startup.Declared || spec.Readiness.Declared || spec.Liveness.Declared
}

// probeNotRun says why a probe of container i should have been run by observation n.
func (r *Reading) probeNotRun(s *State, i, n int) *Denial {
	spec, c := &r.p.Containers[i], &s.c[i]
	if !probed(spec) || c.progress.isUnstarted() || c.ended.known() || s.terminating.known() || c.kill != notKilled && c.kill != byProbe {
		return nil
	}
	x := r.seenOf(s, i)
	if x.mainEnd.Known() {
		return nil
	}
	for _, a := range probeKinds {
		if r.justProbed(x, a, n) {
			continue
		}
		p := spec.Probe(a)
		if !p.Declared || !r.writesEachRun(i, a) || a != trace.ReadinessProbe && (c.kill != notKilled || r.stopBegun(x).Known()) {
			continue
		}
		since, clause := x.probe(a), rules.NextProbe
		within := 3*period(&p) + 2*timeout(&p) + r.patient(prompt)
		if !since.Known() {
			since, clause = r.shownSince(i, c.run), rules.FirstProbe
			within += time.Duration(p.Delay)*time.Second + r.hooksSleep()
		}
		if !since.Known() || r.passed(since, n) <= within {
			continue
		}
		if gate := r.gateOpen(x, i, a); !gate.Known() {
			continue
		} else if gate > since {
			since = gate
		}
		if wait := r.passed(since, r.untilEnd(n)); wait > within && r.probeIsDue(s, i, a, n) && !r.excusedOf(clause, i, a, n, since) && !r.probesMissing(s, i, since, n) {
			return late(clause, Cause{since, rules.ProbesRun}, "the %s of container %s has not been run for %s; its period is %d s", a, spec.Name, wait, p.Period)
		}
	}
	return nil
}

// justProbed reports whether line n was written so soon after the latest line of a probe that the
// next one cannot be due, whatever its period: this is the case for most lines, and asked first.
func (r *Reading) justProbed(x *seen, a trace.Actor, n int) bool {
	o := r.ob(n)
	return o.IsLog && x.probe(a).Known() && o.Log.Time.UnixNano()-x.sure[record.RowOf(a)].last < int64(prompt-time.Millisecond)
}

// writesEachRun reports whether a probe of container i writes in each of its runs, whatever it
// finds.
func (m *model) writesEachRun(i int, a trace.Actor) bool {
	return m.ev.WritesEachRun(i, a, m.logOnly)
}

// anyWritesEachRun reports whether container i has such a probe.
func (m *model) anyWritesEachRun(i int) bool {
	spec := &m.p.Containers[i]
	return slices.ContainsFunc(probeKinds[:], func(a trace.Actor) bool { return spec.Probe(a).Declared && m.writesEachRun(i, a) })
}

func period(p *podspec.Probe) time.Duration  { return time.Duration(p.Period) * time.Second }
func timeout(p *podspec.Probe) time.Duration { return time.Duration(p.Timeout) * time.Second }

// untilEnd is the act that ends the Pod, if that comes before observation n; else n. What is due
// of a Pod that goes on has to come before it.
func (r *Reading) untilEnd(n int) int {
	for _, a := range r.ev.Ends {
		n = min(n, a.Index())
	}
	return n
}

// hooksSleep is how long the postStart hooks sleep in the kubelet, all together.
func (r *Reading) hooksSleep() (d time.Duration) {
	for j := range r.p.Containers {
		d += r.p.Containers[j].SleepStart
	}
	return d
}

// shownSince is the first update that shows an instance of container i: its workers know it
// from then on.
func (r *Reading) shownSince(i int, run int32) record.Place {
	if h := &r.h[i]; h.shownRun == run {
		return h.shownObs
	}
	return 0
}

// gateOpen is what shows that probe a of instance x of container i is not held back by the
// startup probe; for the startup probe itself, that it has not succeeded. It is unknown where
// nothing shows it. Where nothing can hold the probe back, it is the first line of the instance.
func (r *Reading) gateOpen(x *seen, i int, a trace.Actor) record.Place {
	h, startup := &r.h[i], &r.p.Containers[i].Startup
	switch {
	case a == trace.StartupProbe && x.started.Known():
		return 0
	case a == trace.StartupProbe, !startup.Declared:
		return x.first
	case !r.k.StartupProbeStops() && x.startupLast > x.started:
		return 0 // it was run once more, and what it found may close the gate again
	case h.startedShown == x.run && h.wasStarted == x.run+1:
		return h.startedShownObs
	}
	return 0
}

// probeIsDue reports whether probe a of container i, which is alive at observation n, is run at
// all: it does not wait for the end of its container after a failure, and the Pod has not come to
// its end by itself, with which all probes end (pkg/kubelet/prober/worker.go, doProbe).
func (r *Reading) probeIsDue(s *State, i int, a trace.Actor, n int) bool {
	x := r.seenOf(s, i)
	p, failed := r.p.Containers[i].Probe(a), x.failures[record.RowOf(a)]
	held := a != trace.ReadinessProbe && failed >= p.Failures
	return !held && r.lives(s, i, n) && !r.podIsOver(s, i)
}
