package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/harness"
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
)

const startup = "article/startup-sequence"

func caseByID(t *testing.T, id string) fixtures.Case {
	t.Helper()
	cases, err := fixtures.All()
	assert.NilError(t, err)
	for _, c := range cases {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("no case %s", id)
	return fixtures.Case{}
}

// ordered is a log that every witness of the case is in, and that is allowed.
var ordered = []string{
	"container1 / main", "container1 / post start hook", "container1 / main", "container1 / post start hook",
	"container2 / main", "container1 / readiness probe", "container1 / liveness probe",
}

// early has container2 start before the hook's last line.
var early = []string{
	"container1 / main", "container1 / post start hook", "container2 / main", "container1 / post start hook",
}

// recording is one of the Pod of the case, and of the one that the API server admitted.
func recording(lines ...string) *trace.Trace { return recordingOf(startupPod(), lines...) }

func startupPod() *corev1.Pod {
	all, err := fixtures.All()
	if err != nil {
		panic(err)
	}
	i := slices.IndexFunc(all, func(c fixtures.Case) bool { return c.ID == startup })
	return all[i].Pod()
}

func recordingOf(admitted *corev1.Pod, lines ...string) *trace.Trace {
	tr := &trace.Trace{Header: trace.Header{Trace: trace.Version, Case: startup, Kubelet: "v1.37.2"}}
	apply, _ := trace.NewAct(trace.ActApply, nil)
	tr.Entries = append(tr.Entries, trace.Entry{At: time.Unix(0, 0), Line: 2, Did: &apply})
	if admitted != nil {
		tr.Entries = append(tr.Entries, trace.Entry{At: time.Unix(0, 0), Line: 3, Type: trace.Added, Pod: admitted})
	}
	at := time.Date(2023, 12, 21, 10, 40, 51, 0, time.UTC)
	for i, l := range lines {
		l = at.Add(time.Duration(i)*time.Second).Format(time.UnixDate) + ": " + l
		tr.Entries = append(tr.Entries, trace.Entry{At: at, Line: i + 4, Log: &l})
	}
	return tr
}

func TestJudge(t *testing.T) {
	c := caseByID(t, startup)
	late := errors.New("waiting for line container2 / main: deadline exceeded")
	decided := fmt.Errorf("step 2: %w", &harness.DecidedError{Why: "hooks/poststart-blocks-next, line 6"})
	foreign := recording(append(ordered, "hello")...)
	unversioned := recording(ordered...)
	unversioned.Header.Kubelet = ""
	tests := []struct {
		name    string
		trace   *trace.Trace
		ran     error
		outcome reference.Outcome
		rule    string
		reason  string
	}{
		{"as it should be", recording(ordered...), nil, reference.Pass, "", ""},
		{"a violation", recording(early...), nil, reference.Violation, "hooks/poststart-blocks-next", ""},
		{"a violation, and a step that never ended", recording(early...), late, reference.Violation, "hooks/poststart-blocks-next", late.Error()},
		{"a violation, for which the case was ended", recording(early...), decided, reference.Violation, "hooks/poststart-blocks-next", ""},
		{"a case that was ended for what is none", recording(ordered...), decided, reference.Inconclusive, "", "hooks/poststart-blocks-next, line 6"},
		{"a step that never ended", recording(ordered[:4]...), late, reference.Inconclusive, "", late.Error()},
		{"all witnesses, and a step that never ended", recording(ordered...), late, reference.Inconclusive, "", late.Error()},
		{"no witness", recording(ordered[:4]...), nil, reference.Inconclusive, "", "container2 / main"},
		{"an empty log", recording(), nil, reference.Inconclusive, "", ""},
		{"no Pod", recordingOf(nil, ordered...), nil, reference.Inconclusive, "", "no Pod"},
		{"no Pod, and a step that never ended", recordingOf(nil), late, reference.Inconclusive, "", late.Error()},
		{"no trace", nil, late, reference.Broken, "", late.Error()},
		{"no trace and no error", nil, nil, reference.Broken, "", "nothing was recorded"},
		{"a foreign line", foreign, nil, reference.Broken, "", "hello"},
		{"no kubelet", unversioned, nil, reference.Broken, "", "header"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := judge(c, "", tt.trace, tt.ran)
			v := j.verdict
			assert.Equal(t, j.skipped, "")
			assert.Equal(t, v.Outcome, tt.outcome, v.Text())
			assert.Equal(t, v.Rule, tt.rule)
			assert.Check(t, is.Contains(v.Reason, tt.reason))
			if tt.ran == decided && tt.outcome == reference.Violation {
				assert.Check(t, !strings.Contains(v.Text(), "did not end well"))
			}
		})
	}
}

