package page

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/report"
	"github.com/podorder/podorder/report/observed"
	"github.com/podorder/podorder/suites/claims"
)

// folder is where the traces of the examples are.
var folder = filepath.Join("..", "..", "reference", "testdata")

// versions are the kubelets of the stored traces of the article.
var versions = []string{"v1.28.5", "v1.29.6", "v1.30.14", "v1.31.14", "v1.32.13", "v1.33.13", "v1.34.4", "v1.35.4", "v1.36.3", "v1.37.2", "v1.38.0-beta.0"}

// recorded is a run with its trace judged as the suite does it.
func recorded(t testing.TB, id, kubelet, trace string) report.Run {
	t.Helper()
	group, _, _ := strings.Cut(id, "/")
	run := report.Run{
		Case: id, Group: group, Title: "The next container is not started before the postStart hook of the one before it has ended.",
		Rules: []string{"hooks/poststart-blocks-next"}, Kubelet: kubelet, Seconds: 12.5, Trace: trace,
		Rerun: "go test ./suites -count=1 -run 'TestHooks/^" + id + "$'",
	}
	rec, err := run.Load(folder)
	assert.NilError(t, err)
	k, err := reference.ParseKubelet(report.VersionOf(kubelet))
	assert.NilError(t, err)
	run.Set(reference.Check(k, rec.Pod, rec.Trace))
	return run
}

// example is a report with something of everything: eleven kubelets, a violation, a known fault, a
// repeated case, one that was skipped, one whose trace is gone, differences and claims.
func example(t testing.TB) *report.Report {
	t.Helper()
	madeOnce.Do(func() { made = makeExample(t) })
	assert.Assert(t, made != nil, "the example could not be made")
	return made
}

var (
	madeOnce    sync.Once
	made        *report.Report
	exampleHTML string
)

// examplePage is its page.
func examplePage(t testing.TB) string {
	t.Helper()
	if r := example(t); exampleHTML == "" {
		exampleHTML = html(t, r)
	}
	return exampleHTML
}

func makeExample(t testing.TB) *report.Report {
	t.Helper()
	r := &report.Report{
		Version: report.Version, Made: time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC), Command: "go test ./suites -kubelets='v1.28.5 v1.37.2' </script><b>",
		Failed: "2 of 16 cases failed", Seconds: 211,
		Clusters: []report.Cluster{{Kubernetes: "v1.37.2", Runtime: "containerd://2.3.5", Nodes: 11, Made: true, Kubelets: versions, Seconds: 51.5}},
	}
	for _, v := range versions {
		r.Kubelets = append(r.Kubelets, report.Kubelet{Name: v, Version: v})
		for _, s := range []string{"S1", "S2"} {
			r.Runs = append(r.Runs, recorded(t, "article/"+strings.ToLower(s), v, "article/"+s+"/"+v+".trace.jsonl"))
		}
	}
	for _, name := range []string{"poststart-blocks", "poststart-blocks-reversed"} {
		r.Runs = append(r.Runs, recorded(t, "hooks/"+name, "v1.37.2", "background-hook/"+name+"/trace.jsonl"))
	}
	r.Runs = append(r.Runs,
		recorded(t, "restart/last-state", "v1.37.2", "regressions/last-state/trace.jsonl"),
		recorded(t, "status/before-workers", "v1.37.2", "deviations/started-before-workers/trace.jsonl"),
		report.Run{Case: "node/restart", Group: "node", Title: "A kubelet that is restarted starts nothing anew.", Kubelet: "v1.37.2", Outcome: report.Skipped, Reason: "no access to the node"},
	)
	for n := 1; n <= 7; n++ {
		run := recorded(t, "probes/during-termination", "v1.36.3", "regressions/deadline/trace.jsonl")
		run.Repeat = n
		r.Runs = append(r.Runs, run)
	}
	gone := recorded(t, "probes/gone", "v1.36.3", "regressions/deadline/trace.jsonl")
	gone.Trace = "nowhere/trace.jsonl"
	r.Runs = append(r.Runs, gone)
	r.Sort()
	r.Differences = []observed.Difference{
		{Case: "article/s1", Older: "v1.36.3", Newer: "v1.37.2", Kind: observed.Order, What: "Ready and the first readiness probe", OnOlder: "probe first in 1 of 1", OnNewer: "Ready first in 1 of 1", State: observed.Expected, Because: &observed.Cause{Rule: "probes/on-start", Issue: "kubernetes/kubernetes#137710", Says: "A probe may come sooner.", Source: "pkg/kubelet/prober/worker.go"}},
		{Older: "v1.36.3", Newer: "v1.37.2", Kind: observed.Measured, What: "hook end to Ready", OnOlder: "0.4 s", OnNewer: "1.9 s", State: observed.Unexpected},
	}
	r.Claims = []claims.Column{{Kubelet: "v1.37.2", Results: []claims.Result{
		{Claim: "a", Says: "Containers start in listed order.", Finding: claims.Held, Why: "seen in 24 traces", Evidence: []claims.Evidence{{Trace: "background-hook/poststart-blocks/trace.jsonl", Line: 21, Text: "event Pulled"}}},
		{Claim: "b", Says: "A hook ends before the process begins.", Finding: claims.NotHeld, Why: "seen otherwise"},
	}}}
	return r
}

