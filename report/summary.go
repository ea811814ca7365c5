package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podorder/podorder/suites/claims"
)

// SummaryLimit is how large a step summary of GitHub may be, in bytes; a larger one is not
// shown at all.
const SummaryLimit = 1 << 20

// Of the room of a summary, so much is for the table, for the differences and for one
// explanation. The end says what was left out.
const (
	tableShare       = 0.45
	differencesShare = 0.15
	explanationMost  = 16 << 10
	closing          = 512
)

// Markdown returns the report for a step summary: the table, worst first, then what
// differs, then every verdict that is not a pass, whole. It has at most limit bytes; what
// there is no room for, it counts. at is the folder of the report as the reader writes it.
func (r *Report) Markdown(at string, limit int) string {
	if limit <= len(more) {
		return ""
	}
	return cut(r.markdown(at, limit), limit)
}

func (r *Report) markdown(at string, limit int) string {
	cells := r.Cells()
	d := &document{limit: limit - closing}
	title := "podorder"
	for i, c := range r.Clusters {
		if i == 0 || c.Kubernetes != r.Clusters[0].Kubernetes {
			title += ", Kubernetes " + c.Kubernetes
		}
	}
	if len(r.Clusters) > 0 && r.Clusters[0].Runtime != "" {
		title += ", " + r.Clusters[0].Runtime
	}
	d.addf("## %s\n\n", title)
	if r.Failed != "" {
		d.addf("**failed: %s**\n\n", cut(r.Failed, explanationMost))
	}
	if r.Interrupted != "" {
		d.addf("**interrupted: %s**\n\n", cut(r.Interrupted, explanationMost))
	}
	if r.Judged != "" {
		d.addf("Judged again %s.\n\n", r.Judged)
	}
	if len(cells) == 0 {
		return d.String()
	}
	kubelets := r.Names()
	if len(kubelets) > 1 {
		for _, k := range kubelets {
			d.addf("- %s: %s\n", k, counts(on(cells, k)))
		}
	} else {
		d.addf("%s\n", counts(cells))
	}
	if t := r.timing(cells); t != "" {
		d.addf("\n%s\n", t)
	}
	if text := claimsLine(r.Claims); text != "" {
		d.addf("\n%s\n", text)
	}
	d.addf("\n")
	d.rows("cases", tableShare, table(cells, kubelets))
	var list []string
	for _, a := range admitted(cells) {
		list = append(list, fmt.Sprintf("- %s\n", cell(a)))
	}
	for _, s := range r.differs(cells) {
		list = append(list, fmt.Sprintf("- differs: %s\n", cell(s)))
	}
	for _, s := range r.changes() {
		list = append(list, fmt.Sprintf("- %s\n", cell(s)))
	}
	if len(list) > 0 {
		d.addf("\n")
		d.rows("differences", differencesShare, list)
	}
	d.explanations(r, cells, at)
	return d.String()
}

// table returns the rows of the table of a summary, the heading first.
func table(cells []Cell, kubelets []string) []string {
	var rows []string
	if len(kubelets) > 1 {
		for i, row := range matrix(cells, kubelets) {
			for j := range row {
				row[j] = cell(row[j])
			}
			text := fmt.Sprintf("| %s |\n", strings.Join(row, " | "))
			if i == 0 {
				text += strings.Repeat("|---", len(row)) + "|\n"
			}
			rows = append(rows, text)
		}
		return rows
	}
	rows = append(rows, "| verdict | case | kubelet | time | |\n|---|---|---|---:|---|\n")
	for _, c := range cells {
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s | %s |\n", cell(c.Mark()), cell(c.Case), cell(c.Kubelet), took(c), cell(c.Worst.beside())))
	}
	return rows
}

// document is a text that may not become too large.
type document struct {
	strings.Builder
	limit int
}

func (d *document) addf(format string, args ...any) { fmt.Fprintf(d, format, args...) }

// left is how many bytes there is room for.
func (d *document) left() int { return max(0, d.limit-d.Len()) }

// rows adds as many rows as there is room for in a share of the document, and says how many
// more there are.
func (d *document) rows(what string, share float64, rows []string) {
	room := min(int(share*float64(d.limit)), d.left())
	for i, row := range rows {
		if room -= len(row); room < 0 {
			d.addf("\n%d more %s are in %s.\n", len(rows)-i, what, File)
			return
		}
		d.WriteString(row)
	}
}

// explanations adds the cells that are no pass, each with its whole verdict.
func (d *document) explanations(r *Report, cells []Cell, at string) {
	bad := slices.DeleteFunc(slices.Clone(cells), func(c Cell) bool { return c.Worst.Explanation == "" })
	for i, c := range bad {
		text := strings.TrimRight(cut(c.Worst.Text(at, r.Gates(c.Kubelet)), explanationMost), "\n")
		fence := "```"
		for strings.Contains(text, fence) {
			fence += "`"
		}
		section := fmt.Sprintf("\n### %s on %s\n\n%s\n%s\n%s\n", c.Case, c.Kubelet, fence, text, fence)
		if len(section) > d.left() {
			d.addf("\n%d more verdicts that are no pass are in %s.\n", len(bad)-i, File)
			return
		}
		d.WriteString(section)
	}
}

// claimsLine says in one line what came of the public claims; empty where nothing was
// recorded.
func claimsLine(columns []claims.Column) string {
	if len(columns) == 0 {
		return ""
	}
	var parts []string
	for _, f := range []claims.Finding{claims.Held, claims.NotHeld, claims.NotSeen} {
		var ids []string
		for _, c := range claims.Claims() {
			worst := claims.NotSeen
			for _, col := range columns {
				for _, res := range col.Results {
					if res.Claim == c.ID {
						worst = max(worst, res.Finding)
					}
				}
			}
			if worst == f {
				ids = append(ids, "("+c.ID+")")
			}
		}
		if len(ids) > 0 {
			parts = append(parts, f.String()+": "+strings.Join(ids, " "))
		}
	}
	return "Public claims, " + strings.Join(parts, "; ") + "."
}

// cell keeps a text inside its cell of a Markdown table.
func cell(s string) string { return cellEscapes.Replace(s) }

var cellEscapes = strings.NewReplacer("|", "\\|", "\n", " ")

// more stands at the end of a text that was cut.
const more = "\n  …"

// cut keeps a text from being longer than so many bytes.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-len(more)], "") + more
}
