package report

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/rules"
)

// severity orders the outcomes, worst first; known and fixed stand above the passes,
// skipped cases last.
var severity = []string{Violation, Broken, Unmodelled, Inconclusive, Fixed, Known, Pass, Skipped}

// rank is the place of a run among others, worst first. No outcome at all must not look
// harmless: its place is before all.
func (r *Run) rank() int { return slices.Index(severity, r.Outcome) }

// Set gives a run its verdict.
func (r *Run) Set(v reference.Verdict) {
	if v.Outcome == 0 {
		v = reference.Verdict{Outcome: reference.Broken, Reason: "the judge gave no verdict, which is a fault of podorder"}
	}
	r.Verdict, r.Outcome, r.Reason, r.Explanation = &v, v.Outcome.String(), v.Reason, ""
	if v.Outcome == reference.Pass {
		return
	}
	var b strings.Builder
	b.WriteString(strings.TrimRight(v.Text(), "\n") + "\n")
	fmt.Fprintf(&b, "  case     %s, kubelet %s: %s\n", r.Case, r.Kubelet, r.Title)
	if line := r.Admitted(); line != "" {
		fmt.Fprintf(&b, "  Pod      %s\n", line)
	}
	r.Explanation = b.String()
}

// Skip says that a case was not run, or cannot be judged by what was recorded.
func (r *Run) Skip(why string) {
	r.Verdict, r.Outcome, r.Reason, r.Explanation = nil, Skipped, why, ""
}

// Fails reports whether the run fails the whole. strict is [Report.Strict].
func (r *Run) Fails(strict bool) bool {
	switch r.Outcome {
	case Pass, Skipped:
		return false
	case Known:
		return strict
	}
	return true
}

// Text is the whole explanation, and how to go on: the path of the trace, and the commands
// that judge it and run the case again. at is the folder of the report as the reader
// writes it, gates are those of the kubelet. It is empty where there is nothing to explain.
func (r *Run) Text(at, gates string) string {
	if r.Explanation == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString(r.Explanation)
	if r.Trace != "" {
		file := path.Join(at, r.Trace)
		fmt.Fprintf(&b, "  trace    %s\n", file)
		more := ""
		if gates != "" {
			more = " -feature-gates=" + shellescape.Quote(gates)
		}
		if r.Fixtures != "" {
			more += " -fixtures=" + shellescape.Quote(r.Fixtures)
		}
		fmt.Fprintf(&b, "  replay   go run ./scripts/judge -trace %s%s\n", shellescape.Quote(file), more)
	}
	if r.Rerun != "" {
		fmt.Fprintf(&b, "  rerun    %s\n", r.Rerun)
	}
	return b.String()
}

// Brief is the short reason beside an outcome in a table.
func (r *Run) Brief() string {
	v := r.Verdict
	switch {
	case r.Outcome == Skipped && r.Trace == "":
		return r.Reason
	case r.Outcome == Skipped: // it was run, and much may have been seen
		return clip(r.Reason)
	case v != nil && v.Rule != "":
		s := v.Rule
		if v.Line > 0 {
			s += fmt.Sprintf(", line %d", v.Line)
		}
		if is := issues(v); is != "" {
			s += " (" + is + ")"
		}
		return s
	case v != nil && len(v.Unmodelled) > 0:
		return strings.Join(v.Unmodelled, ", ")
	}
	reason, _, _ := strings.Cut(r.Reason, "\n")
	if reason == "" && r.First != "" {
		reason = "second run; the first was inconclusive: " + r.First
	}
	return clip(reason)
}

// shared is the short reason, without what is particular to one recording.
func (r *Run) shared() string {
	if v := r.Verdict; v != nil && v.Rule != "" {
		if is := issues(v); is != "" {
			return v.Rule + " (" + is + ")"
		}
		return v.Rule
	}
	return r.Brief()
}

// beside is what stands beside an outcome in a table: the short reason, and what somebody
// else made of the Pod.
func (r *Run) beside() string {
	a, b := r.Brief(), r.Admitted()
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// mostChanges is how many changes of one kind a line names.
const mostChanges = 8

// Admitted says in one line what somebody else made of the Pod: "admission added:
// initContainers[mesh-proxy]; changed: spec.dnsPolicy". It is empty where nobody did.
func (r *Run) Admitted() string {
	var kinds []string
	paths := map[string][]string{}
	for _, change := range r.Admission {
		kind, path, _ := strings.Cut(change, " ")
		if paths[kind] == nil {
			kinds = append(kinds, kind)
		}
		paths[kind] = append(paths[kind], path)
	}
	if len(kinds) == 0 {
		return ""
	}
	slices.Sort(kinds) // added, changed, removed
	for i, kind := range kinds {
		all := paths[kind]
		if over := len(all) - mostChanges; over > 0 {
			all = append(all[:mostChanges], fmt.Sprintf("%d more", over))
		}
		kinds[i] = kind + ": " + strings.Join(all, ", ")
	}
	return "admission " + strings.Join(kinds, "; ")
}

// issues are the upstream numbers behind a known or fixed verdict; the name of a fault that nobody
// has reported.
func issues(v *reference.Verdict) string {
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
