package report

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/reference"
)

// large is a report of so many runs on some kubelets, of which every third is a violation.
func large(runs, kubelets, repeat int) *Report {
	r := &Report{Version: Version}
	because := make([]reference.Because, 20)
	for i := range because {
		because[i] = reference.Because{Line: i + 1, Log: "container1 / main: tick ``` " + strings.Repeat("é", 40)}
	}
	for k := range kubelets {
		r.Kubelets = append(r.Kubelets, Kubelet{Name: fmt.Sprintf("v1.%d.0", k+20), Version: fmt.Sprintf("v1.%d.0", k+20)})
	}
	for i := range runs {
		cell := i / repeat
		v := reference.Verdict{Outcome: reference.Pass}
		if i%3 == 0 {
			v = reference.Verdict{Outcome: reference.Violation, Rule: "hooks/poststart-blocks-next", Line: i, Because: because, Reason: "a | b"}
		}
		run := judgedAs(fmt.Sprintf("group/case-%06d", cell/kubelets), r.Kubelets[cell%kubelets].Name, v)
		if repeat > 1 {
			run.Repeat = i%repeat + 1
		}
		run.Trace = run.Kubelet + "/" + run.Case + "/trace.jsonl"
		r.Runs = append(r.Runs, run)
	}
	r.Sort()
	return r
}

// TestSummaryLimit: GitHub shows no summary at all that is larger than its limit, so what there
// is no room for is left out and counted. What stands there is worst first.
func TestSummaryLimit(t *testing.T) {
	for _, tt := range []struct{ runs, kubelets, repeat int }{{1, 1, 1}, {1400, 9, 1}, {1400, 1, 20}, {100_000, 9, 1}} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			r := large(tt.runs, tt.kubelets, tt.repeat)
			for _, limit := range []int{SummaryLimit, SummaryLimit / 10} {
				text := r.Markdown("artifacts", limit)
				assert.Assert(t, len(text) <= limit, "%d bytes", len(text))
				assert.Assert(t, utf8.ValidString(text))
				assert.Assert(t, is.Contains(text, "\n### group/case-000000 on v1.20.0\n"), "the worst is explained")
				assert.Equal(t, strings.Count(text, "\n````\n")%2, 0, "every block is closed")
				if pass := strings.Index(text, "| pass |"); pass >= 0 && tt.kubelets == 1 {
					assert.Assert(t, strings.LastIndex(text, "| violation |") < pass)
				}
				if tt.runs > 10_000 && tt.repeat == 1 {
					assert.Assert(t, is.Contains(text, " more cases are in report.json.\n"))
					assert.Assert(t, is.Contains(text, " more verdicts that are no pass are in report.json.\n"))
					assert.Assert(t, len(text) > limit/2, "%d bytes", len(text))
				}
			}
		})
	}
}

func TestSummaryLimitOfOneVerdict(t *testing.T) {
	run := judgedAs("g/long", "v1.37.2", reference.Verdict{Outcome: reference.Broken, Reason: strings.Repeat("é", 2*SummaryLimit)})
	text := of(run).Markdown("artifacts", SummaryLimit)
	assert.Assert(t, len(text) < 64<<10, "%d bytes", len(text))
	assert.Assert(t, utf8.ValidString(text))
	assert.Assert(t, is.Contains(text, "\n  …\n```\n"))
}

// TestAnnotations: at most ten, of what failed alone, each in one line and on the file of its case.
func TestAnnotations(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(large(1400, 9, 1).Annotations("artifacts"), "\n"), "\n")
	assert.Equal(t, len(lines), 10)
	assert.Assert(t, strings.HasPrefix(lines[0], "::error file=fixtures/group/case-000000/case.yaml,title=group/case-000000 on v1.20.0%3A violation::violation: hooks/poststart-blocks-next (MUST, implementation)%0A  The next"), lines[0])
	assert.Assert(t, is.Contains(lines[0], "%0A  trace    artifacts/v1.20.0/group/case-000000/trace.jsonl%0A"))
	known := of(every()...)
	assert.Equal(t, strings.Count(known.Annotations("artifacts"), "\n"), 5)
	assert.Check(t, !strings.Contains(known.Annotations("artifacts"), "g/known"))
	known.Strict = true
	assert.Check(t, is.Contains(known.Annotations("artifacts"), "g/known"))
	own := judgedAs("web", "v1.37.2", reference.Verdict{Outcome: reference.Broken, Reason: "50%, gone"})
	own.Fixtures = "pods"
	assert.Check(t, is.Contains(of(own).Annotations("artifacts"), "::error file=pods/web/case.yaml,title=web on v1.37.2%3A broken::broken%0A  reason   50%25, gone%0A"))
	assert.Equal(t, of(judgedAs("g/a", "v1.37.2", reference.Verdict{Outcome: reference.Pass})).Annotations("artifacts"), "")
}
