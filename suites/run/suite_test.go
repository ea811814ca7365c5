package run

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
	"github.com/podorder/podorder/report"
)

// TestFinish: what the tests say does not make up for verdicts, and the report
// is saved whatever they are.
func TestFinish(t *testing.T) {
	tests := []struct {
		name  string
		runs  []report.Run
		tests int // exit status of the tests
		want  int
	}{
		{"a pass", []report.Run{result("g/a", reference.Pass)}, 0, 0},
		{"a pass, and a test that failed otherwise", []report.Run{result("g/a", reference.Pass)}, 1, 1},
		{"a violation that no test reported", []report.Run{result("g/a", reference.Violation)}, 0, 1},
		{"nothing", nil, 0, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, printed := suiteFor(t, nil)
			step := filepath.Join(t.TempDir(), "summary")
			assert.NilError(t, os.WriteFile(step, []byte("before\n"), 0o644))
			t.Setenv("GITHUB_STEP_SUMMARY", step)
			for _, r := range tt.runs {
				r.Trace = "a/trace.jsonl"
				s.claim(&r, recording(ordered...), nil)
				s.add(r)
			}
			assert.Equal(t, s.finish(tt.tests, nil), tt.want)

			b, err := os.ReadFile(filepath.Join(s.artifacts, "verdicts.json"))
			assert.NilError(t, err)
			assert.Check(t, is.Contains(string(b), `"cases"`))
			summary, err := os.ReadFile(filepath.Join(s.artifacts, "summary.md"))
			assert.NilError(t, err)
			assert.Check(t, is.Contains(string(summary), "## podorder"))
			b, err = os.ReadFile(step)
			assert.NilError(t, err)
			assert.Equal(t, string(b), "before\n"+string(summary)+"\n")
			r, err := report.Read(s.artifacts)
			assert.NilError(t, err)
			assert.Equal(t, len(r.Runs), len(tt.runs))
			assert.Equal(t, r.Failed != "", tt.want != 0 && tt.tests == 0)
			if len(tt.runs) > 0 {
				assert.Check(t, is.Contains(printed.String(), "verdict  "))
				// Where the report is stands last, and the claims are in files.
				lines := strings.Split(strings.TrimSpace(printed.String()), "\n")
				assert.Equal(t, lines[len(lines)-1], "report: artifacts/report.html")
				assert.Check(t, !strings.Contains(printed.String(), "(a)"), printed)
				assert.Check(t, is.Contains(string(summary), "Public claims, held: (a)"))
				b, err := os.ReadFile(filepath.Join(s.artifacts, "claims.txt"))
				assert.NilError(t, err)
				assert.Check(t, is.Contains(string(b), "    held on v1.37.2"))
				assert.Check(t, is.Contains(string(b), "\n(i)    not seen  "))
				assert.Check(t, is.Contains(string(b), "a/trace.jsonl:"))
				b, err = os.ReadFile(filepath.Join(s.artifacts, "claims.json"))
				assert.NilError(t, err)
				assert.Check(t, is.Contains(string(b), `"finding": "held"`))
			}
		})
	}
}

// result is a run with an outcome.
func result(id string, o reference.Outcome) report.Run {
	r := report.Run{Case: id, Kubelet: "v1.37.2", Seconds: 2}
	r.Set(reference.Verdict{Outcome: o})
	return r
}

// jobFor returns a case on the kubelet of suiteFor.
func jobFor(c fixtures.Case) *job {
	return &job{c: c, col: column{kubelet: "v1.37.2", nodes: []string{"n"}}}
}

// TestOne: a case outside of its versions is skipped, one that an interrupted
// run did not get to is inconclusive, and neither is run.
func TestOne(t *testing.T) {
	s, _ := suiteFor(t, func(context.Context, fixtures.Case, string, string) (recorded, error) {
		t.Error("the case was run")
		return recorded{}, nil
	})
	later, err := fixtures.ParseRange(">=1.38")
	assert.NilError(t, err)
	c := caseByID(t, startup)
	c.Versions = later
	res := s.one(t.Context(), jobFor(c))
	assert.Equal(t, res[0].Outcome, report.Skipped)
	assert.Check(t, is.Contains(res[0].Reason, ">=1.38"))

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errInterrupted)
	s.queue.expect(1) // so that it would never have its turn
	res = s.one(ctx, jobFor(caseByID(t, startup)))
	assert.Equal(t, res[0].Outcome, report.Inconclusive)
	assert.Check(t, is.Contains(res[0].Reason, errInterrupted.Error()))
	assert.Check(t, is.Len(s.queue.waiting, 0))
}

