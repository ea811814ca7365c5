package saved

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/admission"
	"github.com/podorder/podorder/reference/trace"
	"github.com/podorder/podorder/report"
	"github.com/podorder/podorder/report/judged"
	"github.com/podorder/podorder/report/observed"
	"github.com/podorder/podorder/suites/claims"
)

// Change is a run that is judged otherwise than before.
type Change struct {
	Run *report.Run
	// Was is what its outcome was.
	Was string
}

func (c Change) String() string {
	s := fmt.Sprintf("%s on %s", c.Run.Case, c.Run.Kubelet)
	if c.Run.Repeat > 0 {
		s += fmt.Sprintf(" (run %d)", c.Run.Repeat)
	}
	return fmt.Sprintf("%s: was %s, is %s: %s", s, c.Was, c.Run.Outcome, c.Run.Brief())
}

// Judge judges every run that has a trace again, by the present model and the present
// cases, and says again what the traces show of the public claims. dir is the folder of the
// report. A case that there is no more is judged without its witnesses. It returns the
// runs whose outcome is another one now, in the order of the report.
func Judge(r *report.Report, dir string, cases []fixtures.Case) ([]Change, error) {
	by := map[string]fixtures.Case{}
	for _, c := range cases {
		by[c.ID] = c
	}
	tallies := map[string]*tally{}
	for _, name := range r.Names() {
		tallies[name] = &tally{}
	}
	was := make([]string, len(r.Runs))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range r.Runs {
		run := &r.Runs[i]
		was[i] = run.Outcome
		g.Go(func() error {
			if c, ok := by[run.Case]; ok {
				run.Title, run.Rules = c.Title, c.Rules
			}
			if run.Trace == "" {
				return nil
			}
			return again(run, dir, r.Gates(run.Kubelet), by, tallies[run.Kubelet])
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var changes []Change
	for i := range r.Runs {
		if was[i] != "" && was[i] != r.Runs[i].Outcome {
			run := r.Runs[i]
			changes = append(changes, Change{Run: &run, Was: was[i]})
		}
	}
	r.Claims = nil
	for _, name := range r.Names() {
		if t := tallies[name]; t.any {
			r.Claims = append(r.Claims, claims.Column{Kubelet: name, Results: t.Results()})
		}
	}
	r.Made = time.Now().UTC().Truncate(time.Second)
	r.Judged = byWhom(r.Made)
	r.Finish()
	return changes, nil
}

// tally is what the traces of one kubelet show of the claims.
type tally struct {
	mu sync.Mutex
	claims.Tally
	any bool
}

// again judges one run again.
func again(run *report.Run, dir, gates string, cases map[string]fixtures.Case, t *tally) error {
	path := filepath.Join(dir, filepath.FromSlash(run.Trace))
	tr, err := readTrace(path)
	if err != nil {
		return err
	}
	c, err := caseOf(run, path, cases)
	if err != nil {
		return err
	}
	if tr != nil && run.Started.IsZero() && len(tr.Entries) > 0 {
		run.Started = tr.Entries[0].At
	}
	wasOf := run.Verdict
	run.Ended = complete(run.Ended, c, tr, wasOf)
	j := judged.Judge(c, gates, tr, run.Ended)
	run.Admission = j.Changes.List()
	if j.Skipped != "" {
		run.Skip(j.Skipped)
	} else {
		run.Set(j.Verdict)
	}
	run.Observed = nil
	if tr == nil {
		return nil
	}
	if pod := judged.Pod(c, tr); pod != nil {
		b := observed.Of(pod, tr)
		run.Observed = &b
	}
	if run.Outcome != report.Skipped && run.Outcome != report.Broken {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.any = true
		t.Add(claims.Recording{Path: run.Trace, Trace: tr, Added: j.Changes.Containers()})
	}
	return nil
}

// readTrace reads a trace. One that cannot be read as such is nil: that is a verdict, and
// no reason to judge none of the others.
func readTrace(path string) (*trace.Trace, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w; a report needs the traces beside it: copy the whole folder of the run", err)
	}
	defer f.Close()
	tr, err := trace.Read(f)
	if bad := new(trace.Error); errors.As(err, &bad) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return tr, nil
}

// caseOf is the case of a run, with the Pod that was run then.
func caseOf(run *report.Run, path string, cases map[string]fixtures.Case) (fixtures.Case, error) {
	c, ok := cases[run.Case]
	if !ok {
		c = fixtures.Case{ID: run.Case, Title: run.Title, Rules: run.Rules}
	}
	b, err := os.ReadFile(filepath.Join(filepath.Dir(path), "pod.yaml"))
	switch {
	case errors.Is(err, os.ErrNotExist) && ok:
		return c, nil
	case err != nil:
		return c, fmt.Errorf("%w; it is kept beside the trace", err)
	}
	pod, err := reference.ParsePod(b)
	if err != nil {
		return c, fmt.Errorf("pod.yaml beside %s: %w", path, err)
	}
	if ok && len(admission.Compare(c.Pod(), pod).Of(admission.Case)) > 0 {
		// Another Pod has other witnesses.
		c.Witness, c.Steps, c.Writes = nil, nil, nil
	}
	c.Manifest = b
	return c, nil
}

// complete adds to what ended a run what older reports do not say: which step it waited
// in, and that it was ended because it was decided.
func complete(e *report.Ended, c fixtures.Case, tr *trace.Trace, v *reference.Verdict) *report.Ended {
	if e != nil && e.Awaited == "" && e.Decided == "" {
		for _, s := range c.Steps {
			if s.Await != nil && strings.Contains(e.Why, "waiting for "+s.Await.String()+": ") {
				with := *e
				with.Awaited = s.Await.String()
				return &with
			}
		}
	}
	if e != nil || tr == nil || v == nil {
		return e
	}
	looked := slices.ContainsFunc(tr.Entries, func(en trace.Entry) bool { return en.Did != nil && en.Did.Name == trace.ActLook })
	if !looked {
		return nil
	}
	why := v.Rule
	if v.Line > 0 {
		why += fmt.Sprintf(", line %d", v.Line)
	}
	return &report.Ended{Why: "the case was ended, because it is decided: " + why, Decided: why}
}

// byWhom says when a report was judged again, and by which podorder if that is known: go run
// leaves out the version.
func byWhom(at time.Time) string {
	s := "on " + at.Format("2006-01-02 15:04 MST")
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		s += " by podorder " + info.Main.Version
	}
	return s
}
