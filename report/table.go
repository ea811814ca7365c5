package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/podorder/podorder/suites/claims"
)

// Table returns the outcomes as text, worst first. Several kubelets have a column each;
// after the table stands what is not a pass, and what differs.
func (r *Report) Table() string {
	var b strings.Builder
	cells := r.Cells()
	if kubelets := r.Names(); len(kubelets) > 1 {
		b.WriteString(align(matrix(cells, kubelets), -1))
		b.WriteString(notes(cells))
		for _, a := range admitted(cells) {
			b.WriteString(a + "\n")
		}
		d, c := r.differs(cells), r.changes()
		if len(d) > 0 {
			b.WriteString("\nwhat differs between the kubelets\n  " + strings.Join(d, "\n  ") + "\n")
		}
		if len(c) > 0 {
			b.WriteString("\nwhat they do differently\n  " + strings.Join(c, "\n  ") + "\n")
		}
		if len(d)+len(c) == 0 {
			b.WriteString("\nnothing differs between the kubelets\n")
		}
		b.WriteString("\n")
		for _, k := range kubelets {
			fmt.Fprintf(&b, "%s: %s\n", k, counts(on(cells, k)))
		}
	} else {
		rows := [][]string{{"verdict", "case", "kubelet", "time", ""}}
		for _, c := range cells {
			rows = append(rows, []string{c.Mark(), c.Case, c.Kubelet, took(c), c.Worst.beside()})
		}
		b.WriteString(align(rows, 3))
		fmt.Fprintf(&b, "\n%s\n", counts(cells))
	}
	if t := r.timing(cells); t != "" {
		b.WriteString(t + "\n")
	}
	return b.String()
}

// took is the time of a cell in a table; empty where nothing was run.
func took(c Cell) string {
	if c.Worst.Outcome == Skipped {
		return ""
	}
	return seconds(c.Seconds())
}

func seconds(s float64) string { return fmt.Sprintf("%.1fs", s) }

// align makes columns of rows; one of them, if any, is aligned to the right, which tabwriter does for all or for none.
func align(rows [][]string, right int) string {
	wide := 0
	for _, row := range rows {
		if right >= 0 {
			wide = max(wide, utf8.RuneCountInString(row[right]))
		}
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		if right >= 0 {
			row[right] = fmt.Sprintf("%*s", wide, row[right])
		}
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	t.Flush()
	return trailing.ReplaceAllString(b.String(), "")
}

// trailing are spaces at the end of a line.
var trailing = regexp.MustCompile(`(?m) +$`)

// matrix has a row for each case and a column for each kubelet.
func matrix(cells []Cell, kubelets []string) [][]string {
	rows := [][]string{append([]string{"case"}, kubelets...)}
	for _, of := range byCase(cells) {
		row := make([]string, len(kubelets)+1)
		row[0] = of[0].Case
		for _, c := range of {
			row[1+slices.Index(kubelets, c.Kubelet)] = c.Mark()
		}
		rows = append(rows, row)
	}
	return rows
}

// notes says why each cell of several kubelets is not a pass; kubelets that agree share a
// line.
func notes(cells []Cell) string {
	type note struct{ word, id, what string }
	var order []note
	kubelets := map[note][]string{}
	for _, of := range byCase(cells) {
		for _, c := range of {
			if c.Worst.Outcome == Pass {
				continue
			}
			n := note{c.Worst.Outcome, c.Case, c.Worst.shared()}
			if c.Worst.Outcome == Skipped { // the reason is often the same for many
				n.id = ""
			}
			if kubelets[n] == nil {
				order = append(order, n)
			}
			if !slices.Contains(kubelets[n], c.Kubelet) {
				kubelets[n] = append(kubelets[n], c.Kubelet)
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
		text += " on " + strings.Join(kubelets[n], ", ")
		if n.what != "" {
			text += ": " + n.what
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

// admitted says what somebody else made of the Pods, once for all cases in which that was
// the same.
func admitted(cells []Cell) (out []string) {
	cases := map[string][]string{}
	for _, c := range cells {
		line := c.Worst.Admitted()
		if line == "" {
			continue
		}
		if cases[line] == nil {
			out = append(out, line)
		}
		if !slices.Contains(cases[line], c.Case) {
			cases[line] = append(cases[line], c.Case)
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

// differs names the cases and claims that did not come out the same on all kubelets that
// are compared. A case that was skipped on one differs from nothing.
func (r *Report) differs(cells []Cell) (out []string) {
	for _, kubelets := range r.compared() {
		columns := slices.DeleteFunc(slices.Clone(r.Claims), func(c claims.Column) bool { return !slices.Contains(kubelets, c.Kubelet) })
		out = append(out, differentCases(onAny(cells, kubelets))...)
		out = append(out, differentClaims(columns)...)
	}
	return out
}

// compared are the kubelets that are compared with each other, all of them where nothing
// else is said.
func (r *Report) compared() [][]string {
	if r.Compared == nil {
		return [][]string{r.Names()}
	}
	return r.Compared
}

func differentCases(cells []Cell) (out []string) {
	for _, of := range byCase(cells) {
		var order []string
		kubelets := map[string][]string{}
		for _, c := range of {
			if c.Worst.Outcome == Skipped {
				continue
			}
			w := c.Worst.Outcome
			if v := c.Worst.Verdict; v != nil && v.Rule != "" {
				w += " " + c.Worst.shared()
			}
			if kubelets[w] == nil {
				order = append(order, w)
			}
			kubelets[w] = append(kubelets[w], c.Kubelet)
		}
		if len(order) < 2 {
			continue
		}
		for i, w := range order {
			order[i] = w + " on " + strings.Join(kubelets[w], ", ")
		}
		out = append(out, of[0].Case+": "+strings.Join(order, "; "))
	}
	return out
}

func differentClaims(columns []claims.Column) (out []string) {
	for _, id := range claims.Differ(columns) {
		var parts []string
		for _, col := range columns {
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

// timing returns the figures of a run: a wall time close to that of the longest case means
// that the others cost nothing.
func (r *Report) timing(cells []Cell) string {
	var most Cell
	longest, ready := 0.0, 0.0
	for _, c := range cells {
		if s := c.Seconds(); s > longest {
			most, longest = c, s
		}
	}
	if longest <= 0 || r.Seconds <= 0 {
		return ""
	}
	s := fmt.Sprintf("all cases in %s, the longest (%s) in %s: ratio %.2f", seconds(r.Seconds), most.Case, seconds(longest), r.Seconds/longest)
	for _, c := range r.Clusters {
		ready += c.Seconds
	}
	if ready > 0 {
		s = fmt.Sprintf("cluster ready after %s; %s", seconds(ready), s)
	}
	return s
}
