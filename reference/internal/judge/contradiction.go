package judge

import (
	"maps"
	"slices"

	"github.com/podorder/podorder/reference/internal/model"
	"github.com/podorder/podorder/reference/internal/record"
)

// The explanation of a refusal is a contradiction that holds by itself: the
// named lines and the refused one, judged alone, break the same rule. It is
// found by judging again: first what the model knows to bear on it, then with
// one line after the other left out.

// most bounds how many observations are tried for a contradiction, so that an
// explanation never takes longer than the judgement.
const most = 200

// contradiction returns the fewest other observations that, with observation n,
// break the rule of d. Most come before it; one that comes later shows that a
// process writes to the log at all, or that there are Events of that time. Where
// nothing shorter than the whole trace does, it returns those that d names. Of them, it
// points at the one that forbids most directly what was refused. named are their indexes.
func (r *reader) contradiction(n int, o *record.Observation, d *model.Denial) (why []Because, direct int, named []int) {
	rules := map[int]string{}
	for _, c := range d.Because {
		rules[c.Obs.Index()] = c.Rule
	}
	named = slices.Sorted(maps.Keys(rules))
	bearing := r.bearing(named, n)
	recent := bearing
	for at := max(0, n-most); at < n; at++ {
		recent = append(recent, at)
	}
	slices.Sort(recent)
	short := named
	for _, some := range [][]int{named, bearing, slices.Compact(recent)} {
		if fewer, ok := r.fewest(some, n, o, d.Rule); ok {
			short = fewer
			break
		}
	}
	obs, err := r.src.Pick(short)
	if err != nil {
		return nil, 0, nil // the file has changed under the judge; the verdict stands
	}
	rank := len(d.Because)
	for i, at := range short {
		if first := slices.IndexFunc(d.Because, func(c model.Cause) bool { return c.Obs.Index() == at }); first >= 0 && first < rank {
			rank, direct = first, i
		} else if rank == len(d.Because) && at < n {
			direct = i // the last one before it, where none of those is left
		}
		rule := rules[at]
		if rule == "" {
			rule = d.Rule
		}
		why = append(why, Because{Line: obs[i].Entry.Line, Log: obs[i].Text(), Rule: rule})
	}
	return why, direct, short
}

// fewest drops from some observations before n what is not needed for the
// refusal. It reports whether they are enough at all.
func (r *reader) fewest(some []int, n int, o *record.Observation, rule string) ([]int, bool) {
	obs, err := r.src.Pick(some)
	place, _ := slices.BinarySearch(some, n)
	if err != nil || !r.breaks(obs, place, o, rule) {
		return nil, false
	}
	for i := 0; i < len(some); {
		without := slices.Delete(slices.Clone(obs), i, i+1)
		moved := place
		if i < place {
			moved--
		}
		if r.breaks(without, moved, o, rule) {
			obs, some, place = without, slices.Delete(slices.Clone(some), i, i+1), moved
			continue
		}
		i++
	}
	return some, true
}

// breaks judges some observations with o inserted at a place, and reports
// whether o is the first one refused, for the given rule.
func (r *reader) breaks(obs record.Recorded, place int, o *record.Observation, rule string) bool {
	all := slices.Insert(slices.Clone(obs), place, *o)
	_, n, d := r.judge.readNumbered(all, budget{maxStates, maxWork / most})
	return d != nil && n == place && d.Rule == rule
}

// bearing lists the observations that the states and the history point at, the
// newest of them where there are too many, and the first line of each actor.
func (r *reader) bearing(named []int, n int) []int {
	named = slices.Clone(named)
	in := map[int]string{}
	add := func(at record.Place) {
		if at.Known() && at.Index() < n {
			in[at.Index()] = ""
		}
	}
	for i := range r.states {
		r.states[i].Causes(add)
	}
	r.Landmarks(add)
	all := slices.Sorted(maps.Keys(in))
	if len(all) > most {
		all = all[len(all)-most:]
	}
	r.Signs(func(at record.Place) {
		if at.Index() > n {
			named = append(named, at.Index())
		}
	})
	for _, at := range named {
		if !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	slices.Sort(all)
	return all
}
