// The deviations: the known faults that a release may have. Where a chapter is about to refuse
// something, it asks a function of wrong.go whether one of them explains it. A correct kubelet is read
// without them. No rule of its own; package rules has the table.

package model

import (
	"slices"

	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
)

// Use is an observation that needed a deviation.
type Use struct {
	Deviation rules.Deviation
	Obs       record.Place
	// Where something due did not come, because of the deviation, of is the container, and
	// since is from when it was due. One use explains all observations after that.
	of    int
	since record.Place
}

// uses is the newest use of a state, and those before it. It is never changed, so states
// share it, and it is no part of what tells two states apart.
type uses struct {
	Use
	count  int
	before *uses
}

// and is the list and one more use.
func (u *uses) and(use Use) *uses { return &uses{use, u.len() + 1, u} }

// explains reports whether a use explains that what is due for a container has not come.
func (u *uses) explains(d rules.Deviation, of int, since record.Place) bool {
	for ; u != nil; u = u.before {
		if u.Deviation == d && u.of == of && u.since == since {
			return true
		}
	}
	return false
}

func (u *uses) len() int {
	if u == nil {
		return 0
	}
	return u.count
}

// Uses are the observations that needed a deviation for the state to be reached, in their order.
func (s *State) Uses() []Use {
	all := make([]Use, s.used.len())
	for u := s.used; u != nil; u = u.before {
		all[u.count-1] = u.Use
	}
	return all
}

// Deviated is how many uses there are.
func (s *State) Deviated() int { return s.used.len() }

// Deviate has the reading allow deviations, which is none otherwise.
func (m *model) Deviate(with rules.DeviationSet) { m.deviations = with }

// mostAtOnce bounds how many deviations one observation may need.
const mostAtOnce = 3

// StepDeviating is Step of a kubelet that may deviate: the states that follow without a deviation
// come first, then those that need one, and so on. A deviation is tried only where its
// precondition holds and it makes a difference.
func (r *Reading) StepDeviating(s State, n int) (next []State, d *Denial) {
	defer func() { r.allowed, r.asked = 0, 0 }()
	for ways, tried := []rules.DeviationSet{0}, 0; tried < len(ways); tried++ {
		r.allowed, r.asked, r.missing = ways[tried], 0, r.missing[:0]
		after, other := r.Step(s, n)
		d = firstOf(other, d) // what no deviation explains
		if after == nil && other == nil {
			after = []State{s}
		}
		for _, t := range after {
			for with := range r.allowed.All() {
				use := Use{Deviation: with, Obs: record.PlaceOf(n)}
				if k := slices.IndexFunc(r.missing, func(u Use) bool { return u.Deviation == with }); k >= 0 {
					use.of, use.since = r.missing[k].of, r.missing[k].since
				}
				t.used = t.used.and(use)
			}
			next = append(next, t)
		}
		for more := range (r.asked &^ r.allowed).All() {
			if way := r.allowed.With(more); way.Len() <= mostAtOnce && !slices.Contains(ways, way) {
				ways = append(ways, way)
			}
		}
	}
	if len(next) > 0 {
		return next, nil
	}
	return nil, d
}

// deviates reports whether the kubelet has a deviation of which the precondition holds, and
// this step may need it.
func (r *Reading) deviates(d rules.Deviation, holds func() bool) bool {
	if !r.deviations.Has(d) || !holds() {
		return false
	}
	r.asked = r.asked.With(d)
	return r.allowed.Has(d)
}

// doesWithout is deviates where what is due for container i since an observation does not come.
func (r *Reading) doesWithout(d rules.Deviation, s *State, i int, since record.Place, holds func() bool) bool {
	if r.deviations.Has(d) && s.used.explains(d, i, since) {
		return true
	}
	if !r.deviates(d, holds) {
		return false
	}
	r.missing = append(r.missing, Use{Deviation: d, of: i, since: since})
	return true
}

// mustShow notes that the kubelet did here what a correct one does, where a deviation that it is
// listed as having should have shown, if its precondition holds.
func (r *Reading) mustShow(d rules.Deviation, holds func() bool) {
	if r.always.Has(d) && !r.unshown.Has(d) && holds() {
		r.unshown = r.unshown.With(d)
	}
}

// Unshown are the deviations that should have shown in what was read, and did not.
func (r *Reading) Unshown() rules.DeviationSet { return r.unshown }
