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
	shownAt int32
	phase   corev1.PodPhase
	// ready: the latest update showed the Pod as ready.
	ready bool
	// initialized: an update showed the Pod as initialized.
	initialized bool
	// now is the observation that is being taken, and n its index.
	now *record.Observation
	n   int
	// next: a line without a number is of the instance after the one that it
	// seems to be of.
	next bool
	// one is a buffer, so that a line which changes nothing costs no memory.
	one [1]State
}

// ob returns observation n.
func (r *Reading) ob(n int) *record.Observation {
	if n == r.n && r.now != nil {
		return r.now
	}
	return r.src.At(n)
}

// same returns the state alone, in a buffer that the next call uses again.
func (r *Reading) same(s State) []State {
	r.one[0] = s
	return r.one[:]
}

// New is the model of one Pod on one kubelet, with the evidence of the whole trace.
func New(k rules.Kubelet, p *podspec.Pod, src record.Source, ev record.Evidence, logOnly bool) *model {
	return &model{k: k, p: p, src: src, ev: ev, logOnly: logOnly}
}

func NewReading(m *model) Reading { return Reading{model: m, h: newHistory(m.p)} }

// Look turns to observation n, which is o.
func (r *Reading) Look(n int, o *record.Observation) { r.now, r.n = o, n }

// AsNext has a line without a number taken for one of the instance after the one that it
// seems to be of.
func (r *Reading) AsNext(next bool) { r.next = next }

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

// at names observation n as the cause of a fact under a rule.
func at(n int, rule string) Cause { return Cause{int32(n) + 1, rule} }

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
	return r.same(s), nil
}

// mayExit reports whether the kubelet may go by such an exit code of instance x of
// container i: the one that it was shown to have ended with, else the one that it
// logged. A process that is being stopped may be killed between its last line and
// its exit.
func (r *Reading) mayExit(i int, x *seen, such func(code int32) bool) bool {
	all := r.ev.Containers[i].Exits[x.run]
	last := x.mainEnd
	if last == 0 {
		last = x.last
	}
	if !r.ev.NewSandbox || last == 0 {
		if len(all) > 0 {
			return such(all[len(all)-1].ExitCode)
		}
		return such(x.mainCode)
	}
	// In a new sandbox another instance may have that number, and several may have been
	// shown with in one second.
	at, shown := r.written(int(last)-1), false
	for _, all := range r.ev.Containers[i].Exits {
		for _, end := range all {
			if at.Before(end.StartedAt.Time) || at.After(end.FinishedAt.Add(time.Second+record.StampSlack)) {
				continue
			}
			if shown = true; such(end.ExitCode) {
				return true
			}
		}
	}
	return !shown && such(x.mainCode)
}

// seenOf is what the lines have shown of the newest instance of container i in
// state s.
func (r *Reading) seenOf(s *State, i int) *seen { return r.h[i].at(s.c[i].run) }

func firstOf(a, b *Denial) *Denial {
	if a != nil {
		return a
	}
	return b
}

// stopping is for how long a kubelet that is told to stop may go on. This is
// patience.
const stopping = 5 * time.Second

// cutOff reports whether the kubelet was restarted between two observations:
// the hook that it ran has died then, without an end.
func (r *Reading) cutOff(from int32, n int) bool {
	return slices.ContainsFunc(r.ev.Restarts, func(x int32) bool {
		if x > from || int(x) > n+1 {
			return int(x) <= n+1
		}
		return r.ob(int(from) - 1).At().Before(r.ob(int(x) - 1).Entry.At.Add(stopping))
	})
}

// kubeletRestarted reports whether the kubelet was restarted by observation n.
func (r *Reading) kubeletRestarted(n int) bool { return r.cutOff(0, n) }

// killedAtLast reports whether instance x of container i may have been killed between
// its last line and its exit, because its postStart hook had died without a line: no
// status shows its exit code.
func (r *Reading) killedAtLast(i int, x *seen) bool {
	return r.p.Containers[i].PostStart && x.hookEnd == 0 && (r.logOnly || r.ev.Containers[i].HookFailed) && len(r.ev.Containers[i].Exits[x.run]) == 0
}