// TestDecides: a case that waits is decided by a violation, and by nothing else that it may come to.
func TestDecides(t *testing.T) {
	c := caseByID(t, startup)
	elsewhere := startupPod()
	elsewhere.Spec.Containers[1].Command = []string{"other"}
	for name, tt := range map[string]struct {
		trace *trace.Trace
		want  string
	}{
		"nothing yet":                  {recording(), ""},
		"no witness yet":               {recording(ordered[:2]...), ""},
		"as it should be":              {recording(ordered...), ""},
		"a violation":                  {recording(early...), "hooks/poststart-blocks-next, line 7"},
		"a violation, in another case": {recordingOf(elsewhere, early...), ""},
		"no Pod yet":                   {recordingOf(nil), ""},
		"no kubelet yet":               {&trace.Trace{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, decides(c, "", tt.trace), tt.want)
		})
	}
}

// suiteFor returns a suite that records with a function instead of a cluster,
// and where it prints.
func suiteFor(t *testing.T, record recorder) (s *Suite, printed *bytes.Buffer) {
	t.Helper()
	printed = &bytes.Buffer{}
	dir := t.TempDir()
	return &Suite{
		progress: NewProgress(printed, printed),
		intent:   intent{root: dir, artifacts: filepath.Join(dir, "artifacts"), again: []string{"-kubernetes=v1.37.2"}},
		place:    place{record: record, queue: newQueue(9, 9, 9)},
	}, printed
}

// saved returns a recorder that writes its trace, as the harness does.
func saved(t *testing.T, tr *trace.Trace, ran error, evidence func(context.Context) error) recorder {
	return func(_ context.Context, _ fixtures.Case, _, dir string) (recorded, error) {
		path := filepath.Join(dir, "trace.jsonl")
		f, err := os.Create(path)
		assert.NilError(t, err)
		defer f.Close()
		w, err := trace.NewWriter(f, tr.Header)
		assert.NilError(t, err)
		for _, e := range tr.Entries {
			assert.NilError(t, w.Write(e))
		}
		return recorded{trace: tr, path: path, evidence: evidence}, ran
	}
}

// TestSettleViolation: the evidence is kept, and the first thing on the screen
// is the verdict, with the way to go on.
func TestSettleViolation(t *testing.T) {
	asked := 0
	s, printed := suiteFor(t, saved(t, recording(early...), nil, func(context.Context) error {
		asked++
		return errors.New("no journal")
	}))
	res := s.settle(t.Context(), caseByID(t, startup), "v1.37.2", "n", 0)
	assert.Equal(t, res.Verdict.Outcome, reference.Violation)
	assert.Equal(t, asked, 1)
	assert.Equal(t, res.Trace, "v1.37.2/article/startup-sequence/trace.jsonl")

	_, block, _ := strings.Cut(printed.String(), "\n\n")
	assert.Check(t, strings.HasPrefix(block, "violation: hooks/poststart-blocks-next"), printed.String())
	for _, want := range []string{
		"replay   go run ./scripts/judge -trace artifacts/v1.37.2/article/startup-sequence/trace.jsonl\n",
		"rerun    go test ./suites -count=1 -run 'TestArticle/^startup-sequence$' -kubernetes=v1.37.2\n",
		"evidence is incomplete: no journal",
	} {
		assert.Check(t, is.Contains(printed.String(), want))
	}

	dir := filepath.Join(s.artifacts, "v1.37.2", "article", "startup-sequence")
	var v struct {
		Verdict, Rule string
		Line          int
	}
	b, err := os.ReadFile(filepath.Join(dir, "verdict.json"))
	assert.NilError(t, err)
	assert.NilError(t, json.Unmarshal(b, &v))
	assert.Equal(t, v.Verdict, "violation")
	assert.Equal(t, v.Line, res.Verdict.Line)
	b, err = os.ReadFile(filepath.Join(dir, "pod.yaml"))
	assert.NilError(t, err)
	assert.Equal(t, string(b), string(caseByID(t, startup).Manifest))
}

func TestSettlePass(t *testing.T) {
	s, printed := suiteFor(t, saved(t, recording(ordered...), nil, func(context.Context) error {
		t.Error("a pass needs no evidence")
		return nil
	}))
	old := filepath.Join(s.artifacts, "v1.37.2", "article", "startup-sequence", "old")
	assert.NilError(t, os.MkdirAll(old, 0o755))
	res := s.settle(t.Context(), caseByID(t, startup), "v1.37.2", "n", 0)
	assert.Equal(t, res.Verdict.Outcome, reference.Pass, res.Verdict.Text())
	assert.Check(t, is.Contains(printed.String(), startup+": pass"))
	_, err := os.Stat(old)
	assert.ErrorIs(t, err, fs.ErrNotExist, "an earlier run's files must not pass for this one's")
}

