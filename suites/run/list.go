package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/report"
	"github.com/podorder/podorder/suites/upstream"
)

// figure is how much of something is covered.
type figure struct {
	what         string
	covered, all int
}

// list describes the cases of jobs, which of them are not for which kubelet, and
// what all cases together cover.
func list(jobs []*job, cols []column, cases, all []fixtures.Case) string {
	var b strings.Builder
	n := 0
	not := map[string][]string{} // cases that are not meant for a kubelet
	for _, c := range cases {
		var on []string
		of := 0
		for _, j := range jobs {
			if j.c.ID != c.ID {
				continue
			}
			if of++; j.meant() {
				on = append(on, j.col.kubelet)
			} else {
				not[j.col.kubelet] = append(not[j.col.kubelet], c.ID)
			}
		}
		if len(on) == 0 {
			continue
		}
		n++
		fmt.Fprintf(&b, "%s\n    %s\n", c.ID, c.Title)
		if v := c.Versions.String(); v != "" {
			fmt.Fprintf(&b, "    kubelet  %s\n", v)
		}
		if len(on) < len(cols) {
			slices.SortFunc(on, report.CompareKubelets)
			fmt.Fprintf(&b, "    runs on  %s\n", strings.Join(on, " "))
		}
		fmt.Fprintf(&b, "    rules    %s\n", strings.Join(c.Rules, " "))
		if l := kinds(c); l != "" {
			fmt.Fprintf(&b, "    labels   %s\n", l)
		}
		if n := upstream.Relations().CoveredBy(c.ID); n > 0 {
			fmt.Fprintf(&b, "    upstream %s\n", plural(n, "relation"))
		}
	}
	fmt.Fprintf(&b, "\n%s", plural(n, "case"))
	if n < len(all) {
		fmt.Fprintf(&b, " of %d", len(all))
	}
	b.WriteString("\n")
	for _, col := range cols {
		switch skipped := not[col.kubelet]; {
		case col.kubelet == "":
			b.WriteString("for which of them the kubelet is too old is known once its node image is there\n")
		case len(skipped) > 0:
			fmt.Fprintf(&b, "not for kubelet %s, and skipped there: %s\n", col.kubelet, strings.Join(skipped, ", "))
		}
	}
	if all = builtInOf(all); len(all) == 0 {
		return b.String() // a user's own cases are not meant to cover anything
	}
	for _, f := range coverage(all) {
		fmt.Fprintf(&b, "%d of %d %s\n", f.covered, f.all, f.what)
	}
	return b.String()
}

// kinds are the labels that set a case apart from most.
func kinds(c fixtures.Case) string {
	var out []string
	if isLong(c) {
		out = append(out, "long=true")
	}
	if onNode(c) {
		out = append(out, "node=true")
	}
	return strings.Join(out, " ")
}

// coverage is what cases together cover.
func coverage(cases []fixtures.Case) []figure {
	must := figure{what: "MUST rules are named by a case"}
	for _, r := range rules.All() {
		if r.Level == rules.Must {
			must.all++
			if named(cases, r.Slug) {
				must.covered++
			}
		}
	}
	var ids []string
	for _, c := range cases {
		ids = append(ids, c.ID)
	}
	table := upstream.Relations()
	var relations figure
	covered, shown, all := table.Count(ids)
	relations.covered, relations.all = covered, all
	relations.what = fmt.Sprintf("order relations of the Kubernetes node suite (%s) are covered by a case, and %d more are only shown; suites/upstream/relations.txt says why the others are not", table.Kubernetes, shown)
	return []figure{must, relations}
}

// named reports whether a case names a rule.
func named(cases []fixtures.Case, slug string) bool {
	return slices.ContainsFunc(cases, func(c fixtures.Case) bool { return slices.Contains(c.Rules, slug) })
}

// plural is a number of things.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
