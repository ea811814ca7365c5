// The history: what the observations so far have shown of each container, which is the same in
// every state. It enforces no rule; all chapters ask it.

package model

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/trace"
)

// history is what the observations so far have shown of one container.
type history struct {
	// runs are the instances of which lines were seen, in their order.
	runs []seen
	// shown is how far an update showed the container so far; its run is -1 before the first.
	shown record.Shown
	// stage is how far the Events of the first start have come, and stageAt
	// the latest of them.
	stage   stage
	stageAt record.Place
	// over is the newest run that an update showed as terminated; -1 if none.
	over int32
	// shownRun is the newest run that an update showed, -1 if none, and shownObs
	// the first update that did (index + 1).
	shownRun int32
	shownObs record.Place
	// counted is the highest count of restarts that an update showed, and countedAt the first
	// that did (index + 1).
	counted   int32
	countedAt record.Place
	// dead are the container IDs that updates showed to have ended, each once.
	dead []string
	// startedAt is when the runtime started the instance startedRun, as an
	// update showed it; whole seconds.
	startedAt  time.Time
	startedRun int32
	startedObs record.Place
	// wasReady and wasStarted are the run + 1 that the latest update showed as
	// ready, or as started; 0 where it did not.
	wasReady, wasStarted int32
	// streak counts the successes of the readiness probe in a row. It belongs
	// to the probe worker, which outlives an instance.
	streak int32
	// streakRun is the run of its latest line, and broken the streak before that
	// where it was a failure: one that died with its instance does not count.
	streakRun, broken int32
	// longestStreak is the longest streak; shownReady is the run + 1 that an update
	// showed as ready.
	longestStreak, shownReady int32
	// rows count the failures in a row of each probe; see rowOf.
	rows [3]row
}

// row is what a probe worker has counted: so many failures in a row, the latest
// of the given run.
type row struct{ run, n int32 }

// seen is what the lines so far have shown of one instance. Each is the index
// of an observation + 1, or 0.
type seen struct {
	run         int32
	first, last record.Place
	// A process that logged its begin writes its end as well, before it exits.
	mainBegin, mainEnd, term          record.Place
	hookFirst, hookBegin, hookEnd     record.Place
	preStop, preStopBegin, preStopEnd record.Place
	// started and ready are the first successful startup and readiness probe;
	// failing is the first failed liveness or startup probe. probed is the
	// first probe of any kind.
	started, ready, failing, probed record.Place
	readinessLast, startupLast      record.Place
	livenessLast, startupFirst      record.Place
	// readyLast is the latest successful readiness probe.
	readyLast record.Place
	// passed is the first readiness or liveness probe behind a successful
	// startup probe: the kubelet has taken that success in. The line of a
	// success alone may be of a probe that took longer than its time-out.
	passed             record.Place
	hookCode, mainCode int32
	// failures are the longest rows of failures that the worker of each probe
	// may have counted by a failure of this instance.
	failures [3]int32
}

// probe is the latest line of a probe.
func (x *seen) probe(a trace.Actor) record.Place {
	switch a {
	case trace.StartupProbe:
		return x.startupLast
	case trace.LivenessProbe:
		return x.livenessLast
	}
	return x.readinessLast
}

// stage counts the Events that one start records, in their order.
type stage uint8

const (
	unheard stage = iota
	pulling
	pulled
	created
	started
)

func newHistory(p *podspec.Pod) []history {
	h := make([]history, len(p.Containers))
	for i := range h {
		h[i] = history{shown: record.Shown{Run: -1, State: record.Ended}, over: -1, shownRun: -1, startedRun: -1}
	}
	return h
}

var unseen seen

// newest returns the newest instance that was seen; run is -1 if none was.
func (h *history) newest() *seen {
	if len(h.runs) == 0 {
		return &seen{run: -1}
	}
	return &h.runs[len(h.runs)-1]
}

