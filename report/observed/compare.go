package observed

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/podorder/podorder/reference/rules"
)

// Kubelet is one of the kubelets that are compared.
type Kubelet struct {
	// Name is how runs name it.
	Name string
	// Model is its version and its feature gates.
	Model rules.Kubelet
}

// Run is one recording of a case on a kubelet that was judged.
type Run struct {
	Case    string
	Kubelet string // the name of one of the kubelets
	// Outcome is the word of the verdict, Rule what it refuses the recording by, and Deviations
	// the names of the known faults that explain it.
	Outcome    string
	Rule       string
	Deviations []string
	Behaviour  Behaviour
}

// comparable reports whether the recording is whole enough to be compared. What an inconclusive one
// lacks it may lack for no fault of the kubelet.
func (r Run) comparable() bool {
	switch r.Outcome {
	case "pass", "known", "fixed", "violation":
		return true
	}
	return false
}

// side is what one kubelet showed of a case.
type side struct {
	Kubelet
	runs []Run
}

// Compare returns what differs between neighbouring kubelets, which are given the oldest first, and
// what should differ and does not. What is worst stands first.
//
// A difference is one of these, and nothing else:
//
//   - The verdicts of a case differ. Whatever the model orders is judged, so a run in which
//     it comes otherwise has a verdict of its own, and one run is enough.
//   - A question that the table of expected differences asks of a case has another answer. It was
//     asked before the runs, so one run is enough.
//   - Anything else that the model leaves open, an order, whether something came, or how
//     often, is different in so many runs that chance does not explain it: if both kubelets did each of
//     the two things with one and the same probability, whatever that is, then what was seen
//     would be at least e^16 (nine million) times less likely than with a probability for each.
//     Where all runs of one do one thing and all runs of the other another, that takes twelve
//     runs of each. Runs on the next kubelets beyond the two count as well, as long as all of
//     them did the same.
//   - A figure, compared case by case, is shifted by more than chance explains: five standard deviations
//     of the signed ranks, and a tenth of a second.
func Compare(kubelets []Kubelet, runs []Run) []Difference {
	byCase := map[string]map[string][]Run{}
	for _, r := range runs {
		if !r.comparable() {
			continue
		}
		if byCase[r.Case] == nil {
			byCase[r.Case] = map[string][]Run{}
		}
		byCase[r.Case][r.Kubelet] = append(byCase[r.Case][r.Kubelet], r)
	}
	var out []Difference
	for _, id := range slices.Sorted(maps.Keys(byCase)) {
		var sides []side
		for _, k := range kubelets {
			if list := byCase[id][k.Name]; len(list) > 0 {
				sides = append(sides, side{k, list})
			}
		}
		found := compareOpen(id, sides)
		for i := 1; i < len(sides); i++ {
			found = append(found, compareVerdicts(sides[i-1], sides[i])...)
			found = append(found, compareExpected(id, sides[i-1], sides[i])...)
		}
		for i := range found {
			found[i].Case = id
		}
		out = append(out, found...)
	}
	out = append(out, compareFigures(kubelets, byCase)...)
	sortDifferences(out, kubelets)
	return out
}

// sortDifferences puts those that fail first, and then the oldest kubelets.
func sortDifferences(list []Difference, kubelets []Kubelet) {
	place := map[string]int{}
	for i, k := range kubelets {
		place[k.Name] = i
	}
	fails := func(d Difference) int {
		if d.Fails() {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(fails(a), fails(b)), cmp.Compare(place[a.Newer], place[b.Newer]), cmp.Compare(a.What, b.What), cmp.Compare(a.Case, b.Case))
	})
}

// compareVerdicts compares by each violation, and by each known fault, that a side has. A known fault
// that both kubelets have, and only one showed, is no difference.
func compareVerdicts(older, newer side) (out []Difference) {
	for _, d := range rules.Deviations() {
		a, b := older.showing(d), newer.showing(d)
		inOlder, inNewer := older.Model.Deviations().Has(d), newer.Model.Deviations().Has(d)
		if (a > 0) == (b > 0) && (a > 0 || !d.Always() || inOlder == inNewer) || a+b > 0 && inOlder && inNewer {
			continue
		}
		if a+b == 0 {
			continue // whether it was due is for the judge to say: it calls that fixed
		}
		out = append(out, Difference{
			Older: older.Name, Newer: newer.Name, Kind: Verdict, What: "known fault " + d.Name(),
			OnOlder: of(a, len(older.runs)), OnNewer: of(b, len(newer.runs)), Because: causeOf(d), State: Expected,
		})
	}
	for _, w := range slices.Sorted(maps.Keys(union(older.failing(), newer.failing()))) {
		a, b := older.failing()[w], newer.failing()[w]
		if (a > 0) == (b > 0) {
			continue
		}
		d := Difference{
			Older: older.Name, Newer: newer.Name, Kind: Verdict, What: w,
			OnOlder: of(a, len(older.runs)), OnNewer: of(b, len(newer.runs)), State: Unexpected,
		}
		if _, slug, ok := strings.Cut(w, " "); ok {
			if r, ok := rules.BySlug(slug); ok {
				d.Because = &Cause{Rule: slug, Says: r.Says, Source: r.Source}
			}
		}
		out = append(out, d)
	}
	return out
}

// showing counts the runs that a known fault explains.
func (s side) showing(d rules.Deviation) (n int) {
	for _, r := range s.runs {
		if slices.Contains(r.Deviations, d.Name()) {
			n++
		}
	}
	return n
}

// failing counts the runs by what is wrong with them: "violation hooks/poststart-once".
func (s side) failing() map[string]int {
	n := map[string]int{}
	for _, r := range s.runs {
		if r.Outcome == "violation" || r.Outcome == "fixed" {
			n[strings.TrimSpace(r.Outcome+" "+r.Rule)]++
		}
	}
	return n
}

func union(a, b map[string]int) map[string]int {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// of says in how many runs something was so.
func of(n, runs int) string {
	switch {
	case runs == 1 && n == 1:
		return "yes"
	case runs == 1:
		return "no"
	case n == 0:
		return fmt.Sprintf("in none of %d runs", runs)
	case n == runs:
		return fmt.Sprintf("in all %d runs", runs)
	}
	return fmt.Sprintf("in %d of %d runs", n, runs)
}
