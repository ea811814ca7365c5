package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podorder/podorder/reference"
)

// Result is what became of one case.
type Result struct {
	Case    string
	Title   string
	Kubelet string
	// Verdict is the zero value for a case that was skipped.
	Verdict reference.Verdict
	// Skipped says why the case was not run.
	Skipped string
	// Took is the time from the case's start to its verdict.
	Took time.Duration
	// Trace is the path of the trace, relative to the folder of the artifacts;
	// empty where none was saved.
	Trace string
}

// Word is the verdict, or "skipped".
func (r Result) Word() string {
	if r.Skipped != "" {
		return "skipped"
	}
	return r.Verdict.Outcome.String()
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
	case r.Skipped != "":
		return r.Skipped
	case v.Rule != "":
		s := v.Rule
		if v.Line > 0 {
			s += fmt.Sprintf(", line %d", v.Line)
		}
		if v.Issue != "" {
			s += " (" + v.Issue + ")"
		}
		return s
	case len(v.Unmodelled) > 0:
		return strings.Join(v.Unmodelled, ", ")
	}
	reason, _, _ := strings.Cut(v.Reason, "\n")
	const most = 100
	if r := []rune(reason); len(r) > most {
		return string(r[:most]) + "…"
	}
	return reason
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

// Report is the outcome of a run.
type Report struct {
	// Kubernetes is the version of the API server, empty if none was reached.
	Kubernetes string
	Runtime    string
	Results    []Result
	Strict     bool
	// Wall is the time from the start of the first case to the last verdict.
	Wall time.Duration
	// Cluster is the time that it took until the cluster could run cases.
	Cluster time.Duration
}

// sort puts the worst first.
func (r *Report) sort() {
	slices.SortStableFunc(r.Results, func(a, b Result) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Case, b.Case), cmp.Compare(a.Kubelet, b.Kubelet))
	})
}

// judged returns how many cases have a verdict.
func (r *Report) judged() int {
	n := 0
	for _, res := range r.Results {
		if res.Skipped == "" {
			n++
		}
	}
	return n
}

// Err says why the run fails; nil if it does not.
func (r *Report) Err() error {
	failed := 0
	for _, res := range r.Results {
		if res.fails(r.Strict) {
			failed++
		}
	}
	switch {
	case r.judged() == 0 && len(r.Results) > 0:
		return fmt.Errorf("no case was judged: all %d are outside of their versions", len(r.Results))
	case r.judged() == 0:
		return fmt.Errorf("no case was judged; -run and -cases have to select at least one")
	case failed > 0:
		return fmt.Errorf("%d of %d cases failed", failed, r.judged())
	}
	return nil
}

// longest returns the case that took longest.
func (r *Report) longest() Result {
	var most Result
	for _, res := range r.Results {
		if res.Took > most.Took {
			most = res
		}
	}
	return most
}

// counts returns the line that sums a run up: "2 violation, 5 pass, 1 skipped".
func (r *Report) counts() string {
	var words []string
	n := map[string]int{}
	for _, res := range r.Results {
		if n[res.Word()]++; n[res.Word()] == 1 {
			words = append(words, res.Word())
		}
	}
	for i, w := range words {
		words[i] = fmt.Sprintf("%d %s", n[w], w)
	}
	return strings.Join(words, ", ")
}

// timing returns the figures of a run: a wall time close to that of the longest
// case means that the others cost nothing.
func (r *Report) timing() string {
	most := r.longest()
	if most.Took <= 0 || r.Wall <= 0 {
		return ""
	}
	s := fmt.Sprintf("all cases in %s, the longest (%s) in %s: ratio %.2f", seconds(r.Wall), most.Case, seconds(most.Took), r.Wall.Seconds()/most.Took.Seconds())
	if r.Cluster > 0 {
		s = fmt.Sprintf("cluster ready after %s; %s", seconds(r.Cluster), s)
	}
	return s
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }

