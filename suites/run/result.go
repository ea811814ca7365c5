package run

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/admission"
	"github.com/podorder/podorder/reference/rules"
)

// Result is the outcome of one case on one kubelet.
type Result struct {
	Case    string
	Title   string
	Kubelet string
	// Verdict is the zero value for a case that was skipped.
	Verdict reference.Verdict
	// Skipped says why the case was not run, or cannot be judged by what was
	// recorded.
	Skipped string
	// Took is the time from the case's start to its verdict.
	Took time.Duration
	// Trace is the path of the trace, relative to the folder of the artifacts;
	// empty where none was saved.
	Trace string
	// First is why a first run of the case was inconclusive, so that this is the
	// second; empty where the case ran once.
	First string
	// changes are what somebody else made of the Pod on its way into the cluster.
	changes admission.Changes
	// Runs are the results of each run of a repeated case, whose own result is
	// the worst of them; nil for a case that ran once.
	Runs []Result
}

// Word is the verdict, or "skipped".
func (r Result) Word() string {
	if r.Skipped != "" {
		return "skipped"
	}
	return r.Verdict.Outcome.String()
}

// mark is the word, and of a repeated case how many of its runs ended with it:
// "known 3/20".
func (r Result) mark() string {
	if len(r.Runs) == 0 {
		return r.Word()
	}
	return fmt.Sprintf("%s %d/%d", r.Word(), r.same(), len(r.Runs))
}

// same returns how many runs of a repeated case ended as it did.
func (r Result) same() int {
	n := 0
	for _, run := range r.Runs {
		if run.Word() == r.Word() {
			n++
		}
	}
	return n
}

// fails reports whether the result fails the run.
func (r Result) fails(strict bool) bool {
	switch {
	case r.Skipped != "":
		return false
	case r.Verdict.Outcome == reference.Known:
		return strict
	}
	return !r.Verdict.Outcome.Green()
}

// what is the short reason beside a verdict in the table.
func (r Result) what() string {
	v := r.Verdict
	switch {
	case r.Skipped != "" && r.Trace == "":
		return r.Skipped
	case r.Skipped != "": // it was run, and much may have been seen
		return clip(r.Skipped)
	case v.Rule != "":
		s := v.Rule
		if v.Line > 0 {
			s += fmt.Sprintf(", line %d", v.Line)
		}
		if is := issues(v); is != "" {
			s += " (" + is + ")"
		}
		return s
	case len(v.Unmodelled) > 0:
		return strings.Join(v.Unmodelled, ", ")
	}
	reason, _, _ := strings.Cut(v.Reason, "\n")
	if reason == "" && r.First != "" {
		reason = "second run; the first was inconclusive: " + r.First
	}
	return clip(reason)
}

// issues are the upstream numbers behind a known or fixed verdict; the name of a fault that nobody
// has reported.
func issues(v reference.Verdict) string {
	if v.Outcome != reference.Known || len(v.Deviations) == 0 {
		return v.Issue
	}
	names := make([]string, len(v.Deviations))
	for i, d := range v.Deviations {
		if names[i] = d.Issue; d.Issue == rules.NoIssue {
			names[i] = d.Name
		}
	}
	return strings.Join(names, ", ")
}

// clip keeps a reason short enough for a table.
func clip(reason string) string {
	const most = 100
	if r := []rune(reason); len(r) > most {
		return string(r[:most]) + "…"
	}
	return reason
}

// beside is what stands beside a verdict in the table: the short reason, and what somebody
// else made of the Pod.
func (r Result) beside() string { return joined(r.what(), r.changes.String()) }

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// severity orders the outcomes, worst first; known and fixed stand above the
// passes, skipped cases last.
var severity = []reference.Outcome{
	reference.Violation, reference.Broken, reference.Unmodelled, reference.Inconclusive,
	reference.Fixed, reference.Known, reference.Pass,
}

func (r Result) rank() int {
	if r.Skipped != "" {
		return len(severity) + 1
	}
	if i := slices.Index(severity, r.Verdict.Outcome); i >= 0 {
		return i
	}
	// No outcome at all must not look harmless.
	return -1
}

// merge makes one result of the runs of a repeated case: the worst of them. An
// issue that showed in some runs is not fixed because it did not in others.
func merge(runs []Result) Result {
	if len(runs) == 1 {
		return runs[0]
	}
	shown := slices.ContainsFunc(runs, func(r Result) bool { return r.Word() == reference.Known.String() })
	rank := func(r Result) int {
		if shown && r.Word() == reference.Fixed.String() {
			return slices.Index(severity, reference.Known) + 1
		}
		return r.rank()
	}
	worst := runs[0]
	var took time.Duration
	for _, r := range runs {
		if rank(r) < rank(worst) {
			worst = r
		}
		took = max(took, r.Took)
	}
	worst.Runs, worst.Took = runs, took
	return worst
}

// judged returns how many results are verdicts.
func judged(results []Result) int {
	n := 0
	for _, res := range results {
		if res.Skipped == "" {
			n++
		}
	}
	return n
}

// shared is the short reason, without what is particular to one recording.
func shared(res Result) string {
	if v := res.Verdict; res.Skipped == "" && v.Rule != "" {
		if is := issues(v); is != "" {
			return v.Rule + " (" + is + ")"
		}
		return v.Rule
	}
	return res.what()
}