// record takes an accepted line into the history. old: it may be of a probe that
// was meant for the instance before; other: an instance may have been stopped for another reason
// than a probe, and the Pod goes on.
func (h *history) record(spec *podspec.Container, run int32, l *trace.Line, n int, old, other bool) {
	at := record.PlaceOf(n)
	i := len(h.runs) - 1
	for i >= 0 && h.runs[i].run > run {
		i--
	}
	if i < 0 || h.runs[i].run != run {
		i++
		h.runs = slices.Insert(h.runs, i, seen{run: run, first: at})
	}
	x := &h.runs[i]
	x.last = at
	mark := func(p *record.Place) {
		if *p == 0 {
			*p = at
		}
	}
	switch kind := l.Mark.Kind; l.Actor {
	case trace.Main:
		switch {
		case kind == trace.Begin:
			mark(&x.mainBegin)
		case kind == trace.End:
			x.mainEnd, x.mainCode = at, int32(max(l.Mark.N, 0))
		case kind == trace.Signal && l.Mark.Signal == spec.Stop && !sentInside(spec, x):
			mark(&x.term)
		}
	case trace.PostStart:
		mark(&x.hookFirst)
		switch kind {
		case trace.Begin:
			mark(&x.hookBegin)
		case trace.End:
			x.hookEnd, x.hookCode = at, int32(max(l.Mark.N, 0))
		}
	case trace.PreStop:
		mark(&x.preStop)
		switch kind {
		case trace.Begin:
			mark(&x.preStopBegin)
		case trace.End:
			mark(&x.preStopEnd)
		}
	default:
		// A line without an exit code may come from a probe that failed as
		// well as from one that succeeded.
		ok, bad := l.Mark.N <= 0, l.Mark.Kind != trace.End || l.Mark.N != 0
		mark(&x.probed)
		if x.started != 0 && l.Actor != trace.StartupProbe && !old {
			mark(&x.passed)
		}
		if bad && l.Actor != trace.ReadinessProbe {
			mark(&x.failing)
		}
		h.count(spec, x, l.Actor, bad, ok, other)
		switch l.Actor {
		case trace.StartupProbe:
			x.startupLast = at
			mark(&x.startupFirst)
			if ok {
				mark(&x.started)
			}
		case trace.ReadinessProbe:
			x.readinessLast = at
			if h.streakRun != run {
				h.streak, h.streakRun = max(h.streak, h.broken), run
			}
			if !ok {
				h.streak, h.broken = 0, h.streak
			} else {
				h.streak, h.broken = h.streak+1, 0
				x.readyLast = at
				mark(&x.ready)
			}
			h.longestStreak = max(h.longestStreak, h.streak)
		case trace.LivenessProbe:
			x.livenessLast = at
		}
	}
}

// count takes a run of a probe into the row of its worker, which outlives an
// instance: while that dies, one more may fail without a line. A worker that has
// had its instance stopped begins anew, and only such a one.
func (h *history) count(spec *podspec.Container, x *seen, a trace.Actor, failed, succeeded, other bool) {
	w := &h.rows[record.RowOf(a)]
	if w.run != x.run {
		old, died := h.at(w.run), max(x.run-w.run, 1) // of each one more may have failed
		if stopped := old.term != 0 || old.preStop != 0; stopped && !other && !old.otherFailed(spec, a) && a != trace.ReadinessProbe && w.n >= spec.Probe(a).Failures {
			w.n, died = 0, died-1
		}
		w.n += died
		w.run = x.run
	}
	if failed {
		w.n++
		most := &x.failures[record.RowOf(a)]
		*most = max(*most, w.n)
	} else if succeeded {
		w.n = 0
	}
}

// otherFailed reports whether the other of the two probes that have a container stopped may have had
// this instance stopped.
func (x *seen) otherFailed(spec *podspec.Container, a trace.Actor) bool {
	other := trace.LivenessProbe
	if a == other {
		other = trace.StartupProbe
	}
	p := spec.Probe(other)
	return p.Declared && (p.Network || x.failures[record.RowOf(other)]+1 >= p.Failures)
}

// show takes a shown status into the history.
func (h *history) show(cs *corev1.ContainerStatus, n int) {
	run := cs.RestartCount
	if run > h.shownRun && record.ShownOf(cs).State != record.Waiting {
		h.shownRun, h.shownObs = run, record.PlaceOf(n)
	}
	if run > h.counted {
		h.counted, h.countedAt = run, record.PlaceOf(n)
	}
	if record.IsEnd(cs.State.Terminated) && cs.ContainerID != "" && !slices.Contains(h.dead, cs.ContainerID) {
		h.dead = append(h.dead[:len(h.dead):len(h.dead)], cs.ContainerID) // copies of the history share it
	}
	if now := record.ShownOf(cs); h.shown.Before(now) {
		h.shown = now
	}
	h.wasReady, h.wasStarted = 0, 0
	if cs.Ready {
		h.shownReady, h.wasReady = run+1, run+1
	}
	if cs.Started != nil && *cs.Started {
		h.wasStarted = run + 1
	}
	switch {
	case record.IsEnd(cs.State.Terminated):
		h.over = max(h.over, run)
	case cs.State.Running != nil && !cs.State.Running.StartedAt.IsZero():
		h.startedAt, h.startedRun, h.startedObs = cs.State.Running.StartedAt.Time, run, record.PlaceOf(n)
	}
}

// at returns what was seen of an instance; never nil.
func (h *history) at(run int32) *seen {
	for i := len(h.runs) - 1; i >= 0; i-- {
		if h.runs[i].run == run {
			return &h.runs[i]
		}
	}
	return &unseen
}
