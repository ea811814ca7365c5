package report

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/suites/claims"
)

// example is a report with something in most of its fields. The trace of its first run is in folder.
func example(t *testing.T) (r *Report, folder string) {
	t.Helper()
	folder = filepath.Join("..", "reference", "testdata", "background-hook")
	return &Report{
		Version: Version, Made: time.Date(2026, 11, 29, 15, 40, 0, 0, time.UTC), Command: "go test ./suites", Failed: "1 of 2 cases failed",
		Clusters: []Cluster{{Kubernetes: "v1.37.2", Runtime: "containerd://2.3.5", Nodes: 1, Made: true, Kubelets: []string{"v1.37.2"}, Seconds: 51.5}},
		Kubelets: []Kubelet{{Name: "v1.37.2", Version: "v1.37.2"}},
		Seconds:  20,
		Runs: []Run{
			{
				Case: "hooks/poststart-blocks", Group: "hooks", Title: "A title.", Rules: []string{"hooks/poststart-blocks-next"},
				Labels: map[string][]string{"long": {"false"}}, Kubelet: "v1.37.2", Outcome: Violation, Seconds: 13.5, Waited: 2,
				Started: time.Date(2026, 11, 29, 15, 35, 0, 0, time.UTC), Reason: "it still writes", Explanation: "violation\n",
				Verdict: &reference.Verdict{
					Outcome: reference.Violation, Rule: "hooks/poststart-blocks-next", Line: 22, Log: "container1 / post start hook: tick",
					Because: []reference.Because{{Line: 21, Log: "event Pulled", Rule: "hooks/poststart-blocks-next"}}, Reason: "it still writes",
				},
				Trace: "poststart-blocks/trace.jsonl", Rerun: "go test ./suites",
			},
			{Case: "node/restart", Group: "node", Kubelet: "v1.37.2", Outcome: Skipped, Reason: "no access to the node"},
		},
		Claims: []claims.Column{{Kubelet: "v1.37.2", Results: []claims.Result{{
			Claim: "a", Says: "Containers start in listed order.", Finding: claims.Held, Why: "seen",
			Evidence: []claims.Evidence{{Trace: "poststart-blocks/trace.jsonl", Line: 3, Text: "container1 / main"}},
		}}}},
	}, folder
}

func TestWriteAndRead(t *testing.T) {
	r, _ := example(t)
	dir := filepath.Join(t.TempDir(), "new")
	assert.NilError(t, r.Write(dir))
	got, err := Read(dir)
	assert.NilError(t, err)
	assert.DeepEqual(t, got, r)
	left, err := os.ReadDir(dir)
	assert.NilError(t, err)
	assert.Assert(t, is.Len(left, 1), "something else was left behind")
}

func TestReadErrors(t *testing.T) {
	dir := t.TempDir()
	_, err := Read(dir)
	var missing *NotFoundError
	assert.Assert(t, errors.As(err, &missing), "%v", err)
	for text, want := range map[string]string{
		"[":                       "it is not a report: unexpected end",
		`{"cases":[]}`:            `it has no field "report"`,
		`{"report":2}`:            "version 2 of the format; this podorder reads version 1",
		`{"report":1,"runs":[1]}`: "not a report of version 1",
		`{"report":1,"runs":[{"verdict":{"verdict":"odd"}}]}`: `there is no verdict "odd"`,
	} {
		assert.NilError(t, os.WriteFile(filepath.Join(dir, File), []byte(text), 0o644))
		_, err := Read(dir)
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, filepath.Join(dir, File))
	}
}

func TestLoad(t *testing.T) {
	r, folder := example(t)
	rec, err := r.Runs[0].Load(folder)
	assert.NilError(t, err)
	assert.Equal(t, rec.Verdict.Line, 22)
	assert.Equal(t, rec.Trace.Header.Kubelet, "v1.37.2")
	assert.Equal(t, len(rec.Pod.Spec.Containers), 2)
	again := reference.Check(kubelet(t, "v1.37.2"), rec.Pod, rec.Trace)
	assert.Equal(t, again.Rule, "hooks/poststart-blocks-next")
	_, err = r.Runs[1].Load(folder)
	assert.ErrorIs(t, err, ErrNoTrace)
	nowhere := Run{Trace: "nowhere/trace.jsonl"}
	_, err = nowhere.Load(folder)
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func kubelet(t *testing.T, version string) reference.Kubelet {
	t.Helper()
	k, err := reference.ParseKubelet(version)
	assert.NilError(t, err)
	return k
}
