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
	// runs are the instances of which lines were seen, in the order of their runs.
	runs []seen
	// shown is how far the updates have shown the container; its run is -1 before the first.
	shown record.Shown
	// stage is how far the Events of the first start have come, and stageAt the latest of
	// these Events.
	stage   stage
	stageAt record.Place
	// over is the newest run that an update showed as terminated, and past the newest that one showed to
	// have ended in any way, as while the next one waits; -1 if there is none.
	over, past int32
	// shownRun is the newest run that an update showed, -1 if there is none, and shownObs the
	// first update that did.
	shownRun int32
	shownObs record.Place
	// counted is the highest restart count that an update showed, and countedAt the first
	// update that did.
	counted   int32
	countedAt record.Place
	// dead are the IDs of the containers that updates showed to have ended, each once.
	dead []string
	// startedAt is when the runtime started run startedRun, in whole seconds, as update
	// startedObs showed it.
	startedAt  time.Time
	startedRun int32
	startedObs record.Place
	// wasReady and wasStarted are the run + 1 that the latest update showed as ready, or as
	// started; 0 where it showed none so.
	wasReady, wasStarted int32
	// startedShown is the newest run that an update showed as started, -1 if there is none, and
	// startedShownObs the first update that did.
	startedShown    int32
	startedShownObs record.Place
	// streak counts the successes of the readiness probe in a row. The probe worker keeps
	// it, and outlives an instance.
	streak int32
	// streakRun is the run of the latest line of that probe. If that line is of a failure,
	// broken is the streak before it: a probe that died with its instance does not count.
	streakRun, broken int32
	// longestStreak is the longest streak; shownReady is the run + 1 that an update
	// showed as ready.
	longestStreak, shownReady int32
	// rows count the failures in a row of each probe; see [record.RowOf].
	rows [3]row
}

// row is what a probe worker has counted: n failures in a row, the latest of the given run.
type row struct{ run, n int32 }

// seen is what the lines so far have shown of one instance.
type seen struct {
	run         int32
	first, last record.Place
	// The first begin, the end and the first stop signal of the main process. A process that
	// logged its begin logs its end as well, before it exits.
	mainBegin, mainEnd, term record.Place
	// The first line, the begin and the end of each hook.
	hookFirst, hookBegin, hookEnd     record.Place
	preStop, preStopBegin, preStopEnd record.Place
	preStopLast                       record.Place // the latest begin: a new kubelet runs another
	// started and ready are the first successful startup and readiness probe, failing is the
	// first failed liveness or startup probe, and probed the first probe of any kind.
	started, ready, failing, probed record.Place
	readinessLast, startupLast      record.Place
	livenessLast, startupFirst      record.Place
	// readyLast is the latest successful readiness probe.
	readyLast record.Place
	// succeeded is the latest success of each probe.
	succeeded [3]record.Place
	// passed is the first readiness or liveness probe after a successful startup probe: the
	// kubelet has noted that success. The line of a success alone may be of a probe that took
	// longer than its time-out.
	passed record.Place
	// sure has, of each probe, what its latest lines leave no doubt about.
	sure [3]outcomes
	// The exit codes of the postStart hook and of the main process.
	hookCode, mainCode int32
	// failures are the most failures in a row that the worker of each probe may have counted
	// when this instance failed one.
	failures [3]int32
	// answered are the latest successes of the liveness and of the startup probe, each with the
	// line of that probe before it.
	answered [2]struct{ at, before record.Place }
}

