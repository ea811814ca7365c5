package report

import (
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/rules"
)

func result(id string, o reference.Outcome) Run {
	return judgedAs(id, "v1.37.2", reference.Verdict{Outcome: o})
}

func judgedAs(id, kubelet string, v reference.Verdict) Run {
	group, _, _ := strings.Cut(id, "/")
	r := Run{Case: id, Group: group, Title: "A title.", Kubelet: kubelet, Seconds: 2}
	r.Set(v)
	return r
}

func skippedRun(id, kubelet, why string) Run {
	r := Run{Case: id, Group: "g", Kubelet: kubelet}
	r.Skip(why)
	return r
}

// of is a report with some runs, as the suite makes it.
func of(runs ...Run) *Report {
	r := &Report{Version: Version, Runs: runs}
	r.Sort()
	if err := r.Err(); err != nil {
		r.Failed = err.Error()
	}
	return r
}

// every has one run of each kind, the best first.
func every() []Run {
	violation := judgedAs("g/violation", "v1.37.2", reference.Verdict{Outcome: reference.Violation, Rule: "hooks/poststart-blocks-next", Line: 14})
	violation.Seconds = 10
	return []Run{
		skippedRun("g/skipped", "v1.37.2", "for >=1.38"), result("g/pass", reference.Pass),
		judgedAs("g/known", "v1.37.2", reference.Verdict{Outcome: reference.Known, Rule: "status/phase", Issue: "kubernetes/kubernetes#1"}),
		result("g/fixed", reference.Fixed), result("g/inconclusive", reference.Inconclusive),
		judgedAs("g/unmodelled", "v1.37.2", reference.Verdict{Outcome: reference.Unmodelled, Unmodelled: []string{"spec.a", "spec.b"}}),
		judgedAs("g/broken", "v1.37.2", reference.Verdict{Outcome: reference.Broken, Reason: "the node | is gone\nand more"}), violation,
	}
}

// A known verdict names every fault behind it: by its number, or by its name where it has none.
func TestIssues(t *testing.T) {
	v := reference.Verdict{Outcome: reference.Known, Issue: "kubernetes/kubernetes#1", Deviations: []reference.Deviation{
		{Name: "a", Issue: "kubernetes/kubernetes#1", Lines: []int{3}}, {Name: "b", Issue: rules.NoIssue, Lines: []int{4, 5}},
	}}
	assert.Equal(t, issues(&v), "kubernetes/kubernetes#1, b")
	v.Outcome = reference.Violation
	v.Issue = ""
	assert.Equal(t, issues(&v), "")
	assert.Assert(t, strings.Contains(v.Text(), "issue    a (kubernetes/kubernetes#1), line 3\n           b (none reported), lines 4, 5\n"), v.Text())
}

func TestTable(t *testing.T) {
	r := of(every()...)
	r.Seconds, r.Clusters = 12, []Cluster{{Seconds: 10}, {Seconds: 1.5}}
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
	skipped := skippedRun("g/skipped", "v1.37.2", "for >=1.38")
	pass := result("g/pass", reference.Pass)
	tests := []struct {
		name   string
		runs   []Run
		strict bool
		want   string // empty where the run does not fail
	}{
		{"a pass", []Run{pass}, false, ""},
		{"a pass and a skipped case", []Run{pass, skipped}, false, ""},
		{"a known issue", []Run{pass, result("g/known", reference.Known)}, false, ""},
		{"a known issue, strict", []Run{pass, result("g/known", reference.Known)}, true, "1 of 2"},
		{"a violation", []Run{pass, result("g/v", reference.Violation)}, false, "1 of 2"},
		{"a fixed issue", []Run{pass, result("g/f", reference.Fixed)}, false, "1 of 2"},
		{"inconclusive", []Run{result("g/i", reference.Inconclusive)}, false, "1 of 1"},
		{"unmodelled", []Run{result("g/u", reference.Unmodelled)}, false, "1 of 1"},
		{"broken", []Run{result("g/b", reference.Broken)}, false, "1 of 1"},
		{"no outcome", []Run{pass, result("g/none", 0)}, false, "1 of 2"},
		{"nothing", nil, false, "no case was judged"},
		{"only skipped cases on one kubelet", []Run{pass, skippedRun("g/a", "v1.28.5", "for >=1.38")}, false, "no case was judged on kubelet v1.28.5"},
		{"only skipped cases", []Run{skipped}, false, "no case was judged"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &Report{Runs: tt.runs, Strict: tt.strict}
			err := r.Err()
			if tt.want == "" {
				assert.NilError(t, err)
				return
			}
			assert.ErrorContains(t, err, tt.want)
			r.Failed = err.Error()
			assert.Check(t, is.Contains(r.Markdown("artifacts", SummaryLimit), "failed: "))
		})
	}
}

// A cluster that could not run cases fails the run, whatever came of those before it.
func TestErrOfACluster(t *testing.T) {
	r := of(result("g/pass", reference.Pass))
	r.Clusters = []Cluster{{}, {Failed: "no room"}}
	assert.ErrorContains(t, r.Err(), "no room")
}

