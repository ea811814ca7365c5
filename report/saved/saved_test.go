package saved

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
	"github.com/podorder/podorder/report"
)

const (
	broken = "hooks/poststart-blocks"           // recorded on a kubelet that does not wait for the hook
	good   = "article/startup-sequence"         // recorded on eleven kubelets
	gone   = "hooks/poststart-blocks-long-gone" // there is no such case
)

func cases(t *testing.T) []fixtures.Case {
	t.Helper()
	all, err := fixtures.All()
	assert.NilError(t, err)
	return all
}

// artifacts makes the folder of a run from recordings that the repository has, without a report.
func artifacts(t *testing.T, kubelets ...string) string {
	t.Helper()
	dir := t.TempDir()
	stored := filepath.Join("..", "..", "reference", "testdata")
	keep(t, dir, "v1.37.2/"+broken, filepath.Join(stored, "background-hook", "poststart-blocks"), "trace.jsonl")
	for _, k := range kubelets {
		keep(t, dir, k+"/"+good, filepath.Join(stored, "article", "S1"), k+".trace.jsonl")
	}
	return dir
}

// keep copies a recording.
func keep(t *testing.T, dir, to, from, name string) {
	t.Helper()
	to = filepath.Join(dir, to)
	assert.NilError(t, os.MkdirAll(to, 0o755))
	for source, target := range map[string]string{name: "trace.jsonl", "pod.yaml": "pod.yaml"} {
		b, err := os.ReadFile(filepath.Join(from, source))
		assert.NilError(t, err)
		b = bytes.Replace(b, []byte(`"case":"S1"`), []byte(`"case":"`+good+`"`), 1)
		assert.NilError(t, os.WriteFile(filepath.Join(to, target), b, 0o644))
	}
}

// verdicts writes verdicts.json.
func verdicts(t *testing.T, dir, text string) {
	t.Helper()
	assert.Assert(t, json.Valid([]byte(text)), text)
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "verdicts.json"), []byte(text), 0o644))
}

func outcomes(r *report.Report) (out []string) {
	for _, run := range r.Runs {
		out = append(out, strings.TrimSpace(run.Kubelet+" "+run.Case+" "+run.Outcome))
	}
	return out
}

// A run that was killed has left traces alone.
func TestTracesAlone(t *testing.T) {
	dir := artifacts(t, "v1.28.5", "v1.37.2")
	// A first run of a case that ran again is not one more.
	keep(t, dir, "v1.37.2/"+broken+".first", filepath.Join(dir, "v1.37.2", broken), "trace.jsonl")
	r, err := Read(dir)
	assert.NilError(t, err)
	assert.Check(t, r.Interrupted != "")
	changes, err := Judge(r, dir, cases(t))
	assert.NilError(t, err)
	assert.Check(t, is.Len(changes, 0), "there was nothing to change")
	assert.DeepEqual(t, outcomes(r), []string{"v1.37.2 " + broken + " violation", "v1.28.5 " + good + " pass", "v1.37.2 " + good + " pass"})
	assert.Equal(t, r.Failed, "1 of 3 cases failed")
	assert.DeepEqual(t, r.Names(), []string{"v1.28.5", "v1.37.2"})
	assert.Equal(t, r.Clusters[0].Runtime, "containerd://2.3.5+unknown")
	run := r.Runs[0]
	assert.Equal(t, run.Verdict.Rule, "hooks/poststart-blocks-next")
	assert.Check(t, is.Contains(run.Explanation, "  case     "+broken+", kubelet v1.37.2: The next container"))
	assert.Check(t, !run.Started.IsZero())
	assert.Check(t, run.Observed != nil && len(run.Observed.Events) > 0)
	assert.Check(t, is.Len(r.Claims, 2))
	_, err = run.Load(dir)
	assert.NilError(t, err)
}

