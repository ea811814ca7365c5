package reference

import (
	"maps"
	"slices"
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
// points at the one that forbids most directly what was refused.
func (r *reader) contradiction(n int, o *observation, d *denial) (why []Forbidding, direct int) {
	rules := map[int]string{}
	for _, c := range d.because {
		rules[int(c.obs)-1] = c.rule
	}
	named := slices.Sorted(maps.Keys(rules))
	bearing := r.bearing(named, n)
	recent := bearing
	for at := max(0, n-most); at < n; at++ {
		recent = append(recent, at)
	}
	slices.Sort(recent)
	short := named
	for _, some := range [][]int{named, bearing, slices.Compact(recent)} {
		if fewer, ok := r.fewest(some, n, o, d.rule); ok {
			short = fewer
			break
		}
	}
	obs, err := r.src.pick(short)
	if err != nil {
		return nil, 0 // the file has changed under the judge; the verdict stands
	}
	rank := len(d.because)
	for i, at := range short {
		if first := slices.IndexFunc(d.because, func(c cause) bool { return int(c.obs)-1 == at }); first >= 0 && first < rank {
			rank, direct = first, i
		} else if rank == len(d.because) && at < n {
			direct = i // the last one before it, where none of those is left
		}
		rule := rules[at]
		if rule == "" {
			rule = d.rule
		}
		why = append(why, Forbidding{Line: obs[i].entry.Line, Log: obs[i].text(), Rule: rule})
	}
	return why, direct
}

// fewest drops from some observations before n what is not needed for the
// refusal. It reports whether they are enough at all.
func (r *reader) fewest(some []int, n int, o *observation, rule string) ([]int, bool) {
	obs, err := r.src.pick(some)
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
func (r *reader) breaks(obs recorded, place int, o *observation, rule string) bool {
	all := slices.Insert(slices.Clone(obs), place, *o)
	j := Judge{Kubelet: r.k, Pod: r.p, LogOnly: r.logOnly, untimed: r.ev.untimed}
	_, n, d := j.readNumbered(all, budget{maxStates, maxWork / most})
	return d != nil && n == place && d.rule == rule
}

// bearing lists the observations that the states and the history point at, the
// newest of them where there are too many, and the first line of each actor.
func (r *reader) bearing(named []int, n int) []int {
	named = slices.Clone(named)
	in := map[int]string{}
	add := func(at int32) {
		if at > 0 && int(at) <= n {
			in[int(at)-1] = ""
		}
	}
	for _, s := range r.states {
		add(s.synced.obs)
		add(s.ending.obs)
		for i := range s.c {
			c := &s.c[i]
			for _, x := range []cause{c.returned, c.killed, c.gone, c.done} {
				add(x.obs)
			}
		}
	}
	for i := range r.h {
		for _, x := range r.h[i].runs {
			for _, at := range []int32{
				x.first, x.last, x.mainBegin, x.mainEnd, x.term, x.hookFirst, x.hookBegin, x.hookEnd, x.preStop, x.preStopBegin, x.preStopEnd,
				x.started, x.ready, x.failing, x.probed, x.readinessLast, x.livenessLast, x.startupFirst, x.startupLast, x.passed,
			} {
				add(at)
			}
		}
		add(r.h[i].stageAt)
		add(r.h[i].shownObs)
	}
	add(r.shownAt)
	for _, at := range slices.Concat(r.ev.ends, r.ev.restarts, r.ev.sandboxes) {
		add(at)
	}
	for _, d := range r.ev.due {
		add(d.obs)
	}
	all := slices.Sorted(maps.Keys(in))
	if len(all) > most {
		all = all[len(all)-most:]
	}
	for c := range r.ev.c {
		for _, at := range slices.Concat(r.ev.c[c].logs[:], []int32{r.ev.c[c].alive}) {
			if int(at)-1 > n {
				named = append(named, int(at)-1)
			}
		}
	}
	if at := int(r.ev.toldAt) - 1; at > n {
		named = append(named, at)
	}
	for _, at := range named {
		if !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	slices.Sort(all)
	return all
}
