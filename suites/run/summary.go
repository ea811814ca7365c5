package run

import (
	"fmt"
	"strings"

	"github.com/podorder/podorder/reference"
)

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

// cell keeps a text inside its cell of a Markdown table.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ").Replace(s)
}
