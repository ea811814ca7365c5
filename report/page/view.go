package page

import (
	"cmp"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"

	"github.com/podorder/podorder/report"
	"github.com/podorder/podorder/report/observed"
	"github.com/podorder/podorder/suites/claims"
)

// view is what the template shows.
type view struct {
	*report.Report
	Policy                       string
	Style, Program, Legend, Data template.HTML

	// Columns are the kubelets.
	Columns []column
	// Groups are the rows of the matrix.
	Groups []*group
	// Outcomes, RuleNames are what can be filtered by.
	Outcomes  []count
	RuleNames []string
	// Worst are the cells that are not a pass, those of one reason together.
	Worst []worst
	// Pairs are the differences, by the kubelets that differ.
	Pairs []pair
	// Odd are how many differences fail the comparison.
	Odd int
	// ClaimRows are the claims by kubelets.
	ClaimRows []claimRow

	cases []*caseRow
	cells int
}

// column is a kubelet.
type column struct {
	report.Kubelet
	Counts string
}

// group is a part of the matrix.
type group struct {
	Name string
	Rows []*caseRow
}

// caseRow is a row of the matrix. N is its place in the data.
type caseRow struct {
	N         int
	ID, Title string
	Rules     []string
	// Cells has one for each column; nil where the case did not run there.
	Cells []*cell
}

// cell is a cell of the matrix.
type cell struct {
	Link, Outcome, Mark, Brief, Rule, Name string
	cell                                   report.Cell
}

// count is an outcome and how many cells have it.
type count struct {
	Outcome string
	N       int
}

// worst is a line of the list above the matrix.
type worst struct {
	Outcome, Brief, Case string
	Cells                []*cell
}

// pair are the differences between two neighbours.
type pair struct {
	Older, Newer string
	Odd          int
	Rows         []difference
}

// difference is a row of what changed. Link opens both kubelets above each other.
type difference struct {
	observed.Difference
	Link string
}

// claimRow is a claim and what each kubelet made of it.
type claimRow struct {
	ID, Says string
	Cells    []claimCell
}

// claimCell is what one kubelet made of a claim.
type claimCell struct {
	Kubelet, Finding, Why string
	Evidence              []evidence
}

// evidence is a line that shows it. Link is empty where the report has no run of that trace.
type evidence struct {
	claims.Evidence
	Link string
}

func newView(r *report.Report) *view {
	v := &view{Report: r}
	names := r.Names()
	cells := r.Cells()
	v.cells = len(cells)
	for _, name := range names {
		c := column{Kubelet: report.Kubelet{Name: name, Version: report.VersionOf(name)}}
		for _, k := range r.Kubelets {
			if k.Name == name {
				c.Kubelet = k
			}
		}
		c.Counts = counts(cells, name)
		v.Columns = append(v.Columns, c)
	}
	v.matrix(cells, names)
	v.worst(cells)
	v.changes()
	v.claims(names)
	return v
}

// matrix sorts the cells into rows and groups.
func (v *view) matrix(cells []report.Cell, names []string) {
	by := map[string]*caseRow{}
	n := map[string]int{}
	for _, c := range cells {
		run := c.Worst
		row := by[c.Case]
		if row == nil {
			row = &caseRow{ID: c.Case, Title: run.Title, Rules: run.Rules, Cells: make([]*cell, len(names))}
			by[c.Case] = row
			v.cases = append(v.cases, row)
		}
		row.Title = cmp.Or(row.Title, run.Title)
		row.Cells[slices.Index(names, c.Kubelet)] = newCell(c)
		n[run.Outcome]++
	}
	slices.SortFunc(v.cases, func(a, b *caseRow) int { return strings.Compare(a.ID, b.ID) })
	for i, row := range v.cases {
		row.N = i
		name, _, _ := strings.Cut(row.ID, "/")
		if g := len(v.Groups); g == 0 || v.Groups[g-1].Name != name {
			v.Groups = append(v.Groups, &group{Name: name})
		}
		g := v.Groups[len(v.Groups)-1]
		g.Rows = append(g.Rows, row)
	}
	for _, o := range []string{report.Violation, report.Broken, report.Unmodelled, report.Inconclusive, report.Fixed, report.Known, report.Pass, report.Skipped} {
		if n[o] > 0 {
			v.Outcomes = append(v.Outcomes, count{o, n[o]})
		}
	}
	for _, row := range v.cases {
		v.RuleNames = append(v.RuleNames, row.Rules...)
		for _, c := range row.Cells {
			if c != nil && c.Rule != "" {
				v.RuleNames = append(v.RuleNames, c.Rule)
			}
		}
	}
	slices.Sort(v.RuleNames)
	v.RuleNames = slices.Compact(v.RuleNames)
}

func newCell(c report.Cell) *cell {
	out := &cell{Link: link("case", c.Case, "kubelet", c.Kubelet), Outcome: c.Worst.Outcome, Mark: c.Mark(), Brief: c.Worst.Brief(), cell: c}
	if v := c.Worst.Verdict; v != nil {
		out.Rule = v.Rule
	}
	out.Name = fmt.Sprintf("%s on %s: %s", c.Case, c.Kubelet, out.Mark)
	if out.Brief != "" {
		out.Name += ", " + out.Brief
	}
	return out
}