// answer is the place of a probe in answered.
func answer(a trace.Actor) int {
	if a == trace.StartupProbe {
		return 1
	}
	return 0
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

// stage is how far a start has come, by the Events that it records, in their order.
type stage uint8

const (
	unheard stage = iota
	pulling
	pulled
	created
	started
)

// newHistory is the history of each container before the first observation.
func newHistory(p *podspec.Pod) []history {
	h := make([]history, len(p.Containers))
	for i := range h {
		h[i] = history{shown: record.Shown{Run: -1, State: record.Ended}, over: -1, past: -1, shownRun: -1, startedRun: -1, startedShown: -1}
	}
	return h
}

// unseen is an instance of which nothing was seen.
var unseen seen

// newest returns the newest instance that was seen; run is -1 if none was.
func (h *history) newest() *seen {
	if len(h.runs) == 0 {
		return &seen{run: -1}
	}
	return &h.runs[len(h.runs)-1]
}

// lineOf is what is known of a line of a probe, beside what it says.
type lineOf struct {
	// old: it may be of a probe that was meant for the instance before.
	old bool
	// otherStops: an instance may have been stopped for another reason than a probe, and the
	// Pod goes on.
	otherStops bool
	// each: the probe writes in each of its runs.
	each bool
}

// record takes an accepted line of run into the history.
func (h *history) record(spec *podspec.Container, run int32, l *trace.Line, n int, of lineOf) {
	at := record.PlaceOf(n)
	x := h.instance(run, at)
	x.last = at
	switch l.Actor {
	case trace.Main:
		x.recordMain(spec, l, at)
	case trace.PostStart:
		x.recordPostStart(l, at)
	case trace.PreStop:
		x.recordPreStop(l, at)
	default:
		h.recordProbe(spec, x, l, at, of)
	}
}

// instance is what was seen of a run; it is added if this is its first line.
func (h *history) instance(run int32, at record.Place) *seen {
	i := len(h.runs) - 1
	for i >= 0 && h.runs[i].run > run {
		i--
	}
	if i < 0 || h.runs[i].run != run {
		i++
		h.runs = slices.Insert(h.runs, i, seen{run: run, first: at})
	}
	return &h.runs[i]
}

// setFirst sets a place that is not set yet.
func setFirst(p *record.Place, at record.Place) {
	if !p.Known() {
		*p = at
	}
}

func (x *seen) recordMain(spec *podspec.Container, l *trace.Line, at record.Place) {
	switch kind := l.Mark.Kind; {
	case kind == trace.Begin:
		setFirst(&x.mainBegin, at)
	case kind == trace.End:
		x.mainEnd, x.mainCode = at, int32(max(l.Mark.N, 0))
	case kind == trace.Signal && l.Mark.Signal == spec.Stop && !sentInside(spec, x, l):
		setFirst(&x.term, at)
	}
}

func (x *seen) recordPostStart(l *trace.Line, at record.Place) {
	setFirst(&x.hookFirst, at)
	switch l.Mark.Kind {
	case trace.Begin:
		setFirst(&x.hookBegin, at)
	case trace.End:
		x.hookEnd, x.hookCode = at, int32(max(l.Mark.N, 0))
	}
}

func (x *seen) recordPreStop(l *trace.Line, at record.Place) {
	setFirst(&x.preStop, at)
	switch l.Mark.Kind {
	case trace.Begin:
		setFirst(&x.preStopBegin, at)
		x.preStopLast = at
	case trace.End:
		setFirst(&x.preStopEnd, at)
	}
}

func (h *history) recordProbe(spec *podspec.Container, x *seen, l *trace.Line, at record.Place, of lineOf) {
	// A line without an exit code may be of a probe that failed as well as of one that
	// succeeded.
	succeeded, failed := l.Mark.N <= 0, l.Mark.Kind != trace.End || l.Mark.N != 0
	setFirst(&x.probed, at)
	if x.started.Known() && l.Actor != trace.StartupProbe && !of.old {
		setFirst(&x.passed, at)
	}
	if failed && l.Actor != trace.ReadinessProbe {
		setFirst(&x.failing, at)
	}
	if succeeded {
		x.succeeded[record.RowOf(l.Actor)] = at
	}
	h.countFailures(spec, x, l.Actor, failed, succeeded, of.otherStops)
	x.sure[record.RowOf(l.Actor)].count(spec.Probe(l.Actor), l, at, of)
	if l.Actor != trace.ReadinessProbe && !failed && !of.old {
		y := &x.answered[answer(l.Actor)]
		y.at, y.before = at, x.probe(l.Actor)
	}
	switch l.Actor {
	case trace.StartupProbe:
		x.startupLast = at
		setFirst(&x.startupFirst, at)
		if succeeded {
			setFirst(&x.started, at)
		}
	case trace.ReadinessProbe:
		x.readinessLast = at
		if succeeded {
			x.readyLast = at
			setFirst(&x.ready, at)
		}
		h.countSuccesses(x.run, succeeded)
	case trace.LivenessProbe:
		x.livenessLast = at
	}
}

// countSuccesses counts the successes of the readiness probe in a row.
func (h *history) countSuccesses(run int32, succeeded bool) {
	if h.streakRun != run {
		h.streak, h.streakRun = max(h.streak, h.broken), run
	}
	if succeeded {
		h.streak, h.broken = h.streak+1, 0
	} else {
		h.streak, h.broken = 0, h.streak
	}
	h.longestStreak = max(h.longestStreak, h.streak)
}

// countFailures counts the failures of a probe in a row. The worker of the probe outlives an
// instance: while that dies, one more probe may fail without a line. A worker counts anew only
// when it has had its instance stopped.
func (h *history) countFailures(spec *podspec.Container, x *seen, a trace.Actor, failed, succeeded, otherStops bool) {
	w := &h.rows[record.RowOf(a)]
	if w.run != x.run {
		old, died := h.at(w.run), max(x.run-w.run, 1) // for each of these, one more may have failed
		stopped := old.term.Known() || old.preStop.Known()
		if stopped && !otherStops && !old.otherProbeFailed(spec, a) && a != trace.ReadinessProbe && w.n >= spec.Probe(a).Failures {
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

// otherProbeFailed reports whether the other of the two probes that have a container stopped may
// have had this instance stopped.
func (x *seen) otherProbeFailed(spec *podspec.Container, a trace.Actor) bool {
	other := trace.LivenessProbe
	if a == other {
		other = trace.StartupProbe
	}
	p := spec.Probe(other)
	return p.Declared && (p.Network || x.failures[record.RowOf(other)]+1 >= p.Failures)
}

// show takes the status of an update into the history.
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
		if run > h.startedShown {
			h.startedShown, h.startedShownObs = run, record.PlaceOf(n)
		}
	}
	if cs.State.Waiting != nil && record.IsEnd(cs.LastTerminationState.Terminated) {
		h.past = max(h.past, run)
	}
	switch {
	case record.IsEnd(cs.State.Terminated):
		h.over, h.past = max(h.over, run), max(h.past, run)
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