func html(t testing.TB, r *report.Report) string {
	t.Helper()
	b, err := HTML(r, folder, "artifacts")
	assert.NilError(t, err)
	return string(b)
}

// inflate reads what deflate writes.
func inflate(t testing.TB, s string) (p struct {
	Runs []struct {
		Kubelet, Outcome, Picture, Note, Text string
		Repeat                                int
		Lines                                 [][]any
		Facts                                 []string
	}
}) {
	t.Helper()
	packed, err := base64.StdEncoding.DecodeString(s)
	assert.NilError(t, err)
	b, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	assert.NilError(t, err)
	assert.NilError(t, json.Unmarshal(b, &p))
	return p
}

var pieceOf = regexp.MustCompile(`<script type="application/octet-stream" id="data-(\d+)">([^<]*)</script>`)

// Each case has its piece, each run in it its picture, lines and explanation.
func TestPieces(t *testing.T) {
	text := examplePage(t)
	all := pieceOf.FindAllStringSubmatch(text, -1)
	assert.Assert(t, is.Len(all, 9))
	drawn, runs := 0, 0
	for _, m := range all {
		for _, run := range inflate(t, m[2]).Runs {
			runs++
			if run.Picture == "" {
				assert.Check(t, run.Note != "", run.Kubelet)
				continue
			}
			drawn++
			assert.Check(t, len(run.Lines) > 5)
			for _, l := range run.Lines {
				assert.Check(t, is.Contains(run.Picture, fmt.Sprintf(`id="line-%v"`, l[0])))
			}
			assert.Check(t, is.Contains(run.Text, "go run ./scripts/judge -trace artifacts/"))
		}
	}
	assert.Check(t, is.Equal(runs, 22+2+3+mostRuns+1))
	assert.Check(t, is.Equal(drawn, runs-2), "all but the skipped one and the one whose trace is gone")
	violation := inflate(t, all[2][2]).Runs[0]
	assert.Equal(t, violation.Outcome, report.Violation)
	assert.Check(t, is.Contains(violation.Text, "seen     line 21"))
	assert.Check(t, is.Contains(fmt.Sprint(violation.Lines), "not allowed here"))
}

// The tables can be read without a program, and what others wrote cannot become one.
func TestTables(t *testing.T) {
	text := examplePage(t)
	for _, want := range []string{
		`<a href="#case=hooks/poststart-blocks&amp;kubelet=v1.37.2" aria-label="hooks/poststart-blocks on v1.37.2: violation, hooks/poststart-blocks-next, line 22"`,
		"kubernetes/kubernetes#137710", "What is said in public", "did not hold", "no access to the node",
		`<a href="#case=article/s1&amp;kubelet=v1.36.3&amp;with=v1.37.2">article/s1</a>`,
		`<a href="#case=hooks/poststart-blocks&amp;kubelet=v1.37.2&amp;line=21">`,
		"2 of 16 cases failed",
	} {
		assert.Check(t, is.Contains(text, want))
	}
	assert.Check(t, !strings.Contains(text, "</script><b>"))
	assert.Check(t, is.Contains(text, "&lt;/script&gt;&lt;b&gt;"))
}

// The page names nothing outside of it.
func TestSelfContained(t *testing.T) {
	text := examplePage(t)
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		assert.Check(t, strings.HasPrefix(m[1], "#") || m[1] == "data:,", m[1])
	}
	assert.Check(t, is.Contains(text, "default-src &#39;none&#39;"))
	assert.Check(t, !strings.Contains(style, "url(") && !strings.Contains(style, "@import"))
}

// A report of nothing is a page as well.
func TestEmpty(t *testing.T) {
	text := html(t, &report.Report{Version: report.Version})
	assert.Check(t, is.Contains(text, "The report has no claims."))
}

// Of a case that was repeated often, the page has some runs and says so.
func TestManyRuns(t *testing.T) {
	for _, m := range pieceOf.FindAllStringSubmatch(examplePage(t), -1) {
		p := inflate(t, m[2])
		if len(p.Runs) == mostRuns && p.Runs[0].Repeat > 0 {
			assert.Check(t, is.Contains(strings.Join(p.Runs[0].Facts, "\n"), "leaves out 2 more runs"))
			return
		}
	}
	t.Error("no case was repeated")
}
