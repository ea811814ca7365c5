// How a trace is read: one observation after another is mapped over a state (Step), and then
// taken into the history (Record).

package model

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// model is everything that does not change while a trace is read.
type model struct {
	// k is the kubelet that is judged, and p its Pod.
	k rules.Kubelet
	p *podspec.Pod
	// src has the observations, and ev what all of them show to have happened at some time.
	src record.Source
	ev  record.Evidence
	// logOnly: nothing but the log was recorded.
	logOnly bool
	// deviations are those that the reading allows; see [model.Deviate].
	deviations rules.DeviationSet
	// always are those of the kubelet that show wherever their precondition holds.
	always rules.DeviationSet
	// startsOver: all containers may have been started over; see [model.mayEverStartOver].
	startsOver bool
	// dutiesOf are the duties that each container can have.
	dutiesOf [][]*duty
	// ignores are suspensions that do not count; nil where all do.
	ignores func(rules.Clause, rules.Suspension) bool
}

// Reading is how far a trace has been read: what the observations so far have shown.
type Reading struct {
	*model
	// h is the history of each container.
	h []history
	// shownAt is the latest update, and phase the phase of the Pod in it.
	shownAt record.Place
	phase   corev1.PodPhase
	// ready: the latest update showed the Pod as ready.
	ready bool
	// initialized: an update showed the Pod as initialized.
	initialized bool
	// now is the observation that is being judged, and n its index.
	now *record.Observation
	n   int
	// asNext: a line without a number is of the instance after the one that it seems to be of.
	asNext bool
	// lookAgain is when all duties are to be looked at again.
	lookAgain time.Time
	// asking is the state of which it is asked what is late.
	asking State
	// allowed are the deviations that this step may need, and asked those that would have made
	// a difference to it.
	allowed, asked rules.DeviationSet
	// missing are the uses of this step for what is due and does not come.
	missing []Use
	// unshown are the deviations of which the precondition held, and that did not show where
	// they always do.
	unshown rules.DeviationSet
}

// ob returns observation n.
func (r *Reading) ob(n int) *record.Observation {
	if n == r.n && r.now != nil {
		return r.now
	}
	return r.src.At(n)
}

// obAt returns the observation in a place.
func (r *Reading) obAt(p record.Place) *record.Observation { return r.ob(p.Index()) }

// New is the model of one Pod on one kubelet, with the evidence of the whole trace.
func New(k rules.Kubelet, p *podspec.Pod, src record.Source, ev record.Evidence, logOnly bool) *model {
	m := &model{k: k, p: p, src: src, ev: ev.WithResizes(k, p, logOnly), logOnly: logOnly, always: k.Deviations().Always()}
	m.startsOver = m.ev.NewSandbox || p.Gates[rules.GateRestartAll] != ""
	m.dutiesOf = m.duties()
	return m
}

// Ignore has suspensions not count, as if the table did not have them.
func (m *model) Ignore(these func(rules.Clause, rules.Suspension) bool) { m.ignores = these }

// NewReading is a reading of which no observation was judged yet.
func NewReading(m *model) Reading { return Reading{model: m, h: newHistory(m.p)} }

// Look makes o, which is observation n, the one that is being judged.
func (r *Reading) Look(n int, o *record.Observation) { r.now, r.n = o, n }

// AsNext says whether a line without a number is taken for one of the instance after the one
// that it seems to be of.
func (r *Reading) AsNext(next bool) { r.asNext = next }

// Instead is a reading in which line l of container c is judged in place of the observation
// that is being judged, and the index of that.
func (r *Reading) Instead(c int, l trace.Line) (ask Reading, n int) {
	ask = *r
	entry := &trace.Entry{}
	if o := r.now; o != nil && o.IsLog {
		l.Time, l.Whole = o.Log.Time, o.Log.Whole
	} else if o != nil {
		l.Time, entry = o.Entry.At, o.Entry // an act stays what it is
	}
	ask.now = &record.Observation{Entry: entry, IsLog: true, Container: c, Log: l}
	return ask, r.n
}

// From makes another source the one that the observations come from.
func (r *Reading) From(src record.Source) {
	m := *r.model
	m.src = src
	r.model = &m
}

// Step returns the states that may follow s when observation n is made. They hold no more
// hidden steps than the observation forces. With a denial there are none: s does not admit
// the observation. Without one, none means that nothing is forced, and s stays as it is.
func (r *Reading) Step(s State, n int) ([]State, *Denial) {
	r.asking = s // so that the state that is asked costs no memory at each observation
	if d := r.lookForLate(&r.asking, n); d != nil {
		return nil, d
	}
	o := r.ob(n)
	switch e := o.Entry; {
	case o.IsLog:
		return r.onLine(s, n)
	case e.Pod != nil:
		return r.onPod(s, n)
	case e.Event != nil:
		return r.onEvent(s, n)
	}
	return nil, nil
}

