package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/harness"
	"github.com/podorder/podorder/harness/record"
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
	"github.com/podorder/podorder/report"
	"github.com/podorder/podorder/report/judged"
	"github.com/podorder/podorder/report/observed"
)

// recorded is what running a case leaves.
type recorded struct {
	trace *trace.Trace // nil if nothing could be recorded
	path  string       // of the trace file
	// evidence keeps everything else that may explain a verdict beside the
	// trace; nil if there is nothing to ask.
	evidence func(context.Context) error
}

// recorder runs a case on a node and records it into a folder. An error that is a
// *skipError says that the case cannot be run there.
type recorder func(ctx context.Context, c fixtures.Case, node, dir string) (recorded, error)

// skipError says what the cluster lacks for a case.
type skipError struct{ why string }

func (e *skipError) Error() string { return e.why }

// evidencePatience bounds the collecting of evidence for one case.
const evidencePatience = time.Minute

// settle runs one case once, has it judged, saves both, and prints the verdict.
// It never returns without a verdict or the reason why the case was skipped; what
// goes wrong on the way is the reason of a verdict. number counts the runs of a
// repeated case from 1; it is 0 for a case that runs once.
func (s *Suite) settle(ctx context.Context, c fixtures.Case, kubelet, node string, number int) (run report.Run) {
	run = runOf(c, kubelet, number)
	if c.Dir != "" {
		run.Fixtures = s.shown(c.Dir)
	}
	run.Rerun, run.Started = s.rerun(run.Case, kubelet), time.Now()
	name := s.named(&run)
	dir := s.folder(c, kubelet, number)
	defer func() {
		// A panic in a test ends the process before anything is cleaned up.
		if p := recover(); p != nil {
			run.Set(broken(fmt.Errorf("panic while running the case: %v", p)))
		}
		if run.Outcome == report.Skipped && run.Trace == "" {
			_ = os.RemoveAll(dir) // nothing was recorded; the reason is in the report
			s.progress.Printf("%s: skipped: %s", name, run.Reason)
			return
		}
		run.Seconds = time.Since(run.Started).Seconds()
		if err := saveVerdict(dir, &run); err != nil {
			run.Set(broken(err))
		}
		s.announce(&run, name)
	}()
	if err := prepareFolder(dir, c); err != nil {
		run.Set(broken(err))
		return run
	}
	s.progress.Printf("%s: started", name)
	rec, err := s.record(ctx, c, node, dir)
	if skip := new(skipError); errors.As(err, &skip) && rec.trace == nil && ctx.Err() == nil {
		run.Skip(skip.why)
		return run
	}
	if rec.path != "" {
		if rel, err := filepath.Rel(s.artifacts, rec.path); err == nil {
			run.Trace = filepath.ToSlash(rel)
		}
	}
	if rec.trace != nil && rec.trace.Header.Kubelet != "" && report.VersionOf(kubelet) != rec.trace.Header.Kubelet {
		run.Kubelet = rec.trace.Header.Kubelet
		run.Rerun = s.rerun(run.Case, run.Kubelet)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx) // what that broke is of no interest
	}
	run.Ended = ended(err)
	j := judged.Judge(c, s.options.FeatureGates, rec.trace, run.Ended)
	s.judged(&run, c, rec.trace, j)
	s.claim(&run, rec.trace, j.Changes.Containers())
	// A run that is being interrupted has no time for it.
	if run.Outcome != report.Pass && rec.evidence != nil && ctx.Err() == nil {
		ctx, cancel := context.WithTimeoutCause(ctx, evidencePatience, fmt.Errorf("gave up after %v", evidencePatience))
		defer cancel()
		if err := rec.evidence(ctx); err != nil {
			s.progress.Printf("%s: evidence is incomplete: %v", name, err)
		}
	}
	return run
}

// judged takes what the judge made of a recording.
func (s *Suite) judged(run *report.Run, c fixtures.Case, tr *trace.Trace, j judged.Judgement) {
	run.Admission = j.Changes.List()
	if j.Skipped != "" {
		run.Skip(j.Skipped)
	} else {
		run.Set(j.Verdict)
	}
	if tr == nil {
		return
	}
	if pod := judged.Pod(c, tr); pod != nil {
		b := observed.Of(pod, tr)
		run.Observed = &b
	}
}

// runOf is a run of a case that nothing has come of yet.
func runOf(c fixtures.Case, kubelet string, number int) report.Run {
	group, _ := testOf(c)
	return report.Run{Case: c.ID, Group: group, Title: c.Title, Rules: c.Rules, Labels: labels(c), Kubelet: kubelet, Repeat: number}
}