// TestNoOutcomeIsBroken: a run without an outcome is a fault of this program and must not
// hide below the passes.
func TestNoOutcomeIsBroken(t *testing.T) {
	assert.Equal(t, of(append(every(), result("a/none", 0))...).Runs[1].Reason, "the judge gave no verdict, which is a fault of podorder")
	r := of(append(every(), Run{Case: "g/none", Kubelet: "v1.37.2", Outcome: "odd"})...)
	assert.Equal(t, r.Runs[0].Case, "g/none")
	assert.Equal(t, r.Runs[len(r.Runs)-1].Case, "g/skipped")
}

func TestMarkdown(t *testing.T) {
	r := of(every()...)
	r.Clusters = []Cluster{{Kubernetes: "v1.37.2", Runtime: "containerd://2.3.5"}}
	got := r.Markdown("artifacts", SummaryLimit)
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
	assert.Equal(t, rows, len(r.Runs)+1)
	assert.Check(t, strings.Index(got, "### g/violation") < strings.Index(got, "### g/known"))
	assert.Check(t, !strings.Contains(got, "### g/pass"))
}

// three has runs on three kubelets.
func three() []Run {
	known := reference.Verdict{Outcome: reference.Known, Rule: "status/phase", Issue: "kubernetes/kubernetes#1", Line: 7}
	again := known
	again.Line = 9
	of := func(kubelet, id string, v reference.Verdict) Run { return judgedAs(id, kubelet, v) }
	pass := reference.Verdict{Outcome: reference.Pass}
	first, second := of("v1.9.0", "g/b", again), of("v1.9.0", "g/b", pass)
	first.Repeat, second.Repeat = 1, 2
	return []Run{
		of("v1.37.2", "g/a", pass), of("v1.9.0", "g/a", pass), of("v1.36.3", "g/a", pass),
		of("v1.37.2", "g/b", pass), of("v1.36.3", "g/b", known), first, second,
		of("v1.37.2", "g/c", pass), skippedRun("g/c", "v1.9.0", "for kubelet >=1.36"),
		skippedRun("g/d", "v1.9.0", "for kubelet >=1.36"), of("v1.37.2", "g/d", pass),
	}
}

func TestTableOfSeveralKubelets(t *testing.T) {
	r := of(three()...)
	r.Seconds = 3
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
	md := r.Markdown("artifacts", SummaryLimit)
	assert.Check(t, is.Contains(md, "| case | v1.9.0 | v1.36.3 | v1.37.2 |\n|---|---|---|---|\n| g/b | known 1/2 | known | pass |\n"))
	assert.Check(t, is.Contains(md, "- differs: g/b: known"))
	assert.Check(t, is.Contains(md, "### g/b on v1.36.3"))

	pass := reference.Verdict{Outcome: reference.Pass}
	r = of(judgedAs("g/a", "v1.37.2", pass), judgedAs("g/a", "v1.9.0", pass))
	assert.Check(t, is.Contains(r.Table(), "nothing differs"))
}

func TestMerge(t *testing.T) {
	runs := func(os ...reference.Outcome) (out []*Run) {
		for i, o := range os {
			r := result("g/a", o)
			r.Seconds = float64(i + 1)
			out = append(out, &r)
		}
		return out
	}
	const pass, known, fixed, violation, inconclusive = reference.Pass, reference.Known, reference.Fixed, reference.Violation, reference.Inconclusive
	tests := []struct {
		name string
		runs []*Run
		mark string
	}{
		{"once", runs(pass), "pass"},
		{"always", runs(pass, pass), "pass 2/2"},
		{"the worst", runs(pass, violation, inconclusive, pass), "violation 1/4"},
		{"an issue that shows now and then", runs(pass, known, pass, known), "known 2/4"},
		{"an issue that was due each time", runs(fixed, known, known), "known 2/3"},
		{"an issue that did not show at all", runs(fixed, fixed), "fixed 2/2"},
		{"worse than an issue", runs(fixed, known, inconclusive), "inconclusive 1/3"},
		{"no outcome", runs(pass, 0), "broken 1/2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Merge(tt.runs)
			assert.Equal(t, got.Mark(), tt.mark)
			assert.Equal(t, got.Seconds(), tt.runs[len(tt.runs)-1].Seconds, "the longest")
		})
	}
	skips := []*Run{{Outcome: Skipped}, {Outcome: Skipped}}
	assert.Equal(t, Merge(skips).Mark(), "skipped 2/2")
}

func TestVerdictsJSON(t *testing.T) {
	r := of(every()...)
	b, err := r.VerdictsJSON()
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
	assert.Equal(t, len(got.Cases), len(r.Runs))
	assert.Equal(t, got.Cases[0].Case, "g/violation")
	assert.Equal(t, got.Cases[0].Verdict.Verdict, "violation")
	assert.Equal(t, got.Cases[0].Verdict.Line, 14)
	assert.Equal(t, got.Cases[0].Seconds, 10.0)
	last := got.Cases[len(got.Cases)-1]
	assert.Assert(t, last.Verdict == nil, "a skipped case has no verdict")
	assert.Equal(t, last.Skipped, "for >=1.38")
	assert.Check(t, got.Failed != "")

	r = of(result("g/a", reference.Known), result("g/a", reference.Pass))
	b, err = r.VerdictsJSON()
	assert.NilError(t, err)
	for _, want := range []string{`"same": 1`, `"of": 2`, `"runs": [`, `"kubelets": [`} {
		assert.Check(t, is.Contains(string(b), want))
	}

	b, err = (&Report{}).VerdictsJSON()
	assert.NilError(t, err)
	assert.Check(t, is.Contains(string(b), `"cases": []`))
}
