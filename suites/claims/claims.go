package claims

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/podorder/podorder/reference/trace"
)

// Finding is what became of a claim on one kubelet. The zero value is "not
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
	// note says in some words what was seen, the same words for the same thing,
	// so that it can be counted.
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
}

// Result is what became of a claim.
type Result struct {
	Claim   string  `json:"claim"`
	Says    string  `json:"says"`
	Finding Finding `json:"finding"`
	// Why counts what was seen.
	Why string `json:"why,omitempty"`
	// Evidence is that of one observation: one against the claim, if there is
	// any.
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Claims returns the nine claims in their order.
func Claims() []Claim { return slices.Clone(claims) }

// Tally collects what recordings of one kubelet show, without keeping them.
type Tally struct{ of map[string]*tally }

// tally is what was seen of one claim.
type tally struct {
	finding  Finding
	path     string
	evidence []Evidence
	notes    []string
}

// Add looks at one more recording.
func (t *Tally) Add(r Recording) {
	if t.of == nil {
		t.of = map[string]*tally{}
	}
	v := newView(r)
	if v == nil {
		return
	}
	for _, c := range claims {
		n := t.of[c.ID]
		if n == nil {
			n = &tally{}
			t.of[c.ID] = n
		}
		for _, o := range c.look(v) {
			n.notes = append(n.notes, o.note)
			// Which of equal findings is shown must not depend on which came first.
			if o.finding > n.finding || o.finding == n.finding && (n.evidence == nil || v.path < n.path) {
				n.finding, n.path, n.evidence = o.finding, v.path, o.evidence
			}
		}
	}
}

// Results returns what was seen so far, in the order of [Claims].
func (t *Tally) Results() []Result {
	var out []Result
	for _, c := range claims {
		res := Result{Claim: c.ID, Says: c.Says}
		if n := t.of[c.ID]; n != nil {
			res.Finding, res.Why, res.Evidence = n.finding, counted(n.notes), n.evidence
		}
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

// counted returns what was noted how often, the most frequent first.
func counted(notes []string) string {
	n := map[string]int{}
	for _, s := range notes {
		n[s]++
	}
	var words []string
	for s := range n {
		words = append(words, s)
	}
	slices.SortFunc(words, func(a, b string) int { return cmp.Or(cmp.Compare(n[b], n[a]), cmp.Compare(a, b)) })
	for i, s := range words {
		words[i] = fmt.Sprintf("%s (%d)", s, n[s])
	}
	return strings.Join(words, "; ")
}
