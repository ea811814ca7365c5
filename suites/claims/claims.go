package claims

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/podorder/podorder/reference/trace"
)

// Finding is the outcome of a claim on one kubelet. The zero value is "not
// seen".
type Finding uint8

// The findings.
const (
	NotSeen Finding = iota // no trace has the shape that the claim speaks of
	Held                   // seen, and as claimed wherever it was seen
	NotHeld                // seen otherwise at least once
)

// String returns the finding in words.
func (f Finding) String() string {
	switch f {
	case Held:
		return "held"
	case NotHeld:
		return "did not hold"
	}
	return "not seen"
}

// MarshalText writes the finding in words.
func (f Finding) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (f *Finding) UnmarshalText(b []byte) error {
	for _, g := range []Finding{NotSeen, Held, NotHeld} {
		if g.String() == string(b) {
			*f = g
			return nil
		}
	}
	return fmt.Errorf("there is no finding %q", b)
}

// Claim is one sentence that is said in public.
type Claim struct {
	// ID is the letter by which it is known, "a" to "i".
	ID   string
	Says string
	// look returns what a trace shows of it.
	look func(*view) []observation
}

// observation is what one trace shows of a claim.
type observation struct {
	finding Finding
	// note says in some words what was seen, the same words for the same thing and
	// finding, so that it can be counted.
	note     string
	evidence []Evidence
}

// Evidence is one line of a trace.
type Evidence struct {
	// Trace is the path of the trace, as it was given.
	Trace string `json:"trace"`
	// Line counts the lines of the trace file from 1.
	Line int `json:"line"`
	// Text is the line in words.
	Text string `json:"text"`
}

// String returns the evidence as a reader looks it up.
func (e Evidence) String() string { return fmt.Sprintf("%s:%d  %s", e.Trace, e.Line, e.Text) }

// Recording is a trace and where it is.
type Recording struct {
	Path  string
	Trace *trace.Trace
	// Added are the containers that somebody else added to the Pod. They write
	// nothing, so nothing follows from their silence.
	Added []string
}

// Result is the outcome of a claim.
type Result struct {
	Claim   string  `json:"claim"`
	Says    string  `json:"says"`
	Finding Finding `json:"finding"`
	// Why counts what was seen.
	Why string `json:"why,omitempty"`
	// Evidence is that of one observation: one against the claim, if there is
	// any, and one of the rarest.
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Claims returns the nine claims in their order.
func Claims() []Claim { return slices.Clone(claims) }

// Tally collects what recordings of one kubelet show, without keeping them.
type Tally struct {
	of map[string]map[string]*sighting // by claim and note
}

// sighting is what was noted in the same words.
type sighting struct {
	finding  Finding
	n        int
	path     string
	evidence []Evidence
}

// Add looks at one more recording.
func (t *Tally) Add(r Recording) {
	v := newView(r)
	if v == nil {
		return
	}
	if t.of == nil {
		t.of = map[string]map[string]*sighting{}
	}
	for _, c := range claims {
		if t.of[c.ID] == nil {
			t.of[c.ID] = map[string]*sighting{}
		}
		for _, o := range c.look(v) {
			seen := t.of[c.ID][o.note]
			if seen == nil {
				seen = &sighting{}
				t.of[c.ID][o.note] = seen
			}
			// Which of equal ones is shown must not depend on which came first.
			if seen.n++; seen.n == 1 || v.path < seen.path {
				seen.finding, seen.path, seen.evidence = o.finding, v.path, o.evidence
			}
		}
	}
}

// Results returns what was seen so far, in the order of [Claims].
func (t *Tally) Results() []Result {
	var out []Result
	for _, c := range claims {
		res := Result{Claim: c.ID, Says: c.Says}
		seen := t.of[c.ID]
		// The most frequent first.
		notes := slices.SortedFunc(maps.Keys(seen), func(a, b string) int {
			return cmp.Or(cmp.Compare(seen[b].n, seen[a].n), cmp.Compare(a, b))
		})
		for i, note := range notes {
			s := seen[note]
			// Of what was seen, the rarest is what a reader wants to look at.
			if s.finding >= res.Finding {
				res.Finding, res.Evidence = s.finding, s.evidence
			}
			notes[i] = fmt.Sprintf("%s (%d)", note, s.n)
		}
		res.Why = strings.Join(notes, "; ")
		out = append(out, res)
	}
	return out
}

// Evaluate returns what the recordings of one kubelet show of each claim, in
// the order of [Claims].
func Evaluate(recordings []Recording) []Result {
	var t Tally
	for _, r := range recordings {
		t.Add(r)
	}
	return t.Results()
}