// Table returns the verdicts as text, worst first.
func (r *Report) Table() string {
	r.sort()
	rows := [][]string{{"verdict", "case", "kubelet", "time", ""}}
	for _, res := range r.Results {
		took := ""
		if res.Skipped == "" {
			took = seconds(res.Took)
		}
		rows = append(rows, []string{res.Word(), res.Case, res.Kubelet, took, res.what()})
	}
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if i == 3 {
				fmt.Fprintf(&line, "%*s  ", width[i], cell)
			} else {
				fmt.Fprintf(&line, "%-*s  ", width[i], cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	fmt.Fprintf(&b, "\n%s\n", r.counts())
	if t := r.timing(); t != "" {
		b.WriteString(t + "\n")
	}
	return b.String()
}

// Markdown returns the report for a step summary: the table, then every verdict
// that is not a pass, whole.
func (r *Report) Markdown() string {
	r.sort()
	var b strings.Builder
	title := "podorder"
	if r.Kubernetes != "" {
		title += ", Kubernetes " + r.Kubernetes
	}
	if r.Runtime != "" {
		title += ", " + r.Runtime
	}
	fmt.Fprintf(&b, "## %s\n\n", title)
	if err := r.Err(); err != nil {
		fmt.Fprintf(&b, "**failed: %v**\n\n", err)
	}
	if len(r.Results) == 0 {
		return b.String()
	}
	b.WriteString("| verdict | case | kubelet | time | |\n|---|---|---|---:|---|\n")
	for _, res := range r.Results {
		took := ""
		if res.Skipped == "" {
			took = seconds(res.Took)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", cell(res.Word()), cell(res.Case), cell(res.Kubelet), took, cell(res.what()))
	}
	fmt.Fprintf(&b, "\n%s", r.counts())
	if t := r.timing(); t != "" {
		b.WriteString("; " + t)
	}
	b.WriteString("\n")
	for _, res := range r.Results {
		if res.Skipped != "" || res.Verdict.Outcome == reference.Pass {
			continue
		}
		fmt.Fprintf(&b, "\n### %s\n\n```\n%s\n```\n", res.Case, strings.TrimRight(res.Verdict.Text(), "\n"))
	}
	return b.String()
}

// cell keeps a text inside its cell of a Markdown table.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ").Replace(s)
}

// jsonReport is verdicts.json.
type jsonReport struct {
	Kubernetes string       `json:"kubernetes,omitempty"`
	Runtime    string       `json:"runtime,omitempty"`
	Failed     string       `json:"failed,omitempty"`
	Cluster    float64      `json:"clusterSeconds,omitempty"`
	Wall       float64      `json:"wallSeconds,omitempty"`
	Cases      []jsonResult `json:"cases"`
}

type jsonResult struct {
	Case    string             `json:"case"`
	Kubelet string             `json:"kubelet,omitempty"`
	Seconds float64            `json:"seconds,omitempty"`
	Skipped string             `json:"skipped,omitempty"`
	Reason  string             `json:"reason,omitempty"`
	Trace   string             `json:"trace,omitempty"`
	Verdict *reference.Verdict `json:"verdict,omitempty"`
}

// JSON returns verdicts.json.
func (r *Report) JSON() ([]byte, error) {
	r.sort()
	out := jsonReport{
		Kubernetes: r.Kubernetes, Runtime: r.Runtime,
		Cluster: r.Cluster.Seconds(), Wall: r.Wall.Seconds(),
		Cases: []jsonResult{},
	}
	if err := r.Err(); err != nil {
		out.Failed = err.Error()
	}
	for _, res := range r.Results {
		j := jsonResult{Case: res.Case, Kubelet: res.Kubelet, Seconds: res.Took.Seconds(), Skipped: res.Skipped, Reason: res.Verdict.Reason, Trace: res.Trace}
		if res.Skipped == "" {
			j.Verdict = &res.Verdict
		}
		out.Cases = append(out.Cases, j)
	}
	b, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding the verdicts: %w", err)
	}
	return append(b, '\n'), nil
}
