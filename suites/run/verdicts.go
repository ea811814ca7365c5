package run

import (
	"encoding/json"
	"fmt"

	"github.com/podorder/podorder/reference"
)

// jsonReport is verdicts.json.
type jsonReport struct {
	Kubernetes string       `json:"kubernetes,omitempty"`
	Runtime    string       `json:"runtime,omitempty"`
	Kubelets   []string     `json:"kubelets,omitempty"`
	Failed     string       `json:"failed,omitempty"`
	Cluster    float64      `json:"clusterSeconds,omitempty"`
	Wall       float64      `json:"wallSeconds,omitempty"`
	Cases      []jsonResult `json:"cases"`
	Differs    []string     `json:"differs,omitempty"`
}

type jsonResult struct {
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
	Runs    []jsonResult       `json:"runs,omitempty"`
}

func (r Result) json() jsonResult {
	j := jsonResult{Case: r.Case, Kubelet: r.Kubelet, Seconds: r.Took.Seconds(), Skipped: r.Skipped, Reason: r.Verdict.Reason, Admission: r.changes.List(), Trace: r.Trace, First: r.First}
	if r.Skipped == "" {
		j.Verdict = &r.Verdict
	}
	for _, run := range r.Runs {
		each := run.json()
		each.Case, each.Kubelet = "", ""
		j.Runs = append(j.Runs, each)
	}
	if j.Of = len(r.Runs); j.Of > 0 {
		j.Same = r.same()
	}
	return j
}

// JSON returns verdicts.json.
func (r *Report) JSON() ([]byte, error) {
	r.sort()
	out := jsonReport{
		Kubernetes: r.Kubernetes, Runtime: r.Runtime, Kubelets: r.kubelets(),
		Cluster: r.Cluster.Seconds(), Wall: r.Wall.Seconds(),
		Cases: []jsonResult{}, Differs: r.differences(),
	}
	if err := r.Err(); err != nil {
		out.Failed = err.Error()
	}
	for _, res := range r.Results {
		out.Cases = append(out.Cases, res.json())
	}
	b, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding the verdicts: %w", err)
	}
	return append(b, '\n'), nil
}