// broken is the verdict where there is no usable trace.
func broken(err error) reference.Verdict {
	return reference.Verdict{Outcome: reference.Broken, Reason: err.Error()}
}

// ended says what kept a run from its last step.
func ended(err error) *report.Ended {
	if err == nil {
		return nil
	}
	e := &report.Ended{Why: err.Error()}
	if wanted := new(record.AwaitError); errors.As(err, &wanted) {
		e.Awaited = wanted.What
	}
	if decided := new(harness.DecidedError); errors.As(err, &decided) {
		e.Decided = decided.Why
	}
	return e
}

// folder is where everything about a case on a kubelet goes; run as for settle.
func (s *Suite) folder(c fixtures.Case, kubelet string, run int) string {
	dir := filepath.Join(s.artifacts, kubelet, filepath.FromSlash(c.ID))
	if run > 0 {
		dir = filepath.Join(dir, fmt.Sprintf("run-%02d", run))
	}
	return dir
}

// named is how progress names a run.
func (s *Suite) named(run *report.Run) string {
	name := run.Case
	if s.several {
		name += " on " + run.Kubelet
	}
	if run.Repeat > 0 {
		name += fmt.Sprintf(" (%d of %d)", run.Repeat, s.options.Repeat)
	}
	return name
}

// prepareFolder empties the folder of a case and puts into it what is run.
func prepareFolder(dir string, c fixtures.Case) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing what an earlier run left behind: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the folder of the case: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "pod.yaml"), c.Manifest, 0o644); err != nil {
		return fmt.Errorf("saving the manifest: %w", err)
	}
	return nil
}

// saveVerdict writes verdict.json: the verdict as the judge prints it, and what somebody else made of
// the Pod. A case that was skipped has its reason there.
func saveVerdict(dir string, run *report.Run) error {
	v, err := json.Marshal(run.Verdict)
	if run.Outcome == report.Skipped {
		v, err = json.Marshal(map[string]string{"verdict": run.Outcome, "reason": run.Reason})
	}
	if err != nil {
		return fmt.Errorf("encoding the verdict: %w", err)
	}
	changes, err := json.Marshal(run.Admission)
	if err != nil {
		return fmt.Errorf("encoding what became of the Pod: %w", err)
	}
	var b bytes.Buffer
	// Both are objects with at least one field.
	if err := json.Indent(&b, fmt.Appendf(nil, `%s,"admission":%s}`, bytes.TrimSuffix(v, []byte("}")), changes), "", "  "); err != nil {
		return fmt.Errorf("encoding the verdict: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "verdict.json"), append(b.Bytes(), '\n'), 0o644); err != nil {
		return fmt.Errorf("saving the verdict %q: %w", run.Outcome, err)
	}
	return nil
}

// notRun is a run that an interrupted suite did not get to.
func notRun(run report.Run, why error) report.Run {
	run.Set(reference.Verdict{Outcome: reference.Inconclusive, Reason: fmt.Sprintf("the case was not run: %v", why)})
	return run
}

// announce prints what came of a run: one line for a pass, for anything else
// the whole of it and how to go on.
func (s *Suite) announce(run *report.Run, name string) {
	line := ""
	switch run.Outcome {
	case report.Skipped:
		line = name + ": skipped: " + run.Reason
	case report.Pass:
		line = fmt.Sprintf("%s: pass after %.1fs", name, run.Seconds)
	}
	switch admission := run.Admitted(); {
	case line == "" && s.tells:
		// Its test says it, so that it stands where a reader of go test looks for it.
		s.progress.Keep(s.explained(run))
	case line == "":
		s.progress.Print(s.explained(run))
	case admission == "":
		s.progress.Printf("%s", line)
	default:
		s.progress.Printf("%s; %s", line, admission)
	}
}

// explained is the whole explanation of a run, parted from what stands around it.
func (s *Suite) explained(run *report.Run) string {
	return "\n" + run.Text(s.shown(s.artifacts), s.options.FeatureGates) + "\n"
}

// rerun is the command that runs one case again, on the same kind of cluster.
func (s *Suite) rerun(id, kubelet string) string {
	words := []string{"go", "test", "./suites", "-count=1", "-run", s.pattern(id)}
	if file := s.files[kubelet]; file != "" {
		words = append(words, "-kubelet-files="+s.shown(file))
	} else if s.kubelets != nil {
		words = append(words, "-kubelets="+kubelet)
	}
	words = append(words, s.again...)
	return shellescape.QuoteCommand(words)
}

// shown is a path as a user at the root of the repository writes it.
func (s *Suite) shown(path string) string {
	if rel, err := filepath.Rel(s.root, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}
