package reference

import (
	"math"
	"slices"
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
	reading
	states []state
	// spare is a buffer, so that a line which changes nothing costs no memory.
	spare []state
	// left is what may still be spent, and tooMany whether that did not do.
	left    budget
	tooMany bool
}

func newReader(m *model, b budget) *reader {
	return &reader{reading: newReading(m), states: []state{newState(m.p)}, left: b}
}

// read reads the observations up to the one that is refused, or that there are too
// many ways to read, which has no denial.
func (j Judge) read(obs []observation, b budget) (r *reader, n int, d *denial) {
	ev := gather(j.Pod, obs, j.LogOnly)
	ev.untimed = j.untimed
	r = newReader(&model{k: j.Kubelet, p: j.Pod, src: recorded(obs), ev: ev, logOnly: j.LogOnly}, b)
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
func (r *reader) advance(n int, o *observation) *denial {
	r.now, r.n = o, n
	next := set{states: r.spare[:0]}
	var first *denial
	for i := range r.states {
		after, d := r.step(r.states[i], n)
		if first == nil {
			first = d
		}
		for _, t := range after {
			next.add(&t)
		}
		if len(next.states) > r.left.states {
			r.tooMany = true
			return nil
		}
	}
	if len(next.states) == 0 {
		if r.next || !r.mayBeNext(o) {
			return first
		}
		// The line has no number, and the instance seen so far cannot have
		// written it: it is of the next one.
		r.next = true
		if r.advance(n, o) != nil {
			r.next = false
			return first
		}
		r.next = false
		return nil
	}
	if over := len(next.states) - wide; over > 0 {
		if r.left.work -= over; r.left.work < 0 {
			r.tooMany = true
			return nil
		}
	}
	r.states, r.spare = next.states, r.states
	r.record(n)
	return nil
}

// copy is a reader of its own from here on.
func (r *reader) copy() *reader {
	c := *r
	c.states, c.spare = slices.Clone(r.states), nil
	c.reading = r.reading.copy()
	return &c
}
