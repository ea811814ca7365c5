// How a refusal is written down, and what forced a fact.

package model

import (
	"fmt"
	"slices"

	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
)

// Cause is the observation that forced a fact, with the rule that lets one conclude so. The
// zero cause means that nothing has forced the fact.
type Cause struct {
	Obs  record.Place
	Rule string
}

// known reports whether something has forced the fact.
func (c Cause) known() bool { return c.Obs != 0 }

// at is observation n as the cause of a fact, by a rule.
func at(n int, rule string) Cause { return Cause{record.PlaceOf(n), rule} }

// Denial says why a state does not admit an observation.
type Denial struct {
	// Rule is the rule that the observation would break.
	Rule string
	// Because are the earlier observations that forbid it, each with the rule by which it
	// does.
	Because []Cause
	// Why says in a sentence what is wrong; empty where the rule and the observations do.
	Why string
	// Since is, where something due has not come, the observation since which it was, and
	// Clause the obligation. It is not known elsewhere.
	Since  record.Place
	Clause rules.Clause
}

// late is the denial of the first observation by which the kubelet should have done what a
// clause obliges it to, since a cause. The sentence says what the kubelet did instead.
func late(clause rules.Clause, since Cause, format string, args ...any) *Denial {
	d := because(deny(clause.Rule(), since), format, args...)
	d.Since, d.Clause = since.Obs, clause
	return d
}

// deny is a denial by a rule. Causes that nothing has forced are left out.
func deny(rule string, because ...Cause) *Denial {
	return &Denial{Rule: rule, Because: slices.DeleteFunc(because, func(c Cause) bool { return !c.known() })}
}

// because adds the sentence to a denial.
func because(d *Denial, format string, args ...any) *Denial {
	d.Why = fmt.Sprintf(format, args...)
	return d
}

// firstOf is the first of two denials that is not nil.
func firstOf(a, b *Denial) *Denial {
	if a != nil {
		return a
	}
	return b
}
