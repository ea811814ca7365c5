package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podorder/podorder/reference"
)

// Table returns the verdicts as text, worst first. Several kubelets have a column
// each; after the table stands what is not a pass, and what differs.
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