// TestSettlePanic: a panic while a case runs is that case's verdict; the
// process, and with it the cluster, must survive to be cleaned up.
func TestSettlePanic(t *testing.T) {
	s, printed := suiteFor(t, func(context.Context, fixtures.Case, string, string) (recorded, error) { panic("oh no") })
	res := s.settle(t.Context(), caseByID(t, startup), "v1.37.2", "n", 0)
	assert.Equal(t, res.Verdict.Outcome, reference.Broken)
	assert.Check(t, is.Contains(res.Verdict.Reason, "oh no"))
	assert.Check(t, is.Contains(printed.String(), "oh no"))
	_, err := os.Stat(filepath.Join(s.artifacts, "v1.37.2", "article", "startup-sequence", "verdict.json"))
	assert.NilError(t, err)
}

// TestSettleInterrupted: the reason is what interrupted the run, not what that
// broke, and no time is spent on evidence.
func TestSettleInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	record := saved(t, recording(ordered[:4]...), errors.New("connection lost"), func(context.Context) error {
		t.Error("an interrupted run collects no evidence")
		return nil
	})
	s, _ := suiteFor(t, func(ctx context.Context, c fixtures.Case, node, dir string) (recorded, error) {
		cancel(errInterrupted)
		return record(ctx, c, node, dir)
	})
	res := s.settle(ctx, caseByID(t, startup), "v1.37.2", "n", 0)
	assert.Equal(t, res.Verdict.Outcome, reference.Inconclusive)
	assert.Check(t, is.Contains(res.Verdict.Reason, errInterrupted.Error()))
	assert.Check(t, !strings.Contains(res.Verdict.Reason, "connection lost"))
}

// TestSettleUnsaved: what cannot be saved must not pass.
func TestSettleUnsaved(t *testing.T) {
	s, _ := suiteFor(t, saved(t, recording(ordered...), nil, nil))
	assert.NilError(t, os.WriteFile(s.artifacts, nil, 0o644))
	res := s.settle(t.Context(), caseByID(t, startup), "v1.37.2", "n", 0)
	assert.Equal(t, res.Verdict.Outcome, reference.Broken)
	assert.Check(t, is.Contains(res.Verdict.Reason, s.artifacts))
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"":              "''",
		"-kubernetes":   "-kubernetes",
		"TestA/^b$":     "'TestA/^b$'",
		"it's":          `'it'\''s'`,
		"a b":           "'a b'",
		"v1.37.2@sha:x": "v1.37.2@sha:x",
	} {
		assert.Equal(t, quote(in), want)
	}
}

func TestTitle(t *testing.T) {
	for in, want := range map[string]string{"hooks": "Hooks", "init-containers": "InitContainers", "a": "A"} {
		assert.Equal(t, title(in), want)
	}
}

// TestSecondRun: only a case that showed nothing is run once more; what the first
// run recorded stays, and the result tells of it.
func TestSecondRun(t *testing.T) {
	runs := 0
	s, printed := suiteFor(t, func(ctx context.Context, c fixtures.Case, node, dir string) (recorded, error) {
		lines := ordered
		if runs++; runs == 1 {
			lines = ordered[:4]
		}
		assert.Equal(t, ctx.Value(toTheEnd{}) != nil, runs == 2, "the second run alone is not ended early")
		return saved(t, recording(lines...), nil, nil)(ctx, c, node, dir)
	})
	s.options.Again = true
	c := caseByID(t, startup)
	first := s.settle(t.Context(), c, "v1.37.2", "n", 0)
	assert.Equal(t, first.Verdict.Outcome, reference.Inconclusive)
	assert.Assert(t, s.once(first))
	res := s.secondRun(t.Context(), c, "v1.37.2", "n", first)
	assert.Equal(t, res.Verdict.Outcome, reference.Pass, res.Verdict.Text())
	assert.Equal(t, res.First, first.Verdict.Reason)
	assert.Check(t, is.Contains(res.what(), "second run"))
	assert.Check(t, is.Contains(printed.String(), "run once more"))
	for _, dir := range []string{"startup-sequence", "startup-sequence.first"} {
		_, err := os.Stat(filepath.Join(s.artifacts, "v1.37.2", "article", dir, "verdict.json"))
		assert.NilError(t, err)
	}

	assert.Assert(t, !s.once(res), "a pass stands")
	assert.Assert(t, !s.once(Result{Verdict: reference.Verdict{Outcome: reference.Violation}}), "a violation stands")
	s.options.Again = false
	assert.Assert(t, !s.once(first))
}
