package observed

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Merged is what several runs of one case on one kubelet showed.
type Merged struct {
	// Runs is how many there were.
	Runs int `json:"runs"`
	// Events are all that came in any of them, by the median of when they came first.
	Events []Seen `json:"events,omitempty"`
	// Figures are in the order of [Figures].
	Figures []Spread `json:"figures,omitempty"`
}

// Seen is an event that came in some runs, or in all.
type Seen struct {
	Name string `json:"name"`
	// Runs is in how many runs it came.
	Runs int `json:"runs"`
	// At is when it came first, and Count how often it came, in the runs in which it did.
	At    Spread `json:"at"`
	Count Spread `json:"count"`
}

// Spread sums up numbers.
type Spread struct {
	// Name is that of the figure; empty where the numbers are no figure.
	Name   string  `json:"name,omitempty"`
	N      int     `json:"n"`
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// spreadOf sums up numbers, of which there is at least one.
func spreadOf(name string, values []float64) Spread {
	sorted := slices.Sorted(slices.Values(values))
	return Spread{Name: name, N: len(sorted), Min: sorted[0], Median: median(sorted), Max: sorted[len(sorted)-1]}
}

// median is that of sorted numbers: the middle one, or the mean of the two in the middle.
func median(sorted []float64) float64 {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// Merge lays runs of one case on one kubelet over each other.
func Merge(runs []Behaviour) Merged {
	type sums struct{ at, count []float64 }
	events := map[string]*sums{}
	figures := map[string][]float64{}
	for _, b := range runs {
		for _, e := range b.Events {
			if events[e.Name] == nil {
				events[e.Name] = &sums{}
			}
			s := events[e.Name]
			s.at, s.count = append(s.at, e.At), append(s.count, float64(e.Count))
		}
		for _, f := range b.Figures {
			figures[f.Name] = append(figures[f.Name], f.Value)
		}
	}
	m := Merged{Runs: len(runs)}
	for name, s := range events {
		m.Events = append(m.Events, Seen{name, len(s.at), spreadOf("", s.at), spreadOf("", s.count)})
	}
	slices.SortFunc(m.Events, func(a, b Seen) int {
		return cmp.Or(cmp.Compare(a.At.Median, b.At.Median), cmp.Compare(a.Name, b.Name))
	})
	for _, name := range Figures() {
		if values := figures[name]; len(values) > 0 {
			m.Figures = append(m.Figures, spreadOf(name, values))
		}
	}
	return m
}

// String writes the numbers as "0.26/0.40/0.62 (n 6)": the least, the median and the most.
func (s Spread) String() string {
	number := func(x float64) string { return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64) }
	return fmt.Sprintf("%s/%s/%s (n %d)", number(s.Min), number(s.Median), number(s.Max), s.N)
}