// worst lists what is not a pass and was not skipped: a case with the same reason on several
// kubelets once.
func (v *view) worst(cells []report.Cell) {
	at := map[string]int{}
	for _, c := range cells {
		if c.Worst.Outcome == report.Pass || c.Worst.Outcome == report.Skipped {
			continue
		}
		x := newCell(c)
		brief := x.Brief
		if x.Rule != "" {
			brief = x.Rule
			if is := c.Worst.Verdict.Issue; is != "" {
				brief += " (" + is + ")"
			}
		}
		key := x.Outcome + "\n" + c.Case + "\n" + brief
		i, ok := at[key]
		if !ok {
			i, at[key] = len(v.Worst), len(v.Worst)
			v.Worst = append(v.Worst, worst{Outcome: x.Outcome, Brief: brief, Case: c.Case})
		}
		v.Worst[i].Cells = append(v.Worst[i].Cells, x)
	}
}

// Kubelet is the column of a cell.
func (c *cell) Kubelet() string { return c.cell.Kubelet }

// changes sorts the differences by the kubelets that differ, and puts those that fail the comparison first.
func (v *view) changes() {
	for _, d := range v.Differences {
		i := slices.IndexFunc(v.Pairs, func(p pair) bool { return p.Older == d.Older && p.Newer == d.Newer })
		if i < 0 {
			i = len(v.Pairs)
			v.Pairs = append(v.Pairs, pair{Older: d.Older, Newer: d.Newer})
		}
		row := difference{Difference: d}
		if d.Case != "" {
			row.Link = link("case", d.Case, "kubelet", d.Older, "with", d.Newer)
		}
		p := &v.Pairs[i]
		p.Rows = append(p.Rows, row)
		if d.Fails() {
			p.Odd++
			v.Odd++
		}
	}
	for _, p := range v.Pairs {
		slices.SortStableFunc(p.Rows, func(a, b difference) int {
			rank := func(d difference) int {
				if d.Fails() {
					return 0
				}
				return 1
			}
			return cmp.Compare(rank(a), rank(b))
		})
	}
}

// claims turns the claims of each kubelet into rows.
func (v *view) claims(names []string) {
	for _, col := range v.Report.Claims {
		for _, res := range col.Results {
			i := slices.IndexFunc(v.ClaimRows, func(r claimRow) bool { return r.ID == res.Claim })
			if i < 0 {
				i = len(v.ClaimRows)
				v.ClaimRows = append(v.ClaimRows, claimRow{ID: res.Claim, Says: res.Says})
			}
			c := claimCell{Kubelet: col.Kubelet, Finding: res.Finding.String(), Why: res.Why}
			for _, e := range res.Evidence {
				c.Evidence = append(c.Evidence, evidence{e, v.lineLink(e)})
			}
			v.ClaimRows[i].Cells = append(v.ClaimRows[i].Cells, c)
		}
	}
}

// lineLink opens the line of an evidence.
func (v *view) lineLink(e claims.Evidence) string {
	for i := range v.Runs {
		if r := &v.Runs[i]; r.Trace != "" && (r.Trace == e.Trace || strings.HasSuffix(e.Trace, "/"+r.Trace)) {
			return link("case", r.Case, "kubelet", r.Kubelet, "line", fmt.Sprint(e.Line))
		}
	}
	return ""
}

// counts sums up a column.
func counts(cells []report.Cell, kubelet string) string {
	n := map[string]int{}
	for _, c := range cells {
		if c.Kubelet == kubelet {
			n[c.Worst.Outcome]++
		}
	}
	var words []string
	for _, o := range []string{report.Violation, report.Broken, report.Unmodelled, report.Inconclusive, report.Fixed, report.Known, report.Pass, report.Skipped} {
		if n[o] > 0 {
			words = append(words, fmt.Sprintf("%d %s", n[o], o))
		}
	}
	return strings.Join(words, ", ")
}

// link is the address of a state of the page, as page.js writes it.
func link(pairs ...string) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		b.WriteByte("#&"[min(i, 1)])
		escaped := strings.ReplaceAll(url.QueryEscape(pairs[i+1]), "+", "%20")
		b.WriteString(pairs[i] + "=" + strings.NewReplacer("%2F", "/", "%40", "@").Replace(escaped))
	}
	return b.String()
}

// entry is what page.js knows of a case.
type entry struct {
	ID    string   `json:"id"`
	Title string   `json:"title"`
	Rules []string `json:"rules"`
	// Cells are by column; null where the case did not run there.
	Cells []*[3]string `json:"cells"`
}

// index is what page.js knows at once: cases, by column their outcome, rule and reason.
func (v *view) index() any {
	kubelets := []string{}
	for _, c := range v.Columns {
		kubelets = append(kubelets, c.Name)
	}
	cases := []entry{}
	for _, row := range v.cases {
		e := entry{ID: row.ID, Title: row.Title, Rules: row.Rules}
		for _, c := range row.Cells {
			if c == nil {
				e.Cells = append(e.Cells, nil)
				continue
			}
			e.Cells = append(e.Cells, &[3]string{c.Outcome, c.Rule, c.Brief})
		}
		cases = append(cases, e)
	}
	return map[string]any{"kubelets": kubelets, "cases": cases}
}

// CaseCount is how many cases the report has.
func (v *view) CaseCount() int { return len(v.cases) }

// Span is how many columns the matrix has.
func (v *view) Span() int { return len(v.Columns) + 1 }
