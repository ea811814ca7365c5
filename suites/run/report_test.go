package run

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/reference"
)

func result(id string, o reference.Outcome) Result {
	return Result{Case: id, Kubelet: "v1.37.2", Verdict: reference.Verdict{Outcome: o}, Took: 2 * time.Second}
}

// every has one result of each kind, the best first.
func every() []Result {
	skipped := Result{Case: "g/skipped", Kubelet: "v1.37.2", Skipped: "for >=1.38"}
	known := result("g/known", reference.Known)
	known.Verdict.Rule, known.Verdict.Issue = "status/phase", "kubernetes/kubernetes#1"
	violation := result("g/violation", reference.Violation)
	violation.Verdict.Rule, violation.Verdict.Line = "hooks/poststart-blocks-next", 14
	violation.Took = 10 * time.Second
	unmodelled := result("g/unmodelled", reference.Unmodelled)
	unmodelled.Verdict.Unmodelled = []string{"spec.a", "spec.b"}
	broken := result("g/broken", reference.Broken)
	broken.Verdict.Reason = "the node | is gone\nand more"
	return []Result{
		skipped, result("g/pass", reference.Pass), known, result("g/fixed", reference.Fixed),
		result("g/inconclusive", reference.Inconclusive), unmodelled, broken, violation,
	}
}

func TestTable(t *testing.T) {
	r := Report{Results: every(), Wall: 12 * time.Second, Cluster: 11500 * time.Millisecond}
	want := `verdict       case            kubelet   time
violation     g/violation     v1.37.2  10.0s  hooks/poststart-blocks-next, line 14
broken        g/broken        v1.37.2   2.0s  the node | is gone
unmodelled    g/unmodelled    v1.37.2   2.0s  spec.a, spec.b
inconclusive  g/inconclusive  v1.37.2   2.0s
fixed         g/fixed         v1.37.2   2.0s
known         g/known         v1.37.2   2.0s  status/phase (kubernetes/kubernetes#1)
pass          g/pass          v1.37.2   2.0s
skipped       g/skipped       v1.37.2         for >=1.38

1 violation, 1 broken, 1 unmodelled, 1 inconclusive, 1 fixed, 1 known, 1 pass, 1 skipped
cluster ready after 11.5s; all cases in 12.0s, the longest (g/violation) in 10.0s: ratio 1.20
`
	assert.Equal(t, r.Table(), want)
}

// TestErr: what fails a run, and what does not.
func TestErr(t *testing.T) {
	skipped := Result{Case: "g/skipped", Skipped: "for >=1.38"}
	pass := result("g/pass", reference.Pass)
	tests := []struct {
		name    string
		results []Result
		strict  bool
		want    string // empty where the run does not fail
	}{
		{"a pass", []Result{pass}, false, ""},
		{"a pass and a skipped case", []Result{pass, skipped}, false, ""},
		{"a known issue", []Result{pass, result("g/known", reference.Known)}, false, ""},
		{"a known issue, strict", []Result{pass, result("g/known", reference.Known)}, true, "1 of 2"},
		{"a violation", []Result{pass, result("g/v", reference.Violation)}, false, "1 of 2"},
		{"a fixed issue", []Result{pass, result("g/f", reference.Fixed)}, false, "1 of 2"},
		{"inconclusive", []Result{result("g/i", reference.Inconclusive)}, false, "1 of 1"},
		{"unmodelled", []Result{result("g/u", reference.Unmodelled)}, false, "1 of 1"},
		{"broken", []Result{result("g/b", reference.Broken)}, false, "1 of 1"},
		{"no outcome", []Result{pass, result("g/none", 0)}, false, "1 of 2"},
		{"nothing", nil, false, "no case was judged"},
		{"only skipped cases", []Result{skipped}, false, "no case was judged"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Report{Results: tt.results, Strict: tt.strict}
			err := r.Err()
			if tt.want == "" {
				assert.NilError(t, err)
				return
			}
			assert.ErrorContains(t, err, tt.want)
			assert.Check(t, is.Contains(r.Markdown(), "failed: "))
		})
	}
}

// TestNoOutcomeIsWorst: a result without an outcome is a fault of this program
// and must not hide below the passes.
func TestNoOutcomeIsWorst(t *testing.T) {
	r := Report{Results: append(every(), result("g/none", 0))}
	r.sort()
	assert.Equal(t, r.Results[0].Case, "g/none")
	assert.Equal(t, r.Results[len(r.Results)-1].Case, "g/skipped")
}

func TestMarkdown(t *testing.T) {
	r := Report{Results: every(), Kubernetes: "v1.37.2", Runtime: "containerd://2.3.5"}
	got := r.Markdown()
	lines := strings.Split(got, "\n")
	assert.Equal(t, lines[0], "## podorder, Kubernetes v1.37.2, containerd://2.3.5")
	rows := 0
	for _, l := range lines {
		if strings.HasPrefix(l, "| ") {
			rows++
			// A bar in a reason must not make another cell.
			assert.Equal(t, strings.Count(strings.ReplaceAll(l, `\|`, ""), "|"), 6, l)
		}
	}
	assert.Equal(t, rows, len(r.Results)+1)
	assert.Check(t, strings.Index(got, "### g/violation") < strings.Index(got, "### g/known"))
	assert.Check(t, !strings.Contains(got, "### g/pass"))
}

func TestJSON(t *testing.T) {
	r := Report{Results: every()}
	b, err := r.JSON()
	assert.NilError(t, err)
	var got struct {
		Failed string
		Cases  []struct {
			Case, Kubelet, Skipped string
			Seconds                float64
			Verdict                *struct {
				Verdict, Rule string
				Line          int
			}
		}
	}
	assert.NilError(t, json.Unmarshal(b, &got))
	assert.Equal(t, len(got.Cases), len(r.Results))
	assert.Equal(t, got.Cases[0].Case, "g/violation")
	assert.Equal(t, got.Cases[0].Verdict.Verdict, "violation")
	assert.Equal(t, got.Cases[0].Verdict.Line, 14)
	assert.Equal(t, got.Cases[0].Seconds, 10.0)
	last := got.Cases[len(got.Cases)-1]
	assert.Assert(t, last.Verdict == nil, "a skipped case has no verdict")
	assert.Equal(t, last.Skipped, "for >=1.38")
	assert.Check(t, got.Failed != "")

	b, err = (&Report{}).JSON()
	assert.NilError(t, err)
	assert.Check(t, is.Contains(string(b), `"cases": []`))
}
