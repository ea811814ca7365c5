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

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
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
// goes wrong on the way is the reason of a verdict. run counts the runs of a
// repeated case from 1; it is 0 for a case that runs once.
func (s *Suite) settle(ctx context.Context, c fixtures.Case, kubelet, node string, run int) (res Result) {
	res = Result{Case: c.ID, Title: c.Title, Kubelet: kubelet}
	name := s.named(res, run)
	dir := s.folder(c, kubelet, run)
	start := time.Now()
	defer func() {
		// A panic in a test ends the process before anything is cleaned up.
		if p := recover(); p != nil {
			res.Verdict = reference.Verdict{Outcome: reference.Broken, Reason: fmt.Sprintf("panic while running the case: %v", p)}
		}
		if res.Skipped != "" && res.Trace == "" {
			_ = os.RemoveAll(dir) // nothing was recorded; the reason is in the report
			s.progress.Printf("%s: skipped: %s", name, res.Skipped)
			return
		}
		res.Took = time.Since(start)
		if err := saveVerdict(dir, res); err != nil {
			res.Skipped, res.Verdict = "", reference.Verdict{Outcome: reference.Broken, Reason: err.Error()}
		}
		s.announce(res, name)
	}()
	if err := prepareFolder(dir, c); err != nil {
		res.Verdict = reference.Verdict{Outcome: reference.Broken, Reason: err.Error()}
		return res
	}
	s.progress.Printf("%s: started", name)
	rec, err := s.record(ctx, c, node, dir)
	if skip := new(skipError); errors.As(err, &skip) && rec.trace == nil && ctx.Err() == nil {
		res.Skipped = skip.why
		return res
	}
	if rec.path != "" {
		if rel, err := filepath.Rel(s.artifacts, rec.path); err == nil {
			res.Trace = filepath.ToSlash(rel)
		}
	}
	if rec.trace != nil && rec.trace.Header.Kubelet != "" && versionOf(kubelet) != rec.trace.Header.Kubelet {
		res.Kubelet = rec.trace.Header.Kubelet
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx) // what that broke is of no interest
	}
	j := judge(c, s.options.FeatureGates, rec.trace, err)
	res.Verdict, res.Skipped, res.changes = j.verdict, j.skipped, j.changes
	s.claim(res, rec.trace)
	// A run that is being interrupted has no time for it.
	if !res.Verdict.Outcome.Green() && rec.evidence != nil && ctx.Err() == nil {
		ctx, cancel := context.WithTimeoutCause(ctx, evidencePatience, fmt.Errorf("gave up after %v", evidencePatience))
		defer cancel()
		if err := rec.evidence(ctx); err != nil {
			s.progress.Printf("%s: evidence is incomplete: %v", name, err)
		}
	}
	return res
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
func (s *Suite) named(res Result, run int) string {
	name := res.Case
	if s.several {
		name += " on " + res.Kubelet
	}
	if run > 0 {
		name += fmt.Sprintf(" (%d of %d)", run, s.options.Repeat)
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
func saveVerdict(dir string, res Result) error {
	v, err := json.Marshal(res.Verdict)
	if res.Skipped != "" {
		v, err = json.Marshal(map[string]string{"verdict": res.Word(), "reason": res.Skipped})
	}
	if err != nil {
		return fmt.Errorf("encoding the verdict: %w", err)
	}
	changes, err := json.Marshal(res.changes.List())
	if err != nil {
		return fmt.Errorf("encoding what became of the Pod: %w", err)
	}
	var b bytes.Buffer
	// Both are objects with at least one field.
	if err := json.Indent(&b, fmt.Appendf(nil, `%s,"admission":%s}`, bytes.TrimSuffix(v, []byte("}")), changes), "", "  "); err != nil {
		return fmt.Errorf("encoding the verdict: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "verdict.json"), append(b.Bytes(), '\n'), 0o644); err != nil {
		return fmt.Errorf("saving the verdict %q: %w", res.Word(), err)
	}
	return nil
}

// notRun is the result of a case that an interrupted run did not get to.
func notRun(c fixtures.Case, kubelet string, why error) Result {
	return Result{Case: c.ID, Title: c.Title, Kubelet: kubelet, Verdict: reference.Verdict{
		Outcome: reference.Inconclusive, Reason: fmt.Sprintf("the case was not run: %v", why),
	}}
}

// announce prints the verdict of a run: one line for a pass, for anything else
// the whole of it and how to go on.
func (s *Suite) announce(res Result, name string) {
	admission := res.changes.String()
	switch {
	case res.Skipped != "":
		s.progress.Printf("%s: %s", name, joined("skipped: "+res.Skipped, admission))
		return
	case res.Verdict.Outcome == reference.Pass:
		s.progress.Printf("%s: %s", name, joined("pass after "+seconds(res.Took), admission))
		return
	}
	var b strings.Builder
	b.WriteString("\n" + strings.TrimRight(res.Verdict.Text(), "\n") + "\n")
	fmt.Fprintf(&b, "  case     %s, kubelet %s: %s\n", res.Case, res.Kubelet, res.Title)
	if admission != "" {
		fmt.Fprintf(&b, "  Pod      %s\n", admission)
	}
	if res.Trace != "" {
		path := s.shown(filepath.Join(s.artifacts, filepath.FromSlash(res.Trace)))
		fmt.Fprintf(&b, "  trace    %s\n", path)
		more := ""
		if g := s.options.FeatureGates; g != "" {
			more = " -feature-gates=" + quote(g)
		}
		if dir := s.caseOf(res.Case).Dir; dir != "" {
			more += " -fixtures=" + quote(s.shown(dir))
		}
		fmt.Fprintf(&b, "  replay   go run ./scripts/judge -trace %s%s\n", quote(path), more)
	}
	fmt.Fprintf(&b, "  rerun    %s\n\n", s.rerun(res))
	s.progress.Print(b.String())
}

// rerun is the command that runs one case again, on the same kind of cluster.
func (s *Suite) rerun(res Result) string {
	words := []string{"go", "test", "./suites", "-count=1", "-run", s.pattern(res.Case)}
	if file := s.files[res.Kubelet]; file != "" {
		words = append(words, "-kubelet-files="+s.shown(file))
	} else if s.kubelets != nil {
		words = append(words, "-kubelets="+res.Kubelet)
	}
	words = append(words, s.again...)
	for i, w := range words {
		words[i] = quote(w)
	}
	return strings.Join(words, " ")
}

// shown is a path as a user at the root of the repository writes it.
func (s *Suite) shown(path string) string {
	if rel, err := filepath.Rel(s.root, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}

// quote makes a word safe for a shell.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@%+", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
