package run

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/rules"
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

// A known verdict names every fault behind it: by its number, or by its name where it has none.
func TestIssues(t *testing.T) {
	v := reference.Verdict{Outcome: reference.Known, Issue: "kubernetes/kubernetes#1", Deviations: []reference.Deviation{
		{Name: "a", Issue: "kubernetes/kubernetes#1", Lines: []int{3}}, {Name: "b", Issue: rules.NoIssue, Lines: []int{4, 5}},
	}}
	assert.Equal(t, issues(v), "kubernetes/kubernetes#1, b")
	v.Outcome = reference.Violation
	v.Issue = ""
	assert.Equal(t, issues(v), "")
	assert.Assert(t, strings.Contains(v.Text(), "issue    a (kubernetes/kubernetes#1), line 3\n           b (none reported), lines 4, 5\n"), v.Text())
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
	skipped := Result{Case: "g/skipped", Kubelet: "v1.37.2", Skipped: "for >=1.38"}
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
		{"only skipped cases on one kubelet", []Result{pass, {Case: "g/a", Kubelet: "v1.28.5", Skipped: "for >=1.38"}}, false, "no case was judged on kubelet v1.28.5"},
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

// on returns a result on a kubelet.
func on(kubelet, id string, o reference.Outcome) Result {
	r := result(id, o)
	r.Kubelet = kubelet
	return r
}

// three has results on three kubelets.
func three() []Result {
	known := on("v1.36.3", "g/b", reference.Known)
	known.Verdict.Rule, known.Verdict.Issue, known.Verdict.Line = "status/phase", "kubernetes/kubernetes#1", 7
	again := known
	again.Verdict.Line = 9
	again.Runs = []Result{again, result("g/b", reference.Pass)}
	again.Kubelet = "v1.9.0"
	return []Result{
		on("v1.37.2", "g/a", reference.Pass), on("v1.9.0", "g/a", reference.Pass), on("v1.36.3", "g/a", reference.Pass),
		on("v1.37.2", "g/b", reference.Pass), known, again,
		on("v1.37.2", "g/c", reference.Pass), {Case: "g/c", Kubelet: "v1.9.0", Skipped: "for kubelet >=1.36"},
		{Case: "g/d", Kubelet: "v1.9.0", Skipped: "for kubelet >=1.36"}, on("v1.37.2", "g/d", reference.Pass),
	}
}

func TestTableOfSeveralKubelets(t *testing.T) {
	r := Report{Results: three(), Wall: 3 * time.Second}
	want := `case  v1.9.0     v1.36.3  v1.37.2
g/b   known 1/2  known    pass
g/a   pass       pass     pass
g/c   skipped             pass
g/d   skipped             pass

known g/b on v1.9.0, v1.36.3: status/phase (kubernetes/kubernetes#1)
skipped on v1.9.0: for kubelet >=1.36

what differs between the kubelets
  g/b: known status/phase (kubernetes/kubernetes#1) on v1.9.0, v1.36.3; pass on v1.37.2

v1.9.0: 1 known, 1 pass, 2 skipped
v1.36.3: 1 known, 1 pass
v1.37.2: 4 pass
all cases in 3.0s, the longest (g/b) in 2.0s: ratio 1.50
`
	assert.Equal(t, r.Table(), want)
	md := r.Markdown()
	assert.Check(t, is.Contains(md, "| case | v1.9.0 | v1.36.3 | v1.37.2 |\n|---|---|---|---|\n| g/b | known 1/2 | known | pass |\n"))
	assert.Check(t, is.Contains(md, "- differs: g/b: known"))
	assert.Check(t, is.Contains(md, "### g/b on v1.36.3"))

	r.Results = []Result{on("v1.37.2", "g/a", reference.Pass), on("v1.9.0", "g/a", reference.Pass)}
	assert.Check(t, is.Contains(r.Table(), "nothing differs"))
}

func TestMerge(t *testing.T) {
	runs := func(os ...reference.Outcome) (out []Result) {
		for i, o := range os {
			r := result("g/a", o)
			r.Took = time.Duration(i+1) * time.Second
			out = append(out, r)
		}
		return out
	}
	const pass, known, fixed, violation, inconclusive = reference.Pass, reference.Known, reference.Fixed, reference.Violation, reference.Inconclusive
	tests := []struct {
		name string
		runs []Result
		mark string
	}{
		{"once", runs(pass), "pass"},
		{"always", runs(pass, pass), "pass 2/2"},
		{"the worst", runs(pass, violation, inconclusive, pass), "violation 1/4"},
		{"an issue that shows now and then", runs(pass, known, pass, known), "known 2/4"},
		{"an issue that was due each time", runs(fixed, known, known), "known 2/3"},
		{"an issue that did not show at all", runs(fixed, fixed), "fixed 2/2"},
		{"worse than an issue", runs(fixed, known, inconclusive), "inconclusive 1/3"},
		{"no outcome", runs(pass, 0), "no verdict 1/2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := merge(tt.runs)
			assert.Equal(t, got.mark(), tt.mark)
			assert.Equal(t, got.Took, tt.runs[len(tt.runs)-1].Took, "the longest")
		})
	}
	skips := []Result{{Skipped: "no"}, {Skipped: "no"}}
	assert.Equal(t, merge(skips).mark(), "skipped 2/2")
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

	r = Report{Results: []Result{merge([]Result{result("g/a", reference.Known), result("g/a", reference.Pass)})}}
	b, err = r.JSON()
	assert.NilError(t, err)
	for _, want := range []string{`"same": 1`, `"of": 2`, `"runs": [`, `"kubelets": [`} {
		assert.Check(t, is.Contains(string(b), want))
	}

	b, err = (&Report{}).JSON()
	assert.NilError(t, err)
	assert.Check(t, is.Contains(string(b), `"cases": []`))
}