// TestRepeated: every run has a folder of its own, and the worst is the result.
func TestRepeated(t *testing.T) {
	var s *Suite
	s, printed := suiteFor(t, func(ctx context.Context, c fixtures.Case, node, dir string) (recorded, error) {
		assert.Equal(t, node, "n")
		lines := ordered
		if strings.HasSuffix(dir, "run-02") {
			lines = early
		}
		return saved(t, recording(lines...), nil, nil)(ctx, c, node, dir)
	})
	s.options.Repeat = 3
	c := caseByID(t, startup)
	old := filepath.Join(s.artifacts, "v1.37.2", "article", "startup-sequence", "run-09")
	assert.NilError(t, os.MkdirAll(old, 0o755))
	settled := 0
	j := jobFor(c)
	j.settled = func() { settled++ }
	res := merged(s.one(t.Context(), j))
	assert.Equal(t, settled, 1)
	assert.Equal(t, res.Mark(), "violation 1/3")
	assert.Equal(t, res.Worst.Repeat, 2)
	assert.Equal(t, res.Worst.Trace, "v1.37.2/article/startup-sequence/run-02/trace.jsonl")
	assert.Equal(t, len(res.Runs), 3)
	assert.Check(t, is.Contains(printed.String(), startup+" (3 of 3): pass"))
	_, err := os.Stat(old)
	assert.Assert(t, os.IsNotExist(err), "an earlier run's files must not pass for this one's")
}

// TestSkipped: what the cluster lacks is no verdict, and leaves no folder.
func TestSkipped(t *testing.T) {
	s, printed := suiteFor(t, func(context.Context, fixtures.Case, string, string) (recorded, error) {
		return recorded{}, &skipError{"no access to the node"}
	})
	res := s.one(t.Context(), jobFor(caseByID(t, startup)))
	assert.Equal(t, res[0].Outcome, report.Skipped)
	assert.Equal(t, res[0].Reason, "no access to the node")
	assert.Check(t, is.Contains(printed.String(), "skipped: no access to the node"))
	_, err := os.Stat(filepath.Join(s.artifacts, "v1.37.2", "article", "startup-sequence"))
	assert.Assert(t, os.IsNotExist(err))
}

var errInterrupted = testError("interrupted: SIGINT")

type testError string

func (e testError) Error() string { return string(e) }

// TestNeed: a case that disturbs its node gets one that is kept for it, where
// there is one.
func TestNeed(t *testing.T) {
	s, _ := suiteFor(t, nil)
	restart := caseByID(t, startup)
	restart.Steps = append(restart.Steps, fixtures.Step{Act: &trace.Act{Name: trace.ActRestart, Param: []byte(`"kubelet"`)}})
	tests := []struct {
		name  string
		c     fixtures.Case
		spare []string
		want  need
	}{
		{"any case", caseByID(t, "hooks/poststart-blocks"), []string{"s"}, need{nodes: []string{"n"}}},
		{"a long one", caseByID(t, startup), nil, need{nodes: []string{"n"}, long: true, shared: true}},
		{"one that restarts the kubelet", restart, []string{"s"}, need{nodes: []string{"s"}, long: true, alone: true}},
		{"the same without a spare node", restart, nil, need{nodes: []string{"n"}, long: true, alone: true, shared: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := jobFor(tt.c)
			j.col.spare = tt.spare
			got := s.need(j)
			assert.Check(t, got.length > 0)
			assert.DeepEqual(t, got.nodes, tt.want.nodes)
			assert.Equal(t, got.long, tt.want.long)
			assert.Equal(t, got.alone, tt.want.alone)
			assert.Equal(t, got.shared, tt.want.shared)
		})
	}
}

// TestRerunKubelet: a case is run again on the kubelet that it was run on.
func TestRerunKubelet(t *testing.T) {
	s := &Suite{intent: intent{root: "/here", kubelets: []string{"v1.34.4", "v1.37.2"}, files: map[string]string{"v1.34.4": "/here/build/kubelet"}}}
	for kubelet, want := range map[string]string{"v1.34.4": " -kubelet-files=build/kubelet", "v1.37.2": " -kubelets=v1.37.2"} {
		got := s.rerun("hooks/poststart-blocks", kubelet)
		assert.Assert(t, strings.HasSuffix(got, want), got)
	}
	s.kubelets = nil
	assert.Equal(t, s.rerun("hooks/poststart-blocks", "v1.37.2"), "go test ./suites -count=1 -run 'TestHooks/^poststart-blocks$'")
}

