package reference

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// Outcome is the word of a verdict. The zero value is none.
type Outcome uint8

// The outcomes. Only Pass is green.
const (
	_            Outcome = iota
	Pass                 // the whole log consumed, every witness seen
	Violation            // an observation that no allowed behaviour explains
	Inconclusive         // nothing recorded, a gap, a missing witness, an unknown version
	Unmodelled           // the Pod or an act uses something that the model does not know
	Broken               // no usable trace
	Known                // a violation that a known issue of this kubelet explains
	Fixed                // a known issue was due and did not show
)

// String returns the outcome as a word.
func (o Outcome) String() string {
	switch o {
	case Pass:
		return "pass"
	case Violation:
		return "violation"
	case Inconclusive:
		return "inconclusive"
	case Unmodelled:
		return "unmodelled"
	case Broken:
		return "broken"
	case Known:
		return "known"
	case Fixed:
		return "fixed"
	}
	return "no verdict"
}

// ParseOutcome reads what String returns of an outcome.
func ParseOutcome(s string) (Outcome, error) {
	for o := Pass; o <= Fixed; o++ {
		if o.String() == s {
			return o, nil
		}
	}
	return 0, fmt.Errorf("there is no verdict %q", s)
}

// Green reports whether the outcome is a pass.
func (o Outcome) Green() bool { return o == Pass }

// Because is an earlier observation that rules out the refused one, or a part of
// a status that is refused.
type Because struct {
	Line int    `json:"line"`
	Log  string `json:"log"`
	Rule string `json:"rule"`
}

// Overdue is something that the kubelet was obliged to do, and has not done in time.
type Overdue struct {
	// After is what obliges it, and What it has to do then.
	After string `json:"after"`
	What  string `json:"what"`
	// Since is the number of the line since which it is due, counted from 1.
	Since int `json:"since"`
	// Within says by when it should have come. Patience: nobody promises that.
	Within   string `json:"within"`
	Patience bool   `json:"patience"`
}

// String is the obligation in a sentence without a full stop.
func (d *Overdue) String() string {
	s := fmt.Sprintf("%s (line %d), and after that %s: %s", d.After, d.Since, d.What, d.Within)
	if d.Patience {
		s += ", with patience for a busy node"
	}
	return s
}

// Deviation is a known fault of a kubelet, and where the trace needs it.
type Deviation struct {
	Name  string `json:"name"`
	Issue string `json:"issue"`
	Lines []int  `json:"lines"`
}

// Verdict is the answer of the judge.
type Verdict struct {
	Outcome Outcome
	// Rule is the slug of the rule that was broken.
	Rule string
	// Issue is the upstream number of the deviation that explains a known violation;
	// [rules.NoIssue] if nobody has reported it.
	Issue string
	// Deviations are the known faults of this kubelet that were needed to explain what it
	// did: all of the trace if the outcome is known, and else what came before the
	// violation.
	Deviations []Deviation
	// Line is the number of the first observation that was refused, counted
	// from 1 in the log or trace file; 0 where there is none.
	Line int
	// Log is that observation as text.
	Log string
	// Accepted is how many observations were accepted before it; lines of a
	// log, or entries of a trace.
	Accepted int
	// Allowed are the log lines that could have come instead.
	Allowed []string
	// Because are the earlier observations that rule it out.
	Because []Because
	// Overdue is what should have come by then, where something has not; else nil.
	Overdue *Overdue
	// Unshown are known faults that this kubelet is listed as having, and that should have
	// shown in the trace and did not.
	Unshown []rules.Deviation
	// Assumed is what a verdict on a log alone takes for granted, in sentences, and NotJudged
	// are the rules that only an update, an Event or an act can show to be broken.
	Assumed, NotJudged []string
	// Explained is what would explain an inconclusive log alone, in sentences: all of it
	// together, and nothing less.
	Explained []string
	// Unmodelled are the fields or acts that the model does not know.
	Unmodelled []string
	// Reason says in a sentence why the outcome is what it is.
	Reason string
}

// verdictJSON are the fields that the judge command promises, and reason.
type verdictJSON struct {
	Verdict    string      `json:"verdict"`
	Rule       string      `json:"rule"`
	Issue      string      `json:"issue"`
	Line       int         `json:"line"`
	Log        string      `json:"log"`
	Accepted   int         `json:"accepted"`
	Allowed    []string    `json:"allowed"`
	Because    []Because   `json:"because"`
	Due        *Overdue    `json:"due,omitempty"`
	Unmodelled []string    `json:"unmodelled"`
	Deviations []Deviation `json:"deviations"`
	Assumed    []string    `json:"assumed"`
	Explained  []string    `json:"explained"`
	NotJudged  []string    `json:"notJudged"`
	Reason     string      `json:"reason"`
}

// MarshalJSON writes the fields that the judge command promises, and reason.
func (v Verdict) MarshalJSON() ([]byte, error) {
	return json.Marshal(verdictJSON{
		v.Outcome.String(), v.Rule, v.Issue, v.Line, v.Log, v.Accepted,
		orEmpty(v.Allowed), orEmpty(v.Because), v.Overdue, orEmpty(v.Unmodelled), orEmpty(v.Deviations),
		orEmpty(v.Assumed), orEmpty(v.Explained), orEmpty(v.NotJudged), v.Reason,
	})
}

