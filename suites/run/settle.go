package run

import (
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

// recorder runs a case and records it into a folder.
type recorder func(ctx context.Context, c fixtures.Case, dir string) (recorded, error)

// evidencePatience bounds the collecting of evidence for one case.
const evidencePatience = time.Minute

// settle runs one case, has it judged, saves both, and prints the verdict. It
// never returns without a verdict; what goes wrong on the way is the reason.
func (s *Suite) settle(ctx context.Context, c fixtures.Case, kubelet string) (res Result) {
	res = Result{Case: c.ID, Title: c.Title, Kubelet: kubelet}
	dir := filepath.Join(s.artifacts, kubelet, filepath.FromSlash(c.ID))
	start := time.Now()
	defer func() {
		// A panic in a test ends the process before anything is cleaned up.
		if p := recover(); p != nil {
			res.Verdict = reference.Verdict{Outcome: reference.Broken, Reason: fmt.Sprintf("panic while running the case: %v", p)}
		}
		res.Took = time.Since(start)
		if err := saveVerdict(dir, res.Verdict); err != nil {
			res.Verdict = reference.Verdict{Outcome: reference.Broken, Reason: err.Error()}
		}
		s.announce(res)
	}()
	if err := prepareFolder(dir, c); err != nil {
		res.Verdict = reference.Verdict{Outcome: reference.Broken, Reason: err.Error()}
		return res
	}
	s.progress.Printf("%s: started", c.ID)
	rec, err := s.record(ctx, c, dir)
	if rec.path != "" {
		if rel, err := filepath.Rel(s.artifacts, rec.path); err == nil {
			res.Trace = filepath.ToSlash(rel)
		}
	}
	if rec.trace != nil && rec.trace.Header.Kubelet != "" {
		res.Kubelet = rec.trace.Header.Kubelet
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx) // what that broke is of no interest
	}
	res.Verdict = judge(c, rec.trace, err)
	// A run that is being interrupted has no time for it.
	if !res.Verdict.Outcome.Green() && rec.evidence != nil && ctx.Err() == nil {
		ctx, cancel := context.WithTimeoutCause(ctx, evidencePatience, fmt.Errorf("patience of %v is over", evidencePatience))
		defer cancel()
		if err := rec.evidence(ctx); err != nil {
			s.progress.Printf("%s: evidence is incomplete: %v", c.ID, err)
		}
	}
	return res
}

// judge returns the verdict of a case. ran is what went wrong while it was run;
// what was recorded until then is judged all the same, since a fault of the
// kubelet is the likeliest reason for a step that never ended.
func judge(c fixtures.Case, tr *trace.Trace, ran error) reference.Verdict {
	broken := func(err error) reference.Verdict {
		return reference.Verdict{Outcome: reference.Broken, Reason: err.Error()}
	}
	if tr == nil {
		if ran == nil {
			ran = errors.New("nothing was recorded")
		}
		return broken(ran)
	}
	pod, err := reference.ParsePod(c.Manifest)
	if err != nil {
		return broken(fmt.Errorf("pod.yaml of the case: %w", err))
	}
	kubelet, err := reference.ParseKubelet(tr.Header.Kubelet)
	if err != nil {
		return broken(errors.Join(ran, fmt.Errorf("header of the trace: %w", err)))
	}
	v := reference.Check(kubelet, pod, tr).Witnessed(tr, c.Witness)
	if ran == nil {
		return v
	}
	switch v.Outcome {
	case reference.Violation, reference.Known, reference.Unmodelled, reference.Broken:
		v.Reason = strings.TrimPrefix(v.Reason+"; the run did not end well either: "+ran.Error(), "; ")
	default:
		v.Outcome = reference.Inconclusive
		v.Reason = "the run did not end well: " + ran.Error()
		if v.Accepted > 0 {
			v.Reason += "; everything recorded until then is allowed"
		}
	}
	return v
}

// prepareFolder empties the folder of a case and puts into it what is run.
func prepareFolder(dir string, c fixtures.Case) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing what an earlier run left: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the folder of the case: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "pod.yaml"), c.Manifest, 0o644); err != nil {
		return fmt.Errorf("saving the manifest: %w", err)
	}
	return nil
}

func saveVerdict(dir string, v reference.Verdict) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the verdict: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "verdict.json"), append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("saving the verdict %q: %w", v.Outcome, err)
	}
	return nil
}

// notRun is the result of a case that an interrupted run did not get to.
func (s *Suite) notRun(c fixtures.Case, why error) Result {
	return Result{Case: c.ID, Title: c.Title, Kubelet: s.node.kubelet, Verdict: reference.Verdict{
		Outcome: reference.Inconclusive, Reason: fmt.Sprintf("the case was not run: %v", why),
	}}
}

// announce prints the verdict of a case: one line for a pass, for anything else
// the whole of it and how to go on.
func (s *Suite) announce(res Result) {
	if res.Verdict.Outcome == reference.Pass {
		s.progress.Printf("%s: pass after %s", res.Case, seconds(res.Took))
		return
	}
	var b strings.Builder
	b.WriteString("\n" + strings.TrimRight(res.Verdict.Text(), "\n") + "\n")
	fmt.Fprintf(&b, "  case     %s, kubelet %s: %s\n", res.Case, res.Kubelet, res.Title)
	if res.Trace != "" {
		path := s.shown(filepath.Join(s.artifacts, filepath.FromSlash(res.Trace)))
		fmt.Fprintf(&b, "  trace    %s\n", path)
		fmt.Fprintf(&b, "  replay   go run ./scripts/judge -trace %s\n", quote(path))
	}
	fmt.Fprintf(&b, "  rerun    %s\n\n", s.rerun(res.Case))
	s.progress.Print(b.String())
}

// rerun is the command that runs one case again, on the same kind of cluster.
func (s *Suite) rerun(id string) string {
	group, name, _ := strings.Cut(id, "/")
	words := []string{"go", "test", "./suites", "-count=1", "-run", "Test" + title(group) + "/^" + name + "$"}
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
