package report

import (
	"fmt"

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
