package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/report/observed"
)

// Compare returns what differs between neighbouring kubelets of the report, and what should and does
// not. A report of one kubelet has no differences.
func (r *Report) Compare() ([]observed.Difference, error) {
	var kubelets []observed.Kubelet
	for _, k := range r.Kubelets {
		model, err := rules.ParseKubelet(k.Version)
		if err == nil {
			model, err = model.WithGates(k.Gates)
		}
		if err != nil {
			return nil, fmt.Errorf("kubelet %s: %w", k.Name, err)
		}
		kubelets = append(kubelets, observed.Kubelet{Name: k.Name, Model: model})
	}
	var runs []observed.Run
	for _, run := range r.Runs {
		if run.Observed == nil {
			continue
		}
		o := observed.Run{Case: run.Case, Kubelet: run.Kubelet, Outcome: run.Outcome, Behaviour: *run.Observed}
		if v := run.Verdict; v != nil {
			o.Rule = v.Rule
			for _, d := range v.Deviations {
				o.Deviations = append(o.Deviations, d.Name)
			}
		}
		runs = append(runs, o)
	}
	return observed.Compare(kubelets, runs), nil
}

// SetDifferences sets the differences, once the runs and the kubelets of the report are complete.
func (r *Report) SetDifferences() error {
	r.Differences = nil
	for _, names := range r.compared() {
		found, err := r.Only(names).Compare()
		if err != nil {
			return err
		}
		r.Differences = append(r.Differences, found...)
	}
	return nil
}

// differenceLine is a difference between two kubelets in one line.
func differenceLine(d observed.Difference) string {
	s := fmt.Sprintf("%s: %s: %s on %s, %s on %s", d.State, d.What, d.OnOlder, d.Older, d.OnNewer, d.Newer)
	if d.Case != "" {
		s = d.Case + ": " + s
	}
	if d.Because != nil {
		s += " (" + d.Because.Says + ")"
	}
	return s
}

// unforeseen counts the differences that fail the comparison.
func (r *Report) unforeseen() (n int) {
	for _, d := range r.Differences {
		if d.Fails() {
			n++
		}
	}
	return n
}

// changes tells the differences: each that fails the comparison, and those that were expected by
// their cause, with the cases that show it.
func (r *Report) changes() (lines []string) {
	type cause struct{ older, newer, says string }
	var order []cause
	cases := map[cause][]string{}
	for _, d := range r.Differences {
		if d.Fails() {
			lines = append(lines, differenceLine(d))
			continue
		}
		c := cause{d.Older, d.Newer, d.What}
		if b := d.Because; b != nil {
			c.says = strings.Join(slices.DeleteFunc([]string{b.Issue, b.Rule, b.Gate}, func(s string) bool { return s == "" }), ", ")
			if c.says == "" {
				c.says = b.Says
			}
		}
		if cases[c] == nil {
			order = append(order, c)
		}
		id := d.Case
		if id == "" {
			id = fmt.Sprintf("%s: %s, then %s", d.What, d.OnOlder, d.OnNewer)
		}
		if !slices.Contains(cases[c], id) {
			cases[c] = append(cases[c], id)
		}
	}
	for _, c := range order {
		lines = append(lines, fmt.Sprintf("expected: from %s to %s: %s (%s)", c.older, c.newer, c.says, strings.Join(cases[c], ", ")))
	}
	return lines
}
