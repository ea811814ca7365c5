package run

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/report"
)

// counting is a recorder that notes which cases it ran.
func counting(t *testing.T, ran *[]string, lines ...string) recorder {
	var mu sync.Mutex
	return func(ctx context.Context, c fixtures.Case, node, dir string) (recorded, error) {
		mu.Lock()
		defer mu.Unlock()
		*ran = append(*ran, c.ID+strings.TrimPrefix(filepath.Base(dir), filepath.Base(c.ID)))
		return saved(t, recording(lines...), nil, nil)(ctx, c, node, dir)
	}
}

// after returns a suite that goes on with what another recorded.
func after(t *testing.T, before *Suite, record recorder) *Suite {
	t.Helper()
	s, _ := suiteFor(t, record)
	s.artifacts, s.options = before.artifacts, before.options
	s.options.Resume = true
	return s
}

// TestResume: what an earlier run recorded is kept and judged again, and the rest is run.
func TestResume(t *testing.T) {
	var ran []string
	s, _ := suiteFor(t, counting(t, &ran, ordered...))
	j := jobFor(caseByID(t, startup))
	first := s.one(t.Context(), j)
	assert.Equal(t, first[0].Outcome, report.Pass)

	file := filepath.Join(s.artifacts, "v1.37.2", startup, runFile)
	b, err := os.ReadFile(file)
	assert.NilError(t, err)
	var k kept
	assert.NilError(t, json.Unmarshal(b, &k))
	k.Run.Outcome, k.Run.Waited = report.Violation, 7 // as an earlier judge may have seen it
	b, err = json.Marshal(k)
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(file, b, 0o644))

	ran = nil
	s = after(t, s, counting(t, &ran, ordered...))
	runs := s.one(t.Context(), j)
	assert.Check(t, is.Len(ran, 0))
	assert.Equal(t, runs[0].Outcome, report.Pass)
	assert.Assert(t, runs[0].Kept && runs[0].Observed != nil && runs[0].Waited == 7)
	assert.Equal(t, runs[0].Trace, first[0].Trace)
	assert.Check(t, is.Len(s.report().Claims, 1))

	// Nothing is left, so that no cluster is needed; with another kubelet it is.
	runs, ok := s.wholly([]*job{j})
	assert.Assert(t, ok && len(runs) == 1)
	assert.Check(t, is.Len(s.report().Clusters, 1))
	assert.Check(t, is.Len(ran, 0))
	_, ok = s.wholly([]*job{j, {c: j.c, col: column{kubelet: "v1.36.3"}}})
	assert.Assert(t, !ok)
	_, ok = s.wholly([]*job{j, {c: j.c}})
	assert.Assert(t, !ok)

	// Without the flag it is run again.
	s.options.Resume = false
	s.one(t.Context(), j)
	assert.DeepEqual(t, ran, []string{startup})
}

// TestResumeAgain: what shows nothing, or is of something else, is run again.
func TestResumeAgain(t *testing.T) {
	for _, tt := range []struct {
		name   string
		lines  []string
		ends   bool // the first run is interrupted at its end
		change func(*Suite, *job, string)
		kept   bool
	}{
		{"a pass", ordered, false, nil, true},
		{"a violation", early, false, nil, true},
		{"a run without a witness", ordered[:4], false, nil, false},
		{"a run that was cut short", ordered, true, nil, false},
		{"other gates", ordered, false, func(s *Suite, _ *job, _ string) { s.options.FeatureGates = "ContainerStopSignals=true" }, false},
		{"another title", ordered, false, func(_ *Suite, j *job, _ string) { j.c.Title += " Really." }, false},
		{"another step", ordered, false, func(_ *Suite, j *job, _ string) { j.c.Steps = j.c.Steps[1:] }, false},
		{"another witness", ordered, false, func(_ *Suite, j *job, _ string) { j.c.Witness = j.c.Witness[1:] }, false},
		{"another Pod", ordered, false, func(_ *Suite, j *job, _ string) { j.c.Manifest = append([]byte("# New.\n"), j.c.Manifest...) }, false},
		{"no trace", ordered, false, func(_ *Suite, _ *job, dir string) { os.Remove(filepath.Join(dir, "trace.jsonl")) }, false},
		{"a trace without its end", ordered, false, func(_ *Suite, _ *job, dir string) { os.Truncate(filepath.Join(dir, "trace.jsonl"), 400) }, false},
		{"a file without its end", ordered, false, func(_ *Suite, _ *job, dir string) { os.Truncate(filepath.Join(dir, runFile), 20) }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var ran []string
			ctx, cancel := context.WithCancelCause(t.Context())
			record := counting(t, &ran, tt.lines...)
			s, _ := suiteFor(t, func(ctx context.Context, c fixtures.Case, node, dir string) (recorded, error) {
				if tt.ends {
					defer cancel(errInterrupted)
				}
				return record(ctx, c, node, dir)
			})
			j := jobFor(caseByID(t, startup))
			s.one(ctx, j)
			ran = nil
			s = after(t, s, record)
			if tt.change != nil {
				tt.change(s, j, filepath.Join(s.artifacts, "v1.37.2", startup))
			}
			s.one(t.Context(), j)
			assert.Equal(t, len(ran) == 0, tt.kept)
		})
	}
}

// TestResumeRepeated: of a repeated case only the runs that are missing are made.
func TestResumeRepeated(t *testing.T) {
	var ran []string
	s, _ := suiteFor(t, counting(t, &ran, ordered...))
	s.options.Repeat = 3
	j := jobFor(caseByID(t, startup))
	s.one(t.Context(), j)
	assert.NilError(t, os.RemoveAll(filepath.Join(s.artifacts, "v1.37.2", startup, "run-02")))
	ran = nil
	s = after(t, s, counting(t, &ran, ordered...))
	runs := s.one(t.Context(), j)
	assert.DeepEqual(t, ran, []string{startup + "run-02"})
	for i, run := range runs {
		assert.Equal(t, run.Repeat, i+1)
		assert.Equal(t, run.Kept, i != 1)
		assert.Equal(t, run.Outcome, report.Pass)
	}
	_, ok := s.wholly([]*job{j})
	assert.Assert(t, ok)
}