// A run from before there was report.json says in its verdicts what no trace shows.
func TestVerdictsFile(t *testing.T) {
	dir := artifacts(t, "v1.28.5", "v1.29.6")
	verdicts(t, dir, `{"kubernetes":"v1.37.2","runtime":"containerd://2","kubelets":["v1.28.5","v1.37.2"],"clusterSeconds":51.5,"wallSeconds":100,"cases":[
		{"case":"hooks/poststart-blocks","kubelet":"v1.37.2","seconds":13.5,"trace":"v1.37.2/hooks/poststart-blocks/trace.jsonl","verdict":{"verdict":"pass"}},
		{"case":"article/startup-sequence","kubelet":"v1.28.5","seconds":80,"same":1,"of":2,"runs":[
			{"seconds":80,"trace":"v1.28.5/article/startup-sequence/trace.jsonl","first":"too slow","verdict":{"verdict":"pass"}},
			{"seconds":70,"verdict":{"verdict":"broken","reason":"the run did not end well either: the node is gone"}}]},
		{"case":"node/kubelet-restart","kubelet":"v1.28.5","skipped":"no access to the node"},
		{"case":"article/startup-sequence","kubelet":"v1.29.6","seconds":9,"trace":"v1.29.6/article/startup-sequence/trace.jsonl",
			"verdict":{"verdict":"inconclusive","reason":"the run did not end well: step 1: waiting for line \"container2 / main\": no patience; seen last: nothing; everything recorded until then is allowed"}}]}`)
	r, err := Read(dir)
	assert.NilError(t, err)
	changes, err := Judge(r, dir, cases(t))
	assert.NilError(t, err)
	assert.Equal(t, len(changes), 1)
	assert.Equal(t, changes[0].String(), broken+" on v1.37.2: was pass, is violation: hooks/poststart-blocks-next, line 22")
	assert.DeepEqual(t, outcomes(r), []string{
		"v1.37.2 " + broken + " violation", "v1.28.5 " + good + " pass", "v1.28.5 " + good + " broken",
		"v1.29.6 " + good + " inconclusive", "v1.28.5 node/kubelet-restart skipped",
	})
	assert.Equal(t, r.Runs[0].Seconds, 13.5)
	assert.Equal(t, r.Runs[1].Repeat, 1)
	assert.Equal(t, r.Runs[1].First, "too slow")
	assert.Equal(t, r.Runs[4].Reason, "no access to the node")
	assert.Check(t, r.Judged != "")
	assert.Equal(t, r.Clusters[0].Seconds, 51.5)
	// What kept the run from its last step is known again, and so is what it waited for.
	late := r.Runs[3]
	assert.Equal(t, late.Ended.Why, `step 1: waiting for line "container2 / main": no patience; seen last: nothing`)
	assert.Check(t, is.Contains(late.Reason, "the run did not end well: step 1"))
}

// What is written of a report and judged again says the same.
func TestReportAgain(t *testing.T) {
	dir := artifacts(t, "v1.28.5")
	r, err := Read(dir)
	assert.NilError(t, err)
	_, err = Judge(r, dir, cases(t))
	assert.NilError(t, err)
	assert.NilError(t, r.Write(dir))
	again, err := Read(dir)
	assert.NilError(t, err)
	changes, err := Judge(again, dir, cases(t))
	assert.NilError(t, err)
	assert.Check(t, is.Len(changes, 0))
	again.Made = r.Made
	assert.DeepEqual(t, again, r)
}

// A case that there is no more is judged without its witnesses, by the Pod that was run.
func TestCaseThatIsNoMore(t *testing.T) {
	dir := artifacts(t)
	path := filepath.Join(dir, "v1.37.2", broken, "trace.jsonl")
	b, err := os.ReadFile(path)
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(path, []byte(strings.Replace(string(b), broken, gone, 1)), 0o644))
	r, err := Read(dir)
	assert.NilError(t, err)
	_, err = Judge(r, dir, cases(t))
	assert.NilError(t, err)
	assert.DeepEqual(t, outcomes(r), []string{"v1.37.2 " + gone + " violation"})
}

// A case that was ended because it was decided is inconclusive where the present model explains
// what decided it.
func TestDecidedThen(t *testing.T) {
	dir := artifacts(t, "v1.37.2")
	path := filepath.Join(dir, "v1.37.2", good, "trace.jsonl")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o644)
	assert.NilError(t, err)
	_, err = f.WriteString(`{"at":"2036-01-01T00:00:00Z","did":{"` + trace.ActLook + `":{}}}` + "\n")
	assert.NilError(t, err)
	assert.NilError(t, f.Close())
	verdicts(t, dir, `{"cases":[{"case":"article/startup-sequence","kubelet":"v1.37.2","trace":"v1.37.2/article/startup-sequence/trace.jsonl",
		"verdict":{"verdict":"violation","rule":"hooks/poststart-blocks-next","line":9}}]}`)
	r, err := Read(dir)
	assert.NilError(t, err)
	_, err = Judge(r, dir, cases(t))
	assert.NilError(t, err)
	assert.DeepEqual(t, outcomes(r), []string{"v1.37.2 " + good + " inconclusive"})
	assert.Check(t, is.Contains(r.Runs[0].Reason, "ended early for what the rest of the recording explains: hooks/poststart-blocks-next, line 9"))
}