// seenOf is what the lines have shown of the newest instance of container i in state s.
func (r *Reading) seenOf(s *State, i int) *seen { return r.h[i].at(s.c[i].run) }

// Record takes an admitted observation into the history.
func (r *Reading) Record(n int) {
	r.haveLooked(n)
	o := r.ob(n)
	switch e := o.Entry; {
	case o.IsLog:
		r.recordLine(n)
	case e.Event != nil:
		r.recordEvent(n)
	case e.Pod != nil:
		r.recordUpdate(e.Pod, n)
	}
}

// recordLine takes a line of the log into the history.
func (r *Reading) recordLine(n int) {
	o := r.ob(n)
	i, l := o.Container, &o.Log
	spec, run := &r.p.Containers[i], r.runOf(i, l)
	// A probe over the network may have been meant for the instance before.
	old := spec.Probe(l.Actor).Network && run > 0 && (l.Actor != trace.StartupProbe || r.startupAsksOld(i, run, n)) && !r.shownBy(i, run, n)
	// An instance may have been stopped for another reason than a probe, and the Pod goes on.
	other := r.mayEverStartOver() || r.ev.Containers[i].Changed != 0
	each := l.Actor.IsProbe() && r.writesEachRun(i, l.Actor)
	r.h[i].record(spec, run, l, n, lineOf{old, other, each})
	if l.Actor == trace.ReadinessProbe {
		r.probedDuringStop(i, n)
	}
}

// recordUpdate takes an update of the Pod into the history.
func (r *Reading) recordUpdate(pod *corev1.Pod, n int) {
	isTrue := func(condition corev1.PodConditionType) bool {
		return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == condition && c.Status == corev1.ConditionTrue
		})
	}
	r.shownAt, r.phase = record.PlaceOf(n), pod.Status.Phase
	r.ready = isTrue(corev1.PodReady)
	r.initialized = r.initialized || isTrue(corev1.PodInitialized)
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for k := range list {
			if i, ok := r.p.Index[list[k].Name]; ok {
				r.h[i].show(&list[k], n)
			}
		}
	}
}

// MayBeNext reports whether a line without a number may be of the instance after the one that
// it seems to be of.
func (r *Reading) MayBeNext(o *record.Observation) bool {
	return o.IsLog && o.Log.Run == trace.NoRun && r.h[o.Container].newest().run >= 0 && r.runOf(o.Container, &o.Log) < r.ev.Containers[o.Container].NewestRun
}

// Wrote reports whether any line of an actor of container c is in the trace.
func (r *Reading) Wrote(c int, a trace.Actor) bool { return r.ev.Wrote(c, a) }

// Copy is a reading that goes on by itself from here.
func (r *Reading) Copy() Reading {
	c := *r
	c.h = slices.Clone(r.h)
	for i := range c.h {
		c.h[i].runs = slices.Clone(c.h[i].runs)
	}
	return c
}

// Landmarks calls do with every observation that the history points at, and with the acts: an
// explanation is found among them.
func (r *Reading) Landmarks(do func(record.Place)) {
	for i := range r.h {
		for _, x := range r.h[i].runs {
			for _, at := range []record.Place{
				x.first, x.last, x.mainBegin, x.mainEnd, x.term, x.hookFirst, x.hookBegin, x.hookEnd, x.preStop, x.preStopBegin, x.preStopEnd,
				x.started, x.ready, x.failing, x.probed, x.readinessLast, x.livenessLast, x.startupFirst, x.startupLast, x.passed,
			} {
				do(at)
			}
			for _, row := range x.sure {
				do(row.since)
				do(row.enough)
			}
		}
		do(r.h[i].stageAt)
		do(r.h[i].shownObs)
		do(r.h[i].startedShownObs)
	}
	do(r.shownAt)
	do(r.ev.BeganObs)
	for _, at := range slices.Concat(r.ev.Ends, r.ev.Restarts, r.ev.SandboxStops) {
		do(at)
	}
	for _, d := range r.ev.DueTogether {
		do(d.Obs)
	}
}

// Signs calls do with observations from anywhere in the trace which show that an actor writes
// to the log at all, that a container lived, or that Events of that time arrived.
func (r *Reading) Signs(do func(record.Place)) {
	for c := range r.ev.Containers {
		for _, at := range slices.Concat(r.ev.Containers[c].FirstLines[:], r.ev.Containers[c].FirstSuccess[:], []record.Place{r.ev.Containers[c].LastAlive}) {
			do(at)
		}
	}
	do(r.ev.NewestEventObs)
}
