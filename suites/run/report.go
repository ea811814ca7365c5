package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/admission"
	"github.com/podorder/podorder/suites/claims"
)

// Result is what became of one case on one kubelet.
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
	// Runs are what became of each run of a repeated case, whose own result is
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
	if reason == "" && r.First != "" {
		reason = "second run; the first was inconclusive: " + r.First
	}
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

// Report is the outcome of a run.
type Report struct {
	// Kubernetes is the version of the API server, empty if none was reached.
	Kubernetes string
	Runtime    string
	Results    []Result
	Strict     bool
	// Wall is the time from the start of the first case to the last verdict, of
	// all waves together.
	Wall time.Duration
	// Cluster is the time that it took until the clusters could run cases.
	Cluster time.Duration
	// Claims are what each kubelet made of what is said in public.
	Claims []claims.Column
}

// sort puts the worst first.
func (r *Report) sort() {
	slices.SortStableFunc(r.Results, func(a, b Result) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Case, b.Case), compareVersions(a.Kubelet, b.Kubelet))
	})
}

// kubelets returns the versions of the kubelets, the oldest first.
func (r *Report) kubelets() []string {
	var out []string
	for _, res := range r.Results {
		if !slices.Contains(out, res.Kubelet) {
			out = append(out, res.Kubelet)
		}
	}
	slices.SortFunc(out, compareVersions)
	return out
}

