package observed

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Feature is a question about one recording that has the answer yes or no, or none. It is written
// as text:
//
//	a < b            a came before b, which may never have come; the answer is no where they came too
//	                 close to each other to tell, and where a never came
//	a                a came
//	a >= 2           a came twice or more often
//	figure of x > 5  the figure of x is more than 5; "of x" is left out where it is of the Pod
//	not …            the other way round; it goes with one question
//	… and …          both
//	… if …           no answer where the answer to what follows is not yes
//
// Events and figures are named as in [Event] and [Figure].
type Feature struct {
	text       string
	all, given []question
}

type question struct {
	kind  Kind
	a, b  string
	least float64
	not   bool
}

// ParseFeature reads a question.
func ParseFeature(text string) (Feature, error) {
	f := Feature{text: text}
	questions, given, conditional := strings.Cut(text, " if ")
	all := strings.Split(questions, " and ")
	n := len(all)
	if conditional {
		all = append(all, strings.Split(given, " and ")...)
	}
	for i, q := range all {
		q, not := strings.CutPrefix(q, "not ")
		asked, err := parseQuestion(q)
		asked.not = not
		switch {
		case err != nil:
			return f, fmt.Errorf("feature %q: %w", text, err)
		case i < n:
			f.all = append(f.all, asked)
		default:
			f.given = append(f.given, asked)
		}
	}
	return f, nil
}

func parseQuestion(text string) (q question, err error) {
	if a, b, ok := strings.Cut(text, " < "); ok {
		return question{kind: Order, a: a, b: b}, nil
	}
	if a, least, ok := strings.Cut(text, " >= "); ok {
		q = question{kind: Count, a: a}
		q.least, err = strconv.ParseFloat(least, 64)
		return q, err
	}
	if a, least, ok := strings.Cut(text, " > "); ok {
		q = question{kind: Measured}
		q.a, q.b, _ = strings.Cut(a, " of ")
		if !slices.Contains(Figures(), q.a) {
			return q, fmt.Errorf("%q is no figure", q.a)
		}
		q.least, err = strconv.ParseFloat(least, 64)
		return q, err
	}
	return question{kind: Presence, a: text}, nil
}

// String is the question as it was written.
func (f Feature) String() string { return f.text }

// kind is that of the first question.
func (f Feature) kind() Kind { return f.all[0].kind }

// Of answers the question for one run; known is false where the run has no answer.
func (f Feature) Of(b Behaviour) (yes, known bool) {
	if yes, _ := every(f.given, b); !yes {
		return false, false
	}
	return every(f.all, b)
}

func every(list []question, b Behaviour) (yes, known bool) {
	for _, q := range list {
		if yes, known = q.of(b); !yes || !known {
			return false, known
		}
	}
	return true, true
}

func (q question) of(b Behaviour) (yes, known bool) {
	yes, known = q.asked(b)
	return yes != q.not, known
}

func (q question) asked(b Behaviour) (yes, known bool) {
	switch q.kind {
	case Order:
		rel := b.Order(q.a, q.b)
		return rel == Before || rel == OnlyFirst, rel != Neither
	case Measured:
		for _, m := range b.Figures {
			if m.Name == q.a && m.Of == q.b {
				return m.Value > q.least, true
			}
		}
		return false, false
	case Count:
		return float64(b.Count(q.a)) >= q.least, true
	}
	return b.Count(q.a) > 0, true
}

// tallyOf asks each run of a side.
func (f Feature) tallyOf(s side) (t tally) {
	for _, r := range s.runs {
		switch yes, known := f.Of(r.Behaviour); {
		case known && yes:
			t.yes++
		case known:
			t.no++
		}
	}
	return t
}
