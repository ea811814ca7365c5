package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/suites/upstream"
)

// figure is how much of something is covered.
type figure struct {
	what         string
	covered, all int
}

// list describes cases, and says at its end what all cases together cover.
func list(cases, all []fixtures.Case) string {
	var b strings.Builder
	for _, c := range cases {
		fmt.Fprintf(&b, "%s\n    %s\n", c.ID, c.Title)
		if v := c.Versions.String(); v != "" {
			fmt.Fprintf(&b, "    kubelet  %s\n", v)
		}
		fmt.Fprintf(&b, "    rules    %s\n", strings.Join(c.Rules, " "))
		if l := kinds(c); l != "" {
			fmt.Fprintf(&b, "    labels   %s\n", l)
		}
		if n := upstream.Relations().CoveredBy(c.ID); n > 0 {
			fmt.Fprintf(&b, "    upstream %s\n", plural(n, "relation"))
		}
	}
	fmt.Fprintf(&b, "\n%d cases", len(cases))
	if len(cases) < len(all) {
		fmt.Fprintf(&b, " of %d", len(all))
	}
	b.WriteString("\n")
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
	rules := figure{what: "MUST rules are named by a case"}
	for _, r := range reference.Rules() {
		if r.Level == reference.Must {
			rules.all++
			if named(cases, r.Slug) {
				rules.covered++
			}
		}
	}
	var ids []string
	for _, c := range cases {
		ids = append(ids, c.ID)
	}
	table := upstream.Relations()
	var relations figure
	relations.covered, relations.all = table.Count(ids)
	relations.what = fmt.Sprintf("order relations of the Kubernetes node suite (%s) are covered by a case; suites/upstream/relations.txt says why the others are not", table.Kubernetes)
	return []figure{rules, relations}
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
