package model

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// model is everything that does not change while a trace is read.
type model struct {
	k   rules.Kubelet
	p   *podspec.Pod
	src record.Source
	ev  record.Evidence
	// logOnly: nothing but the log was recorded.
	logOnly bool
}

// Reading is how far a trace has been read: what the observations so far have shown.
type Reading struct {
	*model
	h []history
	// shownAt is the latest update, as an observation + 1, and phase the one
	// that it showed.
	shownAt record.Place
	phase   corev1.PodPhase
	// ready: the latest update showed the Pod as ready.
	ready bool
	// initialized: an update showed the Pod as initialized.
	initialized bool
	// now is the observation that is being taken, and n its index.
	now *record.Observation
	n   int
	// asNext: a line without a number is of the instance after the one that it
	// seems to be of.
	asNext bool
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
	return &model{k: k, p: p, src: src, ev: ev, logOnly: logOnly}
}

func NewReading(m *model) Reading { return Reading{model: m, h: newHistory(m.p)} }

// Look turns to observation n, which is o.
func (r *Reading) Look(n int, o *record.Observation) { r.now, r.n = o, n }

// AsNext has a line without a number taken for one of the instance after the one that it
// seems to be of.
func (r *Reading) AsNext(next bool) { r.asNext = next }

// Instead is a reading in which line l of container c stands in the place of the observation
// that is being taken, and that place.
func (r *Reading) Instead(c int, l trace.Line) (ask Reading, n int) {
	ask = *r
	if o := r.now; o != nil && o.IsLog {
		l.Time, l.Whole = o.Log.Time, o.Log.Whole
	} else if o != nil {
		l.Time = o.Entry.At
	}
	ask.now = &record.Observation{Entry: &trace.Entry{}, IsLog: true, Container: c, Log: l}
	return ask, r.n
}

// From has the observations read from another source from here on.
func (r *Reading) From(src record.Source) {
	m := *r.model
	m.src = src
	r.model = &m
}

// Step returns the states that may follow s once observation n has been made,
// with no more hidden steps taken than it forces. None means that s does not
// admit it, for the reason given.
func (r *Reading) Step(s State, n int) ([]State, *Denial) {
	o := r.ob(n)
	switch e := o.Entry; {
	case o.IsLog:
		return r.onLine(s, n)
	case e.Pod != nil:
		return r.onPod(s, n)
	case e.Event != nil:
		return r.onEvent(s, n)
	}
	return []State{s}, nil
}

// seenOf is what the lines have shown of the newest instance of container i in
// state s.
func (r *Reading) seenOf(s *State, i int) *seen { return r.h[i].at(s.c[i].run) }

// Record takes an accepted observation into the history.
func (r *Reading) Record(n int) {
	o := r.ob(n)
	switch e := o.Entry; {
	case o.IsLog:
		spec, run := &r.p.Containers[o.Container], r.runOf(o.Container, &o.Log)
		old := spec.Probe(o.Log.Actor).Network && run > 0 && (o.Log.Actor != trace.StartupProbe || r.startsOld(o.Container, run, n)) && !r.shownBy(o.Container, run, n)
		other := r.mayEverStartOver() || r.ev.Containers[o.Container].Changed != 0
		r.h[o.Container].record(spec, run, &o.Log, n, old, other)
	case e.Event != nil:
		r.recordEvent(n)
	case e.Pod != nil:
		r.shownAt, r.phase = record.PlaceOf(n), e.Pod.Status.Phase
		r.ready = slices.ContainsFunc(e.Pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		r.initialized = r.initialized || slices.ContainsFunc(e.Pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodInitialized && c.Status == corev1.ConditionTrue
		})
		for _, list := range [][]corev1.ContainerStatus{e.Pod.Status.InitContainerStatuses, e.Pod.Status.ContainerStatuses} {
			for i := range list {
				if c, ok := r.p.Index[list[i].Name]; ok {
					r.h[c].show(&list[i], n)
				}
			}
		}
	}
}

// MayBeNext reports whether a line may be of the instance after the one to which
// it was taken to belong.
func (r *Reading) MayBeNext(o *record.Observation) bool {
	return o.IsLog && o.Log.Run == trace.NoRun && r.h[o.Container].newest().run >= 0 && r.runOf(o.Container, &o.Log) < r.ev.Containers[o.Container].NewestRun
}

// Copy is a reading of its own from here on.
func (r *Reading) Copy() Reading {
	c := *r
	c.h = slices.Clone(r.h)
	for i := range c.h {
		c.h[i].runs = slices.Clone(c.h[i].runs)
	}
	return c
}

// Landmarks calls do with the observations (index + 1) that the history points at, and with
// the acts.
func (r *Reading) Landmarks(do func(obs record.Place)) {
	for i := range r.h {
		for _, x := range r.h[i].runs {
			for _, at := range []record.Place{
				x.first, x.last, x.mainBegin, x.mainEnd, x.term, x.hookFirst, x.hookBegin, x.hookEnd, x.preStop, x.preStopBegin, x.preStopEnd,
				x.started, x.ready, x.failing, x.probed, x.readinessLast, x.livenessLast, x.startupFirst, x.startupLast, x.passed,
			} {
				do(at)
			}
		}
		do(r.h[i].stageAt)
		do(r.h[i].shownObs)
	}
	do(r.shownAt)
	for _, at := range slices.Concat(r.ev.Ends, r.ev.Restarts, r.ev.SandboxStops) {
		do(at)
	}
	for _, d := range r.ev.DueTogether {
		do(d.Obs)
	}
}

// Signs calls do with the observations (index + 1), early or late, that show that an actor
// writes to the log at all, that a container lived, and that there were Events of that time.
func (r *Reading) Signs(do func(obs record.Place)) {
	for c := range r.ev.Containers {
		for _, at := range slices.Concat(r.ev.Containers[c].FirstLines[:], []record.Place{r.ev.Containers[c].LastAlive}) {
			do(at)
		}
	}
	do(r.ev.NewestEventObs)
}

// same reports whether two states are one for all that can still follow. What
// forced a fact matters to explanations alone.
func (s *State) same(t *State) bool {
	if s.key() != t.key() {
		return false
	}
	for i := range s.c {
		if s.c[i].key() != t.c[i].key() {
			return false
		}
	}
	return true
}
