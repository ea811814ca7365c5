package report_test

import (
	"strings"
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

// A difference that was not expected fails the run, and one that was expected does not. What
// was expected is told by its cause, once for all cases.
func TestDifferencesDecide(t *testing.T) {
	r := &report.Report{Runs: []report.Run{
		{Case: "probes/x", Kubelet: "v1.36.3", Outcome: report.Pass}, {Case: "probes/x", Kubelet: "v1.37.2", Outcome: report.Pass},
	}}
	cause := &observed.Cause{Issue: "kubernetes/kubernetes#140881", Says: "Something."}
	for _, id := range []string{"probes/x", "probes/y"} {
		r.Differences = append(r.Differences, observed.Difference{
			Case: id, Older: "v1.36.3", Newer: "v1.37.2", What: "known fault probes-cancelled", OnOlder: "yes", OnNewer: "no", State: observed.Expected, Because: cause,
		})
	}
	assert.NilError(t, r.Err())
	assert.Assert(t, strings.Contains(r.Table(), "expected: from v1.36.3 to v1.37.2: kubernetes/kubernetes#140881 (probes/x, probes/y)\n"), r.Table())

	r.Differences = append(r.Differences, observed.Difference{
		Case: "probes/x", Older: "v1.36.3", Newer: "v1.37.2", What: "a / main: begin before b / main: begin", OnOlder: "yes", OnNewer: "no", State: observed.Unexpected,
	})
	assert.ErrorContains(t, r.Err(), "1 difference between the kubelets is not as expected")
	assert.Assert(t, strings.Contains(r.Table(), "probes/x: unexpected: a / main: begin before b / main: begin: yes on v1.36.3, no on v1.37.2\n"), r.Table())
}
