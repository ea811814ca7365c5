package judge

import (
	"cmp"
	"math"
	"slices"

	"github.com/podorder/podorder/reference/internal/model"
	"github.com/podorder/podorder/reference/internal/record"
)

// maxStates bounds the set of states: hardly any trace that a kubelet made has more ways
// to be read. Those of a set beyond wide are counted together, from one
// observation and one reading to the next, and there are no more than maxWork. Past either
// bound nothing is decided.
const (
	maxStates = 4096
	wide      = 64
	maxWork   = 1 << 19
)

// budget is what a reading may spend: the states of one set, and what is left of maxWork.
type budget struct{ states, work int }

// judging is the budget of a judgement, and unbounded that of what is small by itself.
func judging() budget   { return budget{maxStates, maxWork} }
func unbounded() budget { return budget{math.MaxInt, math.MaxInt} }

// reader reads a trace once: beside what the observations have shown so far it keeps the
// set of states in which the Pod may be.
type reader struct {
	model.Reading
	// judge is whose reading it is, and src where the observations are.
	judge  Judge
	src    record.Source
	states []model.State
	// spare is a buffer, so that a line which changes nothing costs no memory.
	spare []model.State
	// left is what may still be spent, and tooMany whether that did not do.
	left    budget
	tooMany bool
}

func (j Judge) reader(src record.Source, ev record.Evidence, b budget) *reader {
	if j.LogOnly {
		ev = ev.Assume(j.Pod, j.Assume)
	}
	m := model.New(j.Kubelet, j.Pod, src, ev, j.LogOnly)
	m.Ignore(j.Ignores)
	m.Deviate(j.Deviations)
	return &reader{Reading: model.NewReading(m), judge: j, src: src, states: []model.State{model.NewState(j.Pod)}, left: b}
}

// read reads the observations up to the one that is refused, or that there are too
// many ways to read, which has no denial.
func (j Judge) read(obs []record.Observation, b budget) (r *reader, n int, d *model.Denial) {
	ev := record.Gather(j.Pod, obs, j.LogOnly)
	ev.NodeStoodStill, ev.LogComplete = j.untimed, j.Complete
	r = j.reader(record.Recorded(obs), ev, b)
	for n := range obs {
		if d := r.advance(n, &obs[n]); d != nil {
			return r, n, d
		}
		if r.tooMany {
			return r, n, nil
		}
	}
	return r, len(obs), nil
}

// advance maps the set of states over observation n, and takes it into the
// history. The denial, which leaves everything as it was, is that of the first
// state, the one that assumes the fewest faults. Where the states are too many it
// says so and does neither.
func (r *reader) advance(n int, o *record.Observation) *model.Denial { return r.take(n, o, false) }

// take is advance; again: a line without a number is tried as one of the next instance.
func (r *reader) take(n int, o *record.Observation, again bool) *model.Denial {
	r.Look(n, o)
	next := model.Set{States: r.spare[:0]}
	var first *model.Denial
	for i := range r.states {
		after, d := r.step(r.states[i], n)
		if first == nil {
			first = d
		}
		if after == nil && d == nil {
			next.Add(&r.states[i])
		}
		for _, t := range after {
			next.Add(&t)
		}
		if len(next.States) > r.left.states {
			r.tooMany = true
			return nil
		}
	}
	if len(next.States) == 0 {
		if again || !r.MayBeNext(o) {
			return first
		}
		// The line has no number, and the instance seen so far cannot have
		// written it: it is of the next one.
		r.AsNext(true)
		defer r.AsNext(false)
		if r.take(n, o, true) != nil {
			return first
		}
		return nil
	}
	if over := len(next.States) - wide; over > 0 {
		if r.left.work -= over; r.left.work < 0 {
			r.tooMany = true
			return nil
		}
	}
	r.states, r.spare = next.States, r.states
	r.Record(n)
	return nil
}

// step takes a state over observation n.
func (r *reader) step(s model.State, n int) ([]model.State, *model.Denial) {
	if r.judge.Deviations == 0 {
		return r.Step(s, n)
	}
	return r.StepDeviating(s, n)
}

// used are the observations that needed a deviation for the first of the states with the fewest
// of them.
func (r *reader) used() []Used {
	if r.judge.Deviations == 0 || len(r.states) == 0 {
		return nil
	}
	least := slices.MinFunc(r.states, func(a, b model.State) int { return cmp.Compare(a.Deviated(), b.Deviated()) })
	var used []Used
	for _, u := range least.Uses() {
		used = append(used, Used{u.Deviation, r.src.At(u.Obs.Index()).Entry.Line})
	}
	return used
}

// copy is a reader of its own from here on.
func (r *reader) copy() *reader {
	c := *r
	c.states, c.spare = slices.Clone(r.states), nil
	c.Reading = r.Reading.Copy()
	return &c
}
