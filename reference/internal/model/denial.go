package model

import (
	"fmt"
	"slices"

	"github.com/podorder/podorder/reference/internal/record"
)

func because(d *Denial, format string, args ...any) *Denial {
	d.Why = fmt.Sprintf(format, args...)
	return d
}

// at names observation n as the cause of a fact under a rule.
func at(n int, rule string) Cause { return Cause{record.PlaceOf(n), rule} }

func firstOf(a, b *Denial) *Denial {
	if a != nil {
		return a
	}
	return b
}

// Cause is the observation that forced a fact, with the rule that lets one
// conclude so. The zero cause means that nothing has forced the fact.
type Cause struct {
	Obs  record.Place
	Rule string
}

// Denial says why a state does not admit an observation.
type Denial struct {
	Rule string
	// because are the observations that forbid it, with the rule
	// that makes each one forbid it.
	Because []Cause
	Why     string // what exactly is wrong, where the rule alone does not say
}

func deny(rule string, because ...Cause) *Denial {
	return &Denial{Rule: rule, Because: slices.DeleteFunc(because, func(c Cause) bool { return !c.known() })}
}
