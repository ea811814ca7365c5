package forms_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/report"
	"github.com/podorder/podorder/report/forms"
	"github.com/podorder/podorder/report/saved"
)

// recorded is the report of the recordings of one experiment on eleven kubelets, with the
// folder that it is in.
func recorded(t testing.TB) (*report.Report, string) {
	t.Helper()
	dir := t.TempDir()
	stored := filepath.Join("..", "..", "reference", "testdata", "article", "S1")
	traces, err := filepath.Glob(filepath.Join(stored, "*.trace.jsonl"))
	assert.NilError(t, err)
	for _, path := range traces {
		to := filepath.Join(dir, strings.TrimSuffix(filepath.Base(path), ".trace.jsonl"), "article", "startup-sequence")
		assert.NilError(t, os.MkdirAll(to, 0o755))
		for name, source := range map[string]string{"trace.jsonl": path, "pod.yaml": filepath.Join(stored, "pod.yaml")} {
			b, err := os.ReadFile(source)
			assert.NilError(t, err)
			b = []byte(strings.Replace(string(b), `"case":"S1"`, `"case":"article/startup-sequence"`, 1))
			assert.NilError(t, os.WriteFile(filepath.Join(to, name), b, 0o644))
		}
	}
	r, err := saved.Read(dir)
	assert.NilError(t, err)
	cases, err := fixtures.All()
	assert.NilError(t, err)
	_, err = saved.Judge(r, dir, cases)
	assert.NilError(t, err)
	return r, dir
}

// TestWrite: every form is written, and none but those that Files names, so that none of an
// earlier run is left.
func TestWrite(t *testing.T) {
	r, dir := recorded(t)
	out := t.TempDir()
	assert.NilError(t, saved.Rebase(r, dir, out))
	assert.NilError(t, forms.Write(r, out, "artifacts"))
	left, err := os.ReadDir(out)
	assert.NilError(t, err)
	var names []string
	for _, f := range left {
		names = append(names, f.Name())
		st, err := f.Info()
		assert.NilError(t, err)
		assert.Check(t, st.Size() > 0, f.Name())
	}
	assert.Equal(t, len(names), len(forms.Files()), "%v", names)
	for _, name := range forms.Files() {
		assert.Check(t, is.Contains(names, name))
	}
	again, err := report.Read(out)
	assert.NilError(t, err)
	assert.DeepEqual(t, again, r)
	_, err = os.Stat(filepath.Join(out, forms.Page(out)))
	assert.NilError(t, err)
}

// failing is a report of one run that is broken.
func failing() *report.Report {
	run := report.Run{Case: "hooks/a", Group: "hooks", Kubelet: "v1.37.2"}
	run.Set(reference.Verdict{Outcome: reference.Broken, Reason: strings.Repeat("é", 8<<10)})
	return &report.Report{Version: report.Version, Runs: []report.Run{run}, Failed: "1 of 1 cases failed"}
}

// TestOnGitHub: annotations are for Actions alone, and the summary of a step stays below the limit
// whatever it has already.
func TestOnGitHub(t *testing.T) {
	step := filepath.Join(t.TempDir(), "summary")
	for _, tt := range []struct {
		actions, step string
		annotated     bool
	}{{"true", step, true}, {"", step, false}, {"true", "", true}, {"", "", false}} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			t.Setenv("GITHUB_ACTIONS", tt.actions)
			t.Setenv("GITHUB_STEP_SUMMARY", tt.step)
			for _, size := range []int{0, 100, report.SummaryLimit - 3000, report.SummaryLimit - 90, report.SummaryLimit - 5, report.SummaryLimit - 1, report.SummaryLimit} {
				assert.NilError(t, os.WriteFile(step, []byte(strings.Repeat("x", size)), 0o644))
				var printed strings.Builder
				assert.NilError(t, forms.OnGitHub(failing(), "artifacts", &printed))
				assert.Equal(t, strings.HasPrefix(printed.String(), "::error file=fixtures/hooks/a/case.yaml,"), tt.annotated, printed.String())
				b, err := os.ReadFile(step)
				assert.NilError(t, err)
				assert.Assert(t, len(b) <= report.SummaryLimit, "%d bytes", len(b))
				assert.Equal(t, strings.Contains(string(b), "failed: 1 of 1"), tt.step != "" && size <= report.SummaryLimit-90)
			}
		})
	}
	t.Setenv("GITHUB_STEP_SUMMARY", filepath.Join(step, "none"))
	assert.ErrorContains(t, forms.StepSummary(failing(), "artifacts"), "adding to the step summary")
}

// BenchmarkWrite writes a report of 1,408 runs: 128 cases on eleven kubelets.
func BenchmarkWrite(b *testing.B) {
	r, dir := recorded(b)
	var runs []report.Run
	for i := range 128 {
		for _, run := range r.Runs {
			run.Case = fmt.Sprintf("article/startup-sequence-%d", i)
			runs = append(runs, run)
		}
	}
	r.Runs = runs
	for b.Loop() {
		assert.NilError(b, forms.Write(r, dir, "artifacts"))
	}
}
