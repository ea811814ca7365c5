package run

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference"
)

// TestFinish: what the tests say does not make up for verdicts, and the report
// is saved whatever they are.
func TestFinish(t *testing.T) {
	tests := []struct {
		name    string
		results []Result
		tests   int // exit status of the tests
		want    int
	}{
		{"a pass", []Result{result("g/a", reference.Pass)}, 0, 0},
		{"a pass, and a test that failed otherwise", []Result{result("g/a", reference.Pass)}, 1, 1},
		{"a violation that no test reported", []Result{result("g/a", reference.Violation)}, 0, 1},
		{"nothing", nil, 0, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, printed := suiteFor(t, nil)
			step := filepath.Join(t.TempDir(), "summary")
			assert.NilError(t, os.WriteFile(step, []byte("before\n"), 0o644))
			t.Setenv("GITHUB_STEP_SUMMARY", step)
			for _, r := range tt.results {
				s.add(r)
			}
			assert.Equal(t, s.finish(tt.tests), tt.want)

			b, err := os.ReadFile(filepath.Join(s.artifacts, "verdicts.json"))
			assert.NilError(t, err)
			assert.Check(t, is.Contains(string(b), `"cases"`))
			summary, err := os.ReadFile(filepath.Join(s.artifacts, "summary.md"))
			assert.NilError(t, err)
			assert.Check(t, is.Contains(string(summary), "## podorder"))
			b, err = os.ReadFile(step)
			assert.NilError(t, err)
			assert.Equal(t, string(b), "before\n"+string(summary)+"\n")
			if len(tt.results) > 0 {
				assert.Check(t, is.Contains(printed.String(), "verdict  "))
				assert.Check(t, is.Contains(printed.String(), "artifacts"))
			}
		})
	}
}

// TestOne: a case outside of its versions is skipped, one that an interrupted
// run did not get to is inconclusive, and neither is run.
func TestOne(t *testing.T) {
	s, _ := suiteFor(t, func(context.Context, fixtures.Case, string) (recorded, error) {
		t.Error("the case was run")
		return recorded{}, nil
	})
	s.slots = semaphore.NewWeighted(1)
	later, err := fixtures.ParseRange(">=1.38")
	assert.NilError(t, err)
	c := caseByID(t, startup)
	c.Versions = later
	res := s.one(t.Context(), c)
	assert.Equal(t, res.Word(), "skipped")
	assert.Check(t, is.Contains(res.Skipped, ">=1.38"))

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errInterrupted)
	res = s.one(ctx, caseByID(t, startup))
	assert.Equal(t, res.Verdict.Outcome, reference.Inconclusive)
	assert.Check(t, is.Contains(res.Verdict.Reason, errInterrupted.Error()))
}

var errInterrupted = testError("interrupted: SIGINT")

type testError string

func (e testError) Error() string { return string(e) }

// TestSlots: no more cases run at once than there is room for.
func TestSlots(t *testing.T) {
	const n = 3
	// Every case waits until n of them run; with fewer slots that would never
	// end, with more the count would be exceeded.
	var running = make(chan struct{}, n)
	full := make(chan struct{})
	fill := sync.OnceFunc(func() { close(full) })
	s, _ := suiteFor(t, func(context.Context, fixtures.Case, string) (recorded, error) {
		select {
		case running <- struct{}{}:
		default:
			t.Error("more cases run than there are slots")
			return recorded{}, nil
		}
		if len(running) == n {
			fill()
		}
		<-full
		<-running
		return recorded{}, nil
	})
	s.slots = semaphore.NewWeighted(n)
	done := make(chan Result)
	for i := range 3 * n {
		c := caseByID(t, startup)
		c.ID = "g/" + strings.Repeat("x", i+1)
		go func() { done <- s.one(t.Context(), c) }()
	}
	for range 3 * n {
		<-done
	}
}

func TestRoom(t *testing.T) {
	assert.Equal(t, room(2, 110), int64(8))
	assert.Equal(t, room(1, 110), int64(4))
	assert.Equal(t, room(64, 110), int64(110))
	assert.Equal(t, room(2, 3), int64(3))
	assert.Equal(t, room(0, 0), int64(1))
}

// TestRerunFlags: a rerun gets the flags that say where, and none that say what.
func TestRerunFlags(t *testing.T) {
	fs := flag.NewFlagSet("suites", flag.ContinueOnError)
	var o Options
	o.Register(fs)
	fs.String("test.run", "", "")
	fs.String("context", "", "")
	assert.NilError(t, fs.Parse([]string{"-cases=x", "-test.run=y", "-kubernetes=v1.28.5", "-context", "here", "-keep", "-artifacts=z"}))
	assert.DeepEqual(t, rerunFlags(fs), []string{"-context=here", "-keep=true", "-kubernetes=v1.28.5"})
}

func TestProgress(t *testing.T) {
	s, printed := suiteFor(t, nil)
	start := s.progress.start
	s.progress.now = func() time.Time { return start.Add(12300 * time.Millisecond) }
	var file strings.Builder
	s.progress.Keep(&file)
	s.progress.Printf("cluster %s is ready", "x")
	s.progress.Print("a text\n")
	_, err := s.progress.Live().Write([]byte("a word\n"))
	assert.NilError(t, err)
	want := "   12.3s  cluster x is ready\na text\na word\n"
	assert.Equal(t, printed.String(), want)
	assert.Equal(t, file.String(), want)
}
