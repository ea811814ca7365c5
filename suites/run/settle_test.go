package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
	"github.com/podorder/podorder/report"
	"github.com/podorder/podorder/report/judged/judgedtest"
)

const startup = judgedtest.Startup

var (
	caseByID, startupPod   = judgedtest.CaseByID, judgedtest.StartupPod
	recording, recordingOf = judgedtest.Recording, judgedtest.RecordingOf
	ordered, early         = judgedtest.Ordered, judgedtest.Early
)

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

func TestTitle(t *testing.T) {
	for in, want := range map[string]string{"hooks": "Hooks", "init-containers": "InitContainers", "a": "A"} {
		assert.Equal(t, title(in), want)
	}
}

// TestSettleAdmitted: what somebody else made of the Pod stands beside the verdict
// wherever that is shown, and what was recorded of a case that is skipped is kept.
func TestSettleAdmitted(t *testing.T) {
	c := caseByID(t, startup)
	injected, wrapped := startupPod(), startupPod()
	always := corev1.ContainerRestartPolicyAlways
	injected.Spec.InitContainers = []corev1.Container{{Name: "added", Image: "mesh:1", RestartPolicy: &always}}
	wrapped.Spec.Containers[0].Command = []string{"wrap"}
	for _, tt := range []struct {
		name, word, list, line string
		pod                    *corev1.Pod
	}{
		{"a pass", "pass", "added initContainers[added]", "admission added: initContainers[added]", injected},
		{"skipped", "skipped", "added containers[container1].command", "admission added: containers[container1].command", wrapped},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, printed := suiteFor(t, saved(t, recordingOf(tt.pod, ordered...), nil, nil))
			res := s.settle(t.Context(), c, "v1.37.2", "n", 0)
			assert.Equal(t, res.Outcome, tt.word, res.Explanation)
			assert.Check(t, is.Contains(printed.String(), tt.line))
			dir := filepath.Join(s.artifacts, "v1.37.2", "article", "startup-sequence")
			_, err := os.Stat(filepath.Join(dir, "trace.jsonl"))
			assert.NilError(t, err)
			b, err := os.ReadFile(filepath.Join(dir, "verdict.json"))
			assert.NilError(t, err)
			var v struct {
				Verdict, Reason string
				Admission       []string
			}
			assert.NilError(t, json.Unmarshal(b, &v))
			assert.Equal(t, v.Verdict, tt.word)
			assert.Equal(t, v.Reason, res.Reason)
			assert.DeepEqual(t, v.Admission, []string{tt.list})

			other := res
			other.Kubelet = "v1.28.5"
			for _, runs := range [][]report.Run{{res}, {res, other}} {
				r := report.Report{Runs: runs}
				assert.Check(t, is.Contains(r.Table(), tt.line))
				assert.Check(t, is.Contains(r.Markdown("", report.SummaryLimit), tt.line))
				all, err := r.VerdictsJSON()
				assert.NilError(t, err)
				assert.Check(t, is.Contains(string(all), tt.list))
			}
		})
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
	assert.Assert(t, s.once(&first))
	res := s.secondRun(t.Context(), c, "v1.37.2", "n", first)
	assert.Equal(t, res.Verdict.Outcome, reference.Pass, res.Verdict.Text())
	assert.Equal(t, res.First, first.Verdict.Reason)
	assert.Check(t, is.Contains(res.Brief(), "second run"))
	assert.Check(t, is.Contains(printed.String(), "run once more"))
	for _, dir := range []string{"startup-sequence", "startup-sequence.first"} {
		_, err := os.Stat(filepath.Join(s.artifacts, "v1.37.2", "article", dir, "verdict.json"))
		assert.NilError(t, err)
	}

	assert.Assert(t, !s.once(&res), "a pass stands")
	assert.Assert(t, !s.once(&report.Run{Outcome: report.Violation}), "a violation stands")
	s.options.Again = false
	assert.Assert(t, !s.once(&first))
}