// TestFailFast: once a case has failed no other begins, and what was not begun is no
// verdict.
func TestFailFast(t *testing.T) {
	for _, fast := range []bool{true, false} {
		s, printed := suiteFor(t, func(ctx context.Context, c fixtures.Case, node, dir string) (recorded, error) {
			return saved(t, recording(early...), nil, nil)(ctx, c, node, dir)
		})
		s.failFast = fast
		c := caseByID(t, startup)
		first := s.one(t.Context(), jobFor(c))
		assert.Equal(t, first[0].Outcome, "violation")
		second := s.one(t.Context(), jobFor(c))
		if !fast {
			assert.Equal(t, second[0].Outcome, "violation")
			continue
		}
		assert.Equal(t, second[0].Outcome, "skipped")
		assert.Equal(t, second[0].Reason, "not started, because another case had failed")
		assert.Equal(t, strings.Count(printed.String(), startup+": started"), 1)
	}
}

// heard is a test that says what it is told, and does not fail.
type heard struct {
	testing.TB
	failed bool
	text   strings.Builder
}

func (h *heard) Helper() {}

func (h *heard) Log(args ...any) { fmt.Fprintln(&h.text, args...) }

func (h *heard) Error(args ...any) {
	h.failed = true
	h.Log(args...)
}

func (h *heard) Errorf(format string, args ...any) { h.Error(fmt.Sprintf(format, args...)) }

// TestTell: where go test prints what tests say, the whole explanation stands with the test that
// failed, and nowhere else; where it keeps that back, it has been printed by then.
func TestTell(t *testing.T) {
	for _, tells := range []bool{true, false} {
		s, printed := suiteFor(t, saved(t, recording(early...), nil, nil))
		s.tells = tells
		var file strings.Builder
		s.progress.KeepIn(&file)
		run := s.settle(t.Context(), caseByID(t, startup), "v1.37.2", "n", 0)
		h := &heard{}
		s.tell(h, merged([]report.Run{run}))
		assert.Assert(t, h.failed)
		const explained = "  The next container is not started before"
		assert.Equal(t, strings.Contains(h.text.String(), explained), tells)
		assert.Equal(t, strings.Contains(printed.String(), explained), !tells)
		assert.Assert(t, is.Contains(file.String(), explained))
		assert.Assert(t, strings.HasPrefix(h.text.String(), "violation"), h.text.String())
		assert.Equal(t, strings.Contains(h.text.String(), "  rerun    go test ./suites"), tells)

		known := result("g/known", reference.Known)
		h = &heard{}
		s.tell(h, merged([]report.Run{known}))
		assert.Assert(t, !h.failed)
		assert.Equal(t, h.text.Len() > 0, tells)
		s.options.Strict = true
		s.tell(h, merged([]report.Run{known}))
		assert.Assert(t, h.failed)

		h = &heard{}
		s.tell(h, merged([]report.Run{result("g/pass", reference.Pass)}))
		assert.Assert(t, !h.failed && h.text.Len() == 0)
	}
}

// TestRerunFlags: a rerun gets the flags that say where, and none that say what.
func TestRerunFlags(t *testing.T) {
	fs := flag.NewFlagSet("suites", flag.ContinueOnError)
	var o Options
	o.Register(fs)
	fs.String("test.run", "", "")
	assert.NilError(t, fs.Parse([]string{"-cases=x", "-test.run=y", "-kubernetes=v1.28.5", "-context", "here", "-keep", "-artifacts=z", "-kubelets=v1.28.5", "-repeat=3", "-labels=group=hooks"}))
	assert.DeepEqual(t, rerunFlags(fs), []string{"-context=here", "-keep=true", "-kubernetes=v1.28.5"})
}

func TestProgress(t *testing.T) {
	s, printed := suiteFor(t, nil)
	start := s.progress.start
	s.progress.now = func() time.Time { return start.Add(12300 * time.Millisecond) }
	var file strings.Builder
	s.progress.KeepIn(&file)
	s.progress.Printf("cluster %s is ready", "x")
	s.progress.Print("a text\n")
	_, err := s.progress.Live().Write([]byte("a word\n"))
	assert.NilError(t, err)
	s.progress.Keep("kept\n")
	want := "   12.3s  cluster x is ready\na text\na word\n"
	assert.Equal(t, printed.String(), want)
	assert.Equal(t, file.String(), want+"kept\n")
}
