package reference

import (
	"fmt"
	"slices"

	"github.com/podorder/podorder/reference/trace"
)

// Level says how binding a rule is, in the words of RFC 2119.
type Level uint8

// The levels. The zero value is not a level.
const (
	_      Level = iota
	Must         // breaking it is a violation
	Should       // breaking it is reported, and fails no run
	May          // both outcomes are accepted; the rule says so aloud
)

// String returns the level in capitals, as a violation prints it.
func (l Level) String() string {
	switch l {
	case Must:
		return "MUST"
	case Should:
		return "SHOULD"
	case May:
		return "MAY"
	}
	return "no level"
}

// Basis says who stands behind a rule.
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
	// From are the numbers of the rule in the rule book of the project, from
	// which it comes ("R8 R16"); see CONTRIBUTING.
	From string
	// Versions is the range of kubelets that the rule holds for; empty means
	// all that are covered.
	Versions string
}

// Rules returns the table of rules, grouped by the first part of the slug.
func Rules() []Rule { return append([]Rule(nil), rules...) }

// RuleBySlug finds a rule by its slug ("hooks/poststart-blocks-next").
func RuleBySlug(slug string) (Rule, bool) {
	for _, r := range rules {
		if r.Slug == slug {
			return r, true
		}
	}
	return Rule{}, false
}

// Issue is a regression that a release really carries. It stays a violation of
// its rule; the table turns it into the verdict known.
type Issue struct {
	Rule     string
	Versions string // a range such as ">=1.35.0 <1.38.0"
	Number   string // upstream number, "kubernetes/kubernetes#141155"
	Says     string
	// Always: every recording that exercises the rule shows it. Without, one
	// that does not show it proves nothing.
	Always bool
}

// Issues returns the table of known issues.
func Issues() []Issue { return append([]Issue(nil), issues...) }

// knownIssue returns the number of the issue that explains a violation of the
// rule by this kubelet.
func knownIssue(k Kubelet, rule string) string {
	for _, i := range issues {
		r, err := trace.ParseRange(i.Versions)
		if err == nil && i.Rule == rule && r.Has(k.v) {
			return i.Number
		}
	}
	return ""
}

// Due turns a pass into fixed where the kubelet carries a known issue of one of
// the rules that a case exercises, which always shows, and it did not: the list
// is out of date, or the case no longer exercises its rule.
func (v Verdict) Due(k Kubelet, rules []string) Verdict {
	if v.Outcome != Pass {
		return v
	}
	for _, i := range issues {
		r, err := trace.ParseRange(i.Versions)
		if err == nil && i.Always && r.Has(k.v) && slices.Contains(rules, i.Rule) {
			v.Outcome, v.Rule, v.Issue = Fixed, i.Rule, i.Number
			v.Reason = fmt.Sprintf("the kubelet %s is listed as carrying %s, and it did not show", k, i.Number)
			return v
		}
	}
	return v
}

// checkTables reports the first fault in the tables of rules and issues; a test
// calls it.
func checkTables() error {
	seen := map[string]bool{}
	for _, r := range rules {
		switch {
		case seen[r.Slug]:
			return fmt.Errorf("rule %s stands twice", r.Slug)
		case r.Level < Must || r.Level > May:
			return fmt.Errorf("rule %s has no level", r.Slug)
		case r.Basis != Documented && r.Basis != Implementation:
			return fmt.Errorf("rule %s has no basis", r.Slug)
		case r.Says == "" || r.Source == "" || r.From == "":
			return fmt.Errorf("rule %s needs a sentence, a source and where it comes from", r.Slug)
		}
		if _, err := trace.ParseRange(r.Versions); err != nil {
			return fmt.Errorf("rule %s: %w", r.Slug, err)
		}
		seen[r.Slug] = true
	}
	for _, i := range issues {
		if !seen[i.Rule] {
			return fmt.Errorf("issue %s names no rule: %s", i.Number, i.Rule)
		}
		if _, err := trace.ParseRange(i.Versions); err != nil {
			return fmt.Errorf("issue %s: %w", i.Number, err)
		}
	}
	return nil
}