// UnmarshalJSON reads what MarshalJSON writes. That is all of a verdict but Unshown.
func (v *Verdict) UnmarshalJSON(b []byte) error {
	var j verdictJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	o, err := ParseOutcome(j.Verdict)
	if err != nil {
		return err
	}
	*v = Verdict{
		Outcome: o, Rule: j.Rule, Issue: j.Issue, Line: j.Line, Log: j.Log, Accepted: j.Accepted,
		Allowed: orNil(j.Allowed), Because: orNil(j.Because), Overdue: j.Due, Unmodelled: orNil(j.Unmodelled),
		Deviations: orNil(j.Deviations), Assumed: orNil(j.Assumed), Explained: orNil(j.Explained),
		NotJudged: orNil(j.NotJudged), Reason: j.Reason,
	}
	return nil
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// orNil is the inverse of orEmpty.
func orNil[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return s
}

// Text returns the verdict for a person: the word and the rule first, then the
// refused observation, after what rules it out and before what was allowed.
func (v Verdict) Text() string {
	var b strings.Builder
	b.WriteString(v.Outcome.String())
	if r, ok := rules.BySlug(v.Rule); ok {
		fmt.Fprintf(&b, ": %s (%s, %s)\n  %s\n", r.Slug, r.Level, r.Basis, r.Says)
		if unless := r.UnlessText(); unless != "" {
			fmt.Fprintf(&b, "  unless   %s\n", unless)
		}
		fmt.Fprintf(&b, "  source   %s\n", r.Source)
		if v.Issue != "" && len(v.Deviations) == 0 {
			fmt.Fprintf(&b, "  issue    %s\n", v.Issue)
		}
	} else {
		b.WriteByte('\n')
	}
	label := "issue"
	for _, d := range v.Deviations {
		fmt.Fprintf(&b, "  %-8s %s\n", label, d.text())
		label = ""
	}
	if v.Reason != "" {
		fmt.Fprintf(&b, "  reason   %s\n", v.Reason)
	}
	if v.Overdue != nil {
		fmt.Fprintf(&b, "  due      %s\n", v.Overdue)
	}
	label = "seen"
	for _, w := range v.Because {
		fmt.Fprintf(&b, "  %-8s line %-5d %s\n", label, w.Line, w.Log)
		label = ""
	}
	switch {
	case v.Line > 0 && v.Log == "": // the reason says what is wrong with it
		fmt.Fprintf(&b, "  %-8s line %d\n", "at", v.Line)
	case v.Line > 0 && v.Outcome == Broken:
		fmt.Fprintf(&b, "  %-8s line %-5d %s   <- cannot be read\n", label, v.Line, v.Log)
	case v.Line > 0:
		fmt.Fprintf(&b, "  %-8s line %-5d %s   <- not allowed here\n", label, v.Line, v.Log)
	}
	label = "allowed"
	for _, a := range v.Allowed {
		fmt.Fprintf(&b, "  %-8s %s\n", label, a)
		label = ""
	}
	for _, u := range v.Unmodelled {
		fmt.Fprintf(&b, "  unknown  %s\n", u)
	}
	v.aloneText(&b)
	return b.String()
}

// Witnessed turns a pass into inconclusive if one of the patterns matches no
// line of the trace's log: what the case is about did not happen then.
func (v Verdict) Witnessed(t *trace.Trace, want []trace.Pattern) Verdict {
	if v.Outcome != Pass {
		return v
	}
	seen := make([]bool, len(want))
	for i := range t.Entries {
		if t.Entries[i].Log == nil {
			continue
		}
		l, err := trace.ParseLine(*t.Entries[i].Log)
		if err != nil {
			continue // a pass has no such line
		}
		for j, p := range want {
			seen[j] = seen[j] || p.Match(l)
		}
	}
	var missing []string
	for j, p := range want {
		if !seen[j] {
			missing = append(missing, fmt.Sprintf("%q", p))
		}
	}
	if len(missing) > 0 {
		v.Outcome = Inconclusive
		v.Reason = "the log has no line " + strings.Join(missing, ", ") + ", so what the case is about was not seen" + dueBy(want, seen)
	}
	return v
}

// Due turns a pass into fixed if the kubelet is listed as having a deviation from one of the rules
// of the case, and the trace shows that it has not: the precondition held, and the effect did
// not show, which always does. Then the table is out of date.
func (v Verdict) Due(slugs []string) Verdict {
	if v.Outcome != Pass {
		return v
	}
	for _, d := range v.Unshown {
		for _, rule := range d.Breaks() {
			if slices.Contains(slugs, rule) {
				v.Outcome, v.Rule, v.Issue = Fixed, rule, d.Issue()
				v.Reason = fmt.Sprintf("this kubelet is listed as having %s (%s), but it did not show", d.Name(), d.Issue())
				return v
			}
		}
	}
	return v
}
