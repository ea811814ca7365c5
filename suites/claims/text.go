package claims

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// Column is what one kubelet made of the claims.
type Column struct {
	Kubelet string   `json:"kubelet"`
	Results []Result `json:"claims"`
}

// Seen returns the columns with those claims alone that at least one of the kubelets
// had something to show of.
func Seen(columns []Column) []Column {
	out := make([]Column, len(columns))
	for n, col := range columns {
		out[n].Kubelet = col.Kubelet
		for i, r := range col.Results {
			if slices.ContainsFunc(columns, func(c Column) bool { return c.Results[i].Finding != NotSeen }) {
				out[n].Results = append(out[n].Results, r)
			}
		}
	}
	return out
}

// Table returns the findings as text: one line for each claim, one column for
// each kubelet.
func Table(columns []Column) string {
	rows := [][]string{{"claim"}}
	var says []string
	for n, col := range columns {
		rows[0] = append(rows[0], col.Kubelet)
		for i, r := range col.Results {
			if n == 0 {
				rows, says = append(rows, []string{"(" + r.Claim + ")"}), append(says, r.Says)
			}
			rows[i+1] = append(rows[i+1], r.Finding.String())
		}
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for n, row := range rows {
		if n > 0 {
			row = append(row, says[n-1])
		}
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	t.Flush()
	return b.String()
}

// Text returns the table, and after it each claim with the lines that show what
// became of it. Kubelets with the same finding share the lines of the first.
func Text(columns []Column) string {
	if len(columns) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(Table(columns))
	for i, c := range columns[0].Results {
		fmt.Fprintf(&b, "\n(%s) %s\n", c.Claim, c.Says)
		for _, f := range []Finding{NotHeld, Held, NotSeen} {
			var same []string
			var shown Result
			for _, col := range columns {
				r := col.Results[i]
				if r.Finding != f {
					continue
				}
				if same = append(same, col.Kubelet); len(same) == 1 {
					shown = r
				}
			}
			if len(same) == 0 {
				continue
			}
			fmt.Fprintf(&b, "    %s on %s", f, strings.Join(same, ", "))
			if shown.Why != "" {
				b.WriteString(": " + shown.Why)
			}
			b.WriteString("\n")
			for _, e := range shown.Evidence {
				fmt.Fprintf(&b, "        %s\n", e)
			}
		}
	}
	return b.String()
}

// Differ returns the letters of the claims that did not come out the same on
// all kubelets. What was not seen on one differs from nothing.
func Differ(columns []Column) []string {
	var out []string
	for i, c := range claims {
		var seen []Finding
		for _, col := range columns {
			if f := col.Results[i].Finding; f != NotSeen && !slices.Contains(seen, f) {
				seen = append(seen, f)
			}
		}
		if len(seen) > 1 {
			out = append(out, c.ID)
		}
	}
	return out
}
