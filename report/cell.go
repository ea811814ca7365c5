package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/podorder/podorder/suites/claims"
)

// Cell is what came of one case on one kubelet: of all runs of it.
type Cell struct {
	Case, Kubelet string
	// Runs are in the order of Run.Repeat.
	Runs []*Run
	// Worst is the run that the cell stands for.
	Worst *Run
	// column is the place of the kubelet among those of the report.
	column int
}

// Merge makes a cell of the runs of one case on one kubelet: the worst of them stands for
// it. A fault that showed in some runs is not fixed because it did not in others.
func Merge(runs []*Run) Cell {
	shown := slices.ContainsFunc(runs, func(r *Run) bool { return r.Outcome == Known })
	rank := func(r *Run) int {
		if shown && r.Outcome == Fixed {
			return slices.Index(severity, Known) + 1
		}
		return r.rank()
	}
	worst := runs[0]
	for _, r := range runs {
		if rank(r) < rank(worst) {
			worst = r
		}
	}
	return Cell{Case: worst.Case, Kubelet: worst.Kubelet, Runs: runs, Worst: worst}
}

// Mark is the outcome, and of a repeated case how many of its runs ended with it:
// "known 3/20".
func (c Cell) Mark() string {
	if len(c.Runs) == 1 {
		return c.Worst.Outcome
	}
	return fmt.Sprintf("%s %d/%d", c.Worst.Outcome, c.Same(), len(c.Runs))
}

// Same returns how many of the runs ended as the worst did.
func (c Cell) Same() int {
	n := 0
	for _, r := range c.Runs {
		if r.Outcome == c.Worst.Outcome {
			n++
		}
	}
	return n
}

// Seconds are the time of the longest run.
func (c Cell) Seconds() float64 {
	most := 0.0
	for _, r := range c.Runs {
		most = max(most, r.Seconds)
	}
	return most
}

// Cells returns what came of each case on each kubelet, the worst first.
func (r *Report) Cells() []Cell {
	type key struct{ id, kubelet string }
	at := map[key]int{}
	var runs [][]*Run
	for i := range r.Runs {
		run := &r.Runs[i]
		k := key{run.Case, run.Kubelet}
		n, ok := at[k]
		if !ok {
			n, at[k] = len(runs), len(runs)
			runs = append(runs, nil)
		}
		runs[n] = append(runs[n], run)
	}
	column := map[string]int{}
	for i, name := range r.Names() {
		column[name] = i
	}
	cells := make([]Cell, len(runs))
	for i, all := range runs {
		slices.SortStableFunc(all, func(a, b *Run) int { return cmp.Compare(a.Repeat, b.Repeat) })
		cells[i] = Merge(all)
		cells[i].column = column[cells[i].Kubelet]
	}
	slices.SortStableFunc(cells, func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.Worst.rank(), b.Worst.rank()), cmp.Compare(a.Case, b.Case), cmp.Compare(a.column, b.column))
	})
	return cells
}

// Sort puts the runs into their order: the worst first, the runs of a repeated case
// together.
func (r *Report) Sort() {
	sorted := make([]Run, 0, len(r.Runs))
	for _, c := range r.Cells() {
		for _, run := range c.Runs {
			sorted = append(sorted, *run)
		}
	}
	r.Runs = sorted
}

// byCase returns the cells of each case, those with the worst first, and within a case by
// kubelet.
func byCase(cells []Cell) [][]Cell {
	at := map[string]int{}
	var out [][]Cell
	for _, c := range cells {
		i, ok := at[c.Case]
		if !ok {
			i, at[c.Case] = len(out), len(out)
			out = append(out, nil)
		}
		out[i] = append(out[i], c)
	}
	for _, of := range out {
		slices.SortStableFunc(of, func(a, b Cell) int { return cmp.Compare(a.column, b.column) })
	}
	return out
}

// on returns the cells of one kubelet.
func on(cells []Cell, kubelet string) (out []Cell) {
	for _, c := range cells {
		if c.Kubelet == kubelet {
			out = append(out, c)
		}
	}
	return out
}

// onAny returns the cells of some kubelets.
func onAny(cells []Cell, kubelets []string) (out []Cell) {
	for _, c := range cells {
		if slices.Contains(kubelets, c.Kubelet) {
			out = append(out, c)
		}
	}
	return out
}

// judged returns how many cells have a verdict.
func judged(cells []Cell) int {
	n := 0
	for _, c := range cells {
		if c.Worst.Outcome != Skipped {
			n++
		}
	}
	return n
}

// counts returns the line that sums cells up: "2 violation, 5 pass, 1 skipped".
func counts(cells []Cell) string {
	n := map[string]int{}
	var words []string
	for _, c := range cells {
		w := c.Worst.Outcome
		if n[w]++; n[w] == 1 {
			words = append(words, w)
		}
	}
	for i, w := range words {
		words[i] = fmt.Sprintf("%d %s", n[w], w)
	}
	return strings.Join(words, ", ")
}

// Err says why the run fails; nil if it does not.
func (r *Report) Err() error {
	cells := r.Cells()
	if r.Compared != nil {
		return r.differErr(cells)
	}
	failed := 0
	for _, c := range cells {
		if c.Worst.Fails(r.Strict) {
			failed++
		}
	}
	for _, c := range r.Clusters {
		if c.Failed != "" {
			return fmt.Errorf("the cluster could not run cases: %s", c.Failed)
		}
	}
	switch {
	case len(cells) == 0:
		return fmt.Errorf("no case was judged; select at least one with -run, -cases or -labels")
	case judged(cells) == 0:
		return fmt.Errorf("no case was judged: all %d were skipped", len(cells))
	case failed > 0:
		return fmt.Errorf("%d of %d cases failed", failed, judged(cells))
	}
	if n := r.unforeseen(); n > 0 {
		return errors.New(plural(n, "difference between the kubelets is not as expected", "differences between the kubelets are not as expected"))
	}
	for _, k := range r.Names() {
		if of := on(cells, k); judged(of) == 0 {
			return fmt.Errorf("no case was judged on kubelet %s: all %d were skipped", k, len(of))
		}
	}
	return nil
}

// differErr says in what two runs differ that are compared; nil if they do not.
func (r *Report) differErr(cells []Cell) error {
	n := 0
	for _, kubelets := range r.Compared {
		n += len(differentCases(onAny(cells, kubelets)))
	}
	if n > 0 {
		return fmt.Errorf("%s between the two runs", plural(n, "case differs", "cases differ"))
	}
	if n := r.unforeseen(); n > 0 {
		return errors.New(plural(n, "difference between the two runs is not as expected", "differences between the two runs are not as expected"))
	}
	return nil
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// Finish works out what of a report follows from its runs: their order, what differs between
// the kubelets, and whether the whole has failed.
func (r *Report) Finish() {
	r.Sort()
	r.Failed = ""
	err := r.SetDifferences()
	if err = errors.Join(r.Err(), err); err != nil {
		r.Failed = err.Error()
	}
}

// Only returns the report of some of the kubelets alone.
func (r *Report) Only(names []string) *Report {
	out := *r
	out.Kubelets = slices.DeleteFunc(slices.Clone(r.Kubelets), func(k Kubelet) bool { return !slices.Contains(names, k.Name) })
	out.Runs = slices.DeleteFunc(slices.Clone(r.Runs), func(run Run) bool { return !slices.Contains(names, run.Kubelet) })
	out.Claims = slices.DeleteFunc(slices.Clone(r.Claims), func(c claims.Column) bool { return !slices.Contains(names, c.Kubelet) })
	return &out
}