// of returns the results on one kubelet.
func (r *Report) of(kubelet string) (out []Result) {
	for _, res := range r.Results {
		if res.Kubelet == kubelet {
			out = append(out, res)
		}
	}
	return out
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

// Err says why the run fails; nil if it does not.
func (r *Report) Err() error {
	failed := 0
	for _, res := range r.Results {
		if res.fails(r.Strict) {
			failed++
		}
	}
	switch {
	case len(r.Results) == 0:
		return fmt.Errorf("no case was judged; -run, -cases and -labels have to select at least one")
	case judged(r.Results) == 0:
		return fmt.Errorf("no case was judged: all %d were skipped", len(r.Results))
	case failed > 0:
		return fmt.Errorf("%d of %d cases failed", failed, judged(r.Results))
	}
	for _, k := range r.kubelets() {
		if results := r.of(k); judged(results) == 0 {
			return fmt.Errorf("no case was judged on kubelet %s: all %d were skipped", k, len(results))
		}
	}
	return nil
}

// longest returns the result that took longest.
func (r *Report) longest() Result {
	var most Result
	for _, res := range r.Results {
		if res.Took > most.Took {
			most = res
		}
	}
	return most
}

// counts returns the line that sums results up: "2 violation, 5 pass, 1 skipped".
func counts(results []Result) string {
	var words []string
	n := map[string]int{}
	for _, res := range results {
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

// Table returns the verdicts as text, worst first. Several kubelets have a column
// each; behind the table stands what is not a pass, and what differs.
func (r *Report) Table() string {
	r.sort()
	var b strings.Builder
	if kubelets := r.kubelets(); len(kubelets) > 1 {
		b.WriteString(align(r.matrix(kubelets), -1))
		b.WriteString(r.notes())
		for _, a := range r.admitted() {
			b.WriteString(a + "\n")
		}
		if d := r.differences(); len(d) > 0 {
			b.WriteString("\nwhat differs between the kubelets\n  " + strings.Join(d, "\n  ") + "\n")
		} else {
			b.WriteString("\nnothing differs between the kubelets\n")
		}
		b.WriteString("\n")
		for _, k := range kubelets {
			fmt.Fprintf(&b, "%s: %s\n", k, counts(r.of(k)))
		}
	} else {
		rows := [][]string{{"verdict", "case", "kubelet", "time", ""}}
		for _, res := range r.Results {
			took := ""
			if res.Skipped == "" {
				took = seconds(res.Took)
			}
			rows = append(rows, []string{res.mark(), res.Case, res.Kubelet, took, res.beside()})
		}
		b.WriteString(align(rows, 3))
		fmt.Fprintf(&b, "\n%s\n", counts(r.Results))
	}
	if t := r.timing(); t != "" {
		b.WriteString(t + "\n")
	}
	return b.String()
}

// align makes columns of rows; one of them, if any, is aligned to the right.
func align(rows [][]string, right int) string {
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
			if i == right {
				fmt.Fprintf(&line, "%*s  ", width[i], cell)
			} else {
				fmt.Fprintf(&line, "%-*s  ", width[i], cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// byCase returns the results of each case, those with the worst first, and
// within a case by kubelet. The results must be sorted.
func (r *Report) byCase() [][]Result {
	at := map[string]int{}
	var out [][]Result
	for _, res := range r.Results {
		i, ok := at[res.Case]
		if !ok {
			i, at[res.Case] = len(out), len(out)
			out = append(out, nil)
		}
		out[i] = append(out[i], res)
	}
	for _, results := range out {
		slices.SortStableFunc(results, func(a, b Result) int { return compareVersions(a.Kubelet, b.Kubelet) })
	}
	return out
}

// matrix has a row for each case and a column for each kubelet.
func (r *Report) matrix(kubelets []string) [][]string {
	rows := [][]string{append([]string{"case"}, kubelets...)}
	for _, results := range r.byCase() {
		row := make([]string, len(kubelets)+1)
		row[0] = results[0].Case
		for _, res := range results {
			row[1+slices.Index(kubelets, res.Kubelet)] = res.mark()
		}
		rows = append(rows, row)
	}
	return rows
}

// notes says why each result of several kubelets is not a pass; kubelets that
// agree share a line.
func (r *Report) notes() string {
	type note struct{ word, id, what string }
	var order []note
	on := map[note][]string{}
	for _, results := range r.byCase() {
		for _, res := range results {
			if res.Word() == reference.Pass.String() {
				continue
			}
			n := note{res.Word(), res.Case, shared(res)}
			if res.Skipped != "" { // the reason is often the same for many
				n.id = ""
			}
			if on[n] == nil {
				order = append(order, n)
			}
			if !slices.Contains(on[n], res.Kubelet) {
				on[n] = append(on[n], res.Kubelet)
			}
		}
	}
	if len(order) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n")
	for _, n := range order {
		text := n.word
		if n.id != "" {
			text += " " + n.id
		}
		text += " on " + strings.Join(on[n], ", ")
		if n.what != "" {
			text += ": " + n.what
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

// admitted says what somebody else made of the Pods, once for all cases in which that was the same.
func (r *Report) admitted() (out []string) {
	cases := map[string][]string{}
	for _, res := range r.Results {
		line := res.changes.String()
		if line == "" {
			continue
		}
		if cases[line] == nil {
			out = append(out, line)
		}
		if !slices.Contains(cases[line], res.Case) {
			cases[line] = append(cases[line], res.Case)
		}
	}
	for i, line := range out {
		if ids := cases[line]; len(ids) == 1 {
			out[i] += " (" + ids[0] + ")"
		} else {
			out[i] += fmt.Sprintf(" (%d cases)", len(ids))
		}
	}
	return out
}

// shared is the short reason, without what is particular to one recording.
func shared(res Result) string {
	if v := res.Verdict; res.Skipped == "" && v.Rule != "" {
		if v.Issue != "" {
			return v.Rule + " (" + v.Issue + ")"
		}
		return v.Rule
	}
	return res.what()
}

// differences names the cases and claims that did not come out the same on all
// kubelets. A case that was skipped on one differs from nothing.
func (r *Report) differences() (out []string) {
	for _, results := range r.byCase() {
		var order []string
		on := map[string][]string{}
		for _, res := range results {
			if res.Skipped != "" {
				continue
			}
			w := res.Word()
			if res.Verdict.Rule != "" {
				w += " " + shared(res)
			}
			if on[w] == nil {
				order = append(order, w)
			}
			on[w] = append(on[w], res.Kubelet)
		}
		if len(order) < 2 {
			continue
		}
		for i, w := range order {
			order[i] = w + " on " + strings.Join(on[w], ", ")
		}
		out = append(out, results[0].Case+": "+strings.Join(order, "; "))
	}
	for _, id := range claims.Differ(r.Claims) {
		var parts []string
		for _, col := range r.Claims {
			for _, res := range col.Results {
				if res.Claim == id && res.Finding != claims.NotSeen {
					parts = append(parts, fmt.Sprintf("%s on %s", res.Finding, col.Kubelet))
				}
			}
		}
		out = append(out, "claim ("+id+"): "+strings.Join(parts, "; "))
	}
	return out
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
	if kubelets := r.kubelets(); len(kubelets) > 1 {
		for i, row := range r.matrix(kubelets) {
			for j := range row {
				row[j] = cell(row[j])
			}
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
			if i == 0 {
				b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
			}
		}
		for _, a := range r.admitted() {
			fmt.Fprintf(&b, "\n- %s", cell(a))
		}
		for _, d := range r.differences() {
			fmt.Fprintf(&b, "\n- differs: %s", cell(d))
		}
		b.WriteString("\n")
		for _, k := range kubelets {
			fmt.Fprintf(&b, "\n- %s: %s", k, counts(r.of(k)))
		}
	} else {
		b.WriteString("| verdict | case | kubelet | time | |\n|---|---|---|---:|---|\n")
		for _, res := range r.Results {
			took := ""
			if res.Skipped == "" {
				took = seconds(res.Took)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", cell(res.mark()), cell(res.Case), cell(res.Kubelet), took, cell(res.beside()))
		}
		fmt.Fprintf(&b, "\n%s", counts(r.Results))
	}
	if t := r.timing(); t != "" {
		b.WriteString("; " + t)
	}
	b.WriteString("\n")
	if text := r.claimsSeen(claimsText); text != "" {
		fmt.Fprintf(&b, "\n### Claims\n\n```\n%s```\n", text)
	}
	for _, res := range r.Results {
		if res.Skipped != "" || res.Verdict.Outcome == reference.Pass {
			continue
		}
		fmt.Fprintf(&b, "\n### %s on %s\n\n```\n%s\n```\n", res.Case, res.Kubelet, strings.TrimRight(res.Verdict.Text(), "\n"))
	}
	return b.String()
}

// claimsSeen is what came of the claims that the run had something to show of. file
// has all of them. It is empty where no trace was recorded.
func (r *Report) claimsSeen(file string) string {
	if len(r.Claims) == 0 {
		return ""
	}
	all, seen := len(claims.Claims()), claims.Seen(r.Claims)
	n := len(seen[0].Results)
	if n == 0 {
		return fmt.Sprintf("none of the %d public claims was seen: %s\n", all, file)
	}
	text := "what is said in public, and what came of it\n" + claims.Text(seen)
	if n < all {
		text += fmt.Sprintf("\n%d of %d claims were seen; %s has the others as well\n", n, all, file)
	}
	return text
}

// cell keeps a text inside its cell of a Markdown table.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ").Replace(s)
}

// jsonReport is verdicts.json.
type jsonReport struct {
	Kubernetes string       `json:"kubernetes,omitempty"`
	Runtime    string       `json:"runtime,omitempty"`
	Kubelets   []string     `json:"kubelets,omitempty"`
	Failed     string       `json:"failed,omitempty"`
	Cluster    float64      `json:"clusterSeconds,omitempty"`
	Wall       float64      `json:"wallSeconds,omitempty"`
	Cases      []jsonResult `json:"cases"`
	Differs    []string     `json:"differs,omitempty"`
}

type jsonResult struct {
	Case    string  `json:"case,omitempty"`
	Kubelet string  `json:"kubelet,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	Skipped string  `json:"skipped,omitempty"`
	Reason  string  `json:"reason,omitempty"`
	// Admission is what somebody else made of the Pod.
	Admission []string `json:"admission,omitempty"`
	Trace     string   `json:"trace,omitempty"`
	First     string   `json:"first,omitempty"`
	// Same and Of say of a repeated case how many of its runs ended with its
	// verdict.
	Same    int                `json:"same,omitempty"`
	Of      int                `json:"of,omitempty"`
	Verdict *reference.Verdict `json:"verdict,omitempty"`
	Runs    []jsonResult       `json:"runs,omitempty"`
}

func (r Result) json() jsonResult {
	j := jsonResult{Case: r.Case, Kubelet: r.Kubelet, Seconds: r.Took.Seconds(), Skipped: r.Skipped, Reason: r.Verdict.Reason, Admission: r.changes.List(), Trace: r.Trace, First: r.First}
	if r.Skipped == "" {
		j.Verdict = &r.Verdict
	}
	for _, run := range r.Runs {
		each := run.json()
		each.Case, each.Kubelet = "", ""
		j.Runs = append(j.Runs, each)
	}
	if j.Of = len(r.Runs); j.Of > 0 {
		j.Same = r.same()
	}
	return j
}

// JSON returns verdicts.json.
func (r *Report) JSON() ([]byte, error) {
	r.sort()
	out := jsonReport{
		Kubernetes: r.Kubernetes, Runtime: r.Runtime, Kubelets: r.kubelets(),
		Cluster: r.Cluster.Seconds(), Wall: r.Wall.Seconds(),
		Cases: []jsonResult{}, Differs: r.differences(),
	}
	if err := r.Err(); err != nil {
		out.Failed = err.Error()
	}
	for _, res := range r.Results {
		out.Cases = append(out.Cases, res.json())
	}
	b, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding the verdicts: %w", err)
	}
	return append(b, '\n'), nil
}
