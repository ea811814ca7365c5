package rules

import (
	"fmt"

	"github.com/podorder/podorder/reference/trace"
)

// Level says how binding a rule is, in the words of RFC 2119.
type Level uint8

// The levels. The zero value is not a level.
const (
	_    Level = iota
	Must       // breaking it is a violation
	May        // both outcomes are accepted; and the rule says so
)

// String returns the level in capitals, as a violation prints it.
func (l Level) String() string {
	switch l {
	case Must:
		return "MUST"
	case May:
		return "MAY"
	}
	return "no level"
}

// Basis says who promises a rule.
type Basis string

// The two bases.
const (
	// Documented rules are promised by the Kubernetes documentation or API.
	Documented Basis = "documented"
	// Implementation rules are kept by every covered kubelet and promised by
	// nobody.
	Implementation Basis = "implementation"
)

// Rule is one sentence about what a kubelet does, with its source.
type Rule struct {
	Slug  string
	Level Level
	Basis Basis
	// Says is the rule in one sentence.
	Says string
	// Source is a file and function of k8s.io/kubernetes, or a page of the
	// documentation.
	Source string
	// Versions is the range of kubelets that the rule holds for; empty means
	// all that are covered.
	Versions string
	// Log: the lines of the log alone can show that the rule is broken. Those that cannot
	// need an update, an Event, or when somebody ended the Pod.
	Log bool
	// Bounds are the figures, beside those of the Pod, that the rule is judged by.
	Bounds []Bound
	// Gate is the feature gate without which a kubelet does not have the rule, and
	// Without the one with which it does not; empty where there is none.
	Gate, Without string
}

// All returns the table of rules, grouped by the first part of the slug.
func All() []Rule { return append([]Rule(nil), table...) }

// Holds reports whether the kubelet has a rule: its version and its feature gates say so.
func (k Kubelet) Holds(slug string) bool {
	r, ok := bySlug[slug]
	return ok && r.versions.Has(k.v) && (r.Gate == "" || k.Enabled(r.Gate)) && (r.Without == "" || !k.Enabled(r.Without))
}

// bySlug has the rules with their versions as ranges.
var bySlug = parsed(table)

type parsedRule struct {
	Rule
	versions trace.Range
}

// parsed reads the versions of the rules. One that is no range holds for no version, and
// fails the test of the table.
func parsed(table []Rule) map[string]parsedRule {
	all := map[string]parsedRule{}
	for _, r := range table {
		if versions, err := trace.ParseRange(r.Versions); err == nil {
			all[r.Slug] = parsedRule{r, versions}
		}
	}
	return all
}

// BySlug finds a rule by its slug ("hooks/poststart-blocks-next").
func BySlug(slug string) (Rule, bool) {
	r, ok := bySlug[slug]
	return r.Rule, ok
}

// checkTables reports the first fault in the tables of rules and deviations; a test
// calls it.
func checkTables() error {
	seen := map[string]bool{}
	for _, r := range table {
		switch {
		case seen[r.Slug]:
			return fmt.Errorf("rule %s is in the table twice", r.Slug)
		case r.Level < Must || r.Level > May:
			return fmt.Errorf("rule %s has no level", r.Slug)
		case r.Basis != Documented && r.Basis != Implementation:
			return fmt.Errorf("rule %s has no basis", r.Slug)
		case r.Says == "" || r.Source == "":
			return fmt.Errorf("rule %s needs a sentence and a source", r.Slug)
		}
		if _, err := trace.ParseRange(r.Versions); err != nil {
			return fmt.Errorf("rule %s: %w", r.Slug, err)
		}
		seen[r.Slug] = true
	}
	return checkDeviations()
}