// A trace that cannot be read is a verdict, and one that is not there is an error.
func TestSpoiled(t *testing.T) {
	dir := artifacts(t, "v1.37.2")
	verdicts(t, dir, `{"cases":[{"case":"article/startup-sequence","kubelet":"v1.37.2","trace":"v1.37.2/article/startup-sequence/trace.jsonl","verdict":{"verdict":"pass"}}]}`)
	path := filepath.Join(dir, "v1.37.2", good, "trace.jsonl")
	b, err := os.ReadFile(path)
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(path, slices.Concat(b, []byte("{torn\n")), 0o644))
	r, err := Read(dir)
	assert.NilError(t, err)
	_, err = Judge(r, dir, cases(t))
	assert.NilError(t, err)
	assert.DeepEqual(t, outcomes(r), []string{"v1.37.2 " + good + " broken"})

	assert.NilError(t, os.Remove(path))
	_, err = Judge(r, dir, cases(t))
	assert.ErrorContains(t, err, "copy the whole folder of the run")
}

func TestReadErrors(t *testing.T) {
	dir := t.TempDir()
	_, err := Read(dir)
	assert.ErrorContains(t, err, "has no report.json, no verdicts.json and no traces: name the folder that a run wrote")
	_, err = Read(filepath.Join(dir, "none"))
	assert.ErrorIs(t, err, os.ErrNotExist)
	verdicts(t, dir, `{"a":1}`)
	_, err = Read(dir)
	assert.ErrorContains(t, err, "verdicts.json: it is not the verdicts of a run")
	_, err = Read(filepath.Join(dir, "verdicts.json"))
	assert.ErrorContains(t, err, "is a file; name the folder")
	assert.NilError(t, os.WriteFile(filepath.Join(dir, report.File), []byte("{"), 0o644))
	_, err = Read(dir)
	assert.ErrorContains(t, err, "it is not a report")
}

// part is a run as it was read and judged.
func part(t *testing.T, name, out string, kubelets ...string) Part {
	t.Helper()
	dir := artifacts(t, kubelets...)
	r, err := Read(dir)
	assert.NilError(t, err)
	_, err = Judge(r, dir, cases(t))
	assert.NilError(t, err)
	assert.NilError(t, Rebase(r, dir, out))
	return Part{r, name}
}

// TestMerge: kubelets of one name in two parts stay apart, and every trace is found from the new folder.
func TestMerge(t *testing.T) {
	out := t.TempDir()
	r := Merge([]Part{part(t, "one", out, "v1.28.5"), part(t, "two", out, "v1.36.3")})
	assert.DeepEqual(t, r.Names(), []string{"v1.28.5", "v1.36.3", "v1.37.2@one", "v1.37.2@two"})
	assert.Equal(t, r.Failed, "2 of 4 cases failed")
	for _, run := range r.Runs {
		_, err := run.Load(out)
		assert.NilError(t, err)
	}
	for _, col := range r.Claims {
		for _, res := range col.Results {
			for _, e := range res.Evidence {
				_, err := os.Stat(filepath.Join(out, e.Trace))
				assert.NilError(t, err)
			}
		}
	}
}

// TestPair: of two runs the kubelets stand side by side, the older run first.
func TestPair(t *testing.T) {
	out := t.TempDir()
	r, err := Pair(part(t, "may", out, "v1.28.5"), part(t, "april", out, "v1.28.5", "v1.36.3"))
	assert.NilError(t, err)
	assert.DeepEqual(t, r.Names(), []string{"v1.28.5@may", "v1.28.5@april", "v1.37.2@may", "v1.37.2@april"})
	assert.Equal(t, len(r.Runs), 4)
	assert.Check(t, is.Contains(r.Table(), "nothing differs"))
	assert.Equal(t, r.Failed, "", "both have the same violation")

	older := part(t, "may", out)
	newer := part(t, "april", out, "v1.28.5")
	newer.Report = newer.Only([]string{"v1.28.5"})
	r, err = Pair(older, newer)
	assert.NilError(t, err)
	assert.DeepEqual(t, r.Names(), []string{"v1.37.2@may", "v1.28.5@april"})

	older, newer = part(t, "may", out), part(t, "april", out)
	newer.Runs[0].Set(reference.Verdict{Outcome: reference.Pass})
	r, err = Pair(older, newer)
	assert.NilError(t, err)
	assert.Equal(t, r.Failed, "1 case differs between the two runs")
	newer = part(t, "april", out, "v1.28.5")

	older = part(t, "may", out, "v1.36.3")
	older.Report = older.Only([]string{"v1.36.3", "v1.37.2"})
	newer.Report = newer.Only([]string{"v1.28.5"})
	_, err = Pair(older, newer)
	assert.ErrorContains(t, err, "no kubelet has run in both: may has v1.36.3, v1.37.2, and april has v1.28.5")
}
