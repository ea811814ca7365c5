package report_test

import (
	"testing"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/report"
	"github.com/podorder/podorder/report/observed"

	"gotest.tools/v3/assert"
)

func TestCompare(t *testing.T) {
	seen := &observed.Behaviour{Events: []observed.Event{{Name: "phase Running", Count: 1}}}
	r := &report.Report{
		Kubelets: []report.Kubelet{{Name: "v1.34.4", Version: "v1.34.4"}, {Name: "v1.37.2@mine", Version: "v1.37.2"}},
		Runs: []report.Run{
			{Case: "probes/x", Kubelet: "v1.34.4", Outcome: report.Pass, Observed: seen},
			{Case: "probes/x", Kubelet: "v1.37.2@mine", Outcome: report.Known, Observed: seen, Verdict: &reference.Verdict{
				Rule: "probes/startup-gates", Deviations: []reference.Deviation{{Name: "started-inherited"}},
			}},
			{Case: "probes/y", Kubelet: "v1.34.4", Outcome: report.Pass, Observed: seen},
			{Case: "probes/y", Kubelet: "v1.37.2@mine", Outcome: report.Violation},
		},
	}
	got, err := r.Compare()
	assert.NilError(t, err)
	assert.Equal(t, len(got), 1)
	assert.Equal(t, got[0].Case+" "+got[0].What, "probes/x known fault started-inherited")
	assert.Assert(t, !got[0].Fails())

	r.Kubelets[0].Gates = "NoSuchGate=true"
	_, err = r.Compare()
	assert.ErrorContains(t, err, "kubelet v1.34.4")
}
