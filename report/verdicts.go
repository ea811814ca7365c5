package report

import (
	"encoding/json"
	"fmt"

	"github.com/podorder/podorder/reference"
)

// verdictsFile is what verdicts.json holds, the form of a run that programs read before
// there was report.json.
type verdictsFile struct {
	Kubernetes string         `json:"kubernetes,omitempty"`
	Runtime    string         `json:"runtime,omitempty"`
	Kubelets   []string       `json:"kubelets,omitempty"`
	Failed     string         `json:"failed,omitempty"`
	Cluster    float64        `json:"clusterSeconds,omitempty"`
	Wall       float64        `json:"wallSeconds,omitempty"`
	Cases      []verdictsCase `json:"cases"`
	Differs    []string       `json:"differs,omitempty"`
}

type verdictsCase struct {
	Case    string  `json:"case,omitempty"`
	Kubelet string  `json:"kubelet,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	Skipped string  `json:"skipped,omitempty"`
	Reason  string  `json:"reason,omitempty"`
	// Admission is what somebody else made of the Pod.
	Admission []string `json:"admission,omitempty"`
	Trace     string   `json:"trace,omitempty"`
	First     string   `json:"first,omitempty"`
	// Same and Of say of a repeated case how many of its runs ended with its
	// verdict.
	Same    int                `json:"same,omitempty"`
	Of      int                `json:"of,omitempty"`
	Verdict *reference.Verdict `json:"verdict,omitempty"`
	Runs    []verdictsCase     `json:"runs,omitempty"`
}

func verdictOf(r *Run) verdictsCase {
	j := verdictsCase{
		Case: r.Case, Kubelet: r.Kubelet, Seconds: r.Seconds, Reason: r.Reason, Admission: r.Admission,
		Trace: r.Trace, First: r.First, Verdict: r.Verdict,
	}
	if r.Outcome == Skipped {
		j.Skipped, j.Reason = r.Reason, ""
	}
	return j
}

// VerdictsJSON returns verdicts.json.
func (r *Report) VerdictsJSON() ([]byte, error) {
	cells := r.Cells()
	out := verdictsFile{
		Kubelets: r.Names(), Wall: r.Seconds, Failed: r.Failed, Cases: []verdictsCase{}, Differs: r.differs(cells),
	}
	for _, c := range r.Clusters {
		out.Kubernetes, out.Runtime = c.Kubernetes, c.Runtime
		out.Cluster += c.Seconds
	}
	for _, c := range cells {
		j := verdictOf(c.Worst)
		j.Seconds = c.Seconds()
		if len(c.Runs) > 1 {
			j.Same, j.Of = c.Same(), len(c.Runs)
			for _, run := range c.Runs {
				each := verdictOf(run)
				each.Case, each.Kubelet = "", ""
				j.Runs = append(j.Runs, each)
			}
		}
		out.Cases = append(out.Cases, j)
	}
	b, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding the verdicts: %w", err)
	}
	return append(b, '\n'), nil
}
