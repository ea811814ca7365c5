package observed

import (
	"cmp"
	"maps"
	"slices"
)

// shifted is how many standard deviations of chance it takes before numbers count as different: less
// than one in a million, either way.
const shifted = 5

// finding is a difference in what the model leaves open, with the evidence for it.
type finding struct {
	Difference
	evidence float64
	names    []string // of the events that it is about
}

// compareOpen compares what the model leaves open. An order of two events often changes with that of
// others beside them, so of several findings that share an event only the clearest is told.
func compareOpen(_ string, sides []side) (out []Difference) {
	total := 0
	for _, s := range sides {
		total += len(s.runs)
	}
	if most := (tally{yes: total / 2, no: total - total/2}); -most.loglikelihood() < enough {
		return nil
	}
	t := tabulate(sides)
	all := t.findings()
	for i := 1; i < len(sides); i++ {
		found := all[i]
		slices.SortStableFunc(found, func(a, b finding) int { return cmp.Compare(b.evidence, a.evidence) })
		told := map[string]bool{}
		for _, f := range found {
			if slices.ContainsFunc(f.names, func(n string) bool { return told[n] }) {
				continue
			}
			for _, n := range f.names {
				told[n] = true
			}
			f.Older, f.Newer = sides[i-1].Name, sides[i].Name
			f.State = Unexpected
			if f.Because = explains(f, sides[i-1].Kubelet, sides[i].Kubelet); f.Because != nil {
				f.State = Expected
			}
			out = append(out, f.Difference)
		}
	}
	return out
}

// table has the events of all runs of a case on several kubelets.
type table struct {
	sides []side
	names []string
	// by kubelet, run and event: where the event stands in its run; nil, and -1, where it never came
	events [][][]Event
	places [][][]int
}

func tabulate(sides []side) *table {
	t := &table{sides: sides}
	number := map[string]int{}
	for _, s := range sides {
		for _, r := range s.runs {
			for _, e := range r.Behaviour.Events {
				number[e.Name] = 0
			}
		}
	}
	t.names = slices.Sorted(maps.Keys(number))
	for i, name := range t.names {
		number[name] = i
	}
	for _, s := range sides {
		var events [][]Event
		var places [][]int
		for _, r := range s.runs {
			row, place := make([]Event, len(t.names)), make([]int, len(t.names))
			for i := range place {
				place[i] = -1
			}
			for k, e := range r.Behaviour.Events {
				row[number[e.Name]], place[number[e.Name]] = e, k
			}
			events, places = append(events, row), append(places, place)
		}
		t.events, t.places = append(t.events, events), append(t.places, places)
	}
	return t
}

// row tallies something of each run, by kubelet; ask returns false for known where a run has no answer.
func (t *table) row(ask func(events []Event, places []int) (yes, known bool)) []tally {
	row := make([]tally, len(t.sides))
	for s := range t.sides {
		for r := range t.events[s] {
			switch yes, known := ask(t.events[s][r], t.places[s][r]); {
			case known && yes:
				row[s].yes++
			case known:
				row[s].no++
			}
		}
	}
	return row
}

// findings are all that there is enough evidence for, by the place of the newer kubelet.
func (t *table) findings() [][]finding {
	out := make([][]finding, len(t.sides))
	add := func(kind Kind, what string, row []tally, names ...string) {
		for i := 1; i < len(row); i++ {
			if e := stretch(row, i); e >= enough {
				d := Difference{Kind: kind, What: what, OnOlder: of(row[i-1].yes, row[i-1].runs()), OnNewer: of(row[i].yes, row[i].runs())}
				out[i] = append(out[i], finding{Difference: d, evidence: e, names: names})
			}
		}
	}
	for x, first := range t.names {
		// Whether it came, and where two did, which of them came first.
		add(Presence, first, t.row(func(_ []Event, places []int) (bool, bool) { return places[x] >= 0, true }), first)
		for y := x + 1; y < len(t.names); y++ {
			add(Order, first+" before "+t.names[y], t.row(func(events []Event, places []int) (bool, bool) {
				rel := relation(events[x], places[x], events[y], places[y])
				return rel == Before, rel == Before || rel == After
			}), first, t.names[y])
		}
	}
	for i := 1; i < len(t.sides); i++ {
		out[i] = append(out[i], t.counts(i)...)
	}
	return out
}

// counts compares how often each event came, in the runs in which it did.
func (t *table) counts(i int) (out []finding) {
	for n, name := range t.names {
		var of [2][]float64
		for k := range of {
			for _, events := range t.events[i-1+k] {
				if c := events[n].Count; c > 0 {
					of[k] = append(of[k], float64(c))
				}
			}
		}
		z := rankSum(of[0], of[1])
		if z < shifted && z > -shifted {
			continue
		}
		out = append(out, finding{
			Difference: Difference{Kind: Count, What: "how often: " + name, OnOlder: spreadOf("", of[0]).String(), OnNewer: spreadOf("", of[1]).String()},
			evidence:   z * z / 2, names: []string{name},
		})
	}
	return out
}
