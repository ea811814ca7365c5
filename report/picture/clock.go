package picture

import (
	"fmt"
	"time"

	"github.com/podorder/podorder/reference/trace"
)

// clock places the entries of a trace on one scale of seconds.
type clock struct {
	zero time.Time
	// skew is added to what the node stamped.
	skew time.Duration
	// lines are the log lines as they were read, nil where one could not be; at is the time of
	// each entry in seconds.
	lines []*trace.Line
	at    []float64
	notes []string
}

// near is how far apart the clocks of the recorder and of the node may be for the lines to stay where their
// stamps are. A line is read some time after it was written, seldom much later.
const near = 2 * time.Second

func newClock(t *trace.Trace) clock {
	n := len(t.Entries)
	c := clock{lines: make([]*trace.Line, n), at: make([]float64, n)}
	whole, known := false, false
	var soonest time.Duration // the shortest way of a line from its writer to the recorder
	for i := range t.Entries {
		e := &t.Entries[i]
		if e.Log == nil {
			continue
		}
		l, err := trace.ParseLine(*e.Log)
		if err != nil {
			continue
		}
		c.lines[i] = &l
		whole = whole || l.Whole
		if way := e.At.Sub(l.Time); !e.At.IsZero() && (!known || way < soonest) {
			soonest, known = way, true
		}
	}
	if known && (soonest < -50*time.Millisecond || soonest > near) {
		c.skew = soonest
		c.notes = append(c.notes, fmt.Sprintf("The stamps of the log are taken to be %s off the recorder's clock.", soonest.Round(10*time.Millisecond)))
	}
	if whole {
		c.notes = append(c.notes, "Stamps of whole seconds: their lines are spread over the second, in their order.")
	}
	c.zero = c.first(t)
	c.place(t)
	return c
}

// first is the time that is zero.
func (c *clock) first(t *trace.Trace) time.Time {
	for _, l := range c.lines {
		if l != nil {
			return l.Time.Add(c.skew)
		}
	}
	if len(t.Entries) > 0 {
		return t.Entries[0].At
	}
	return time.Time{}
}

// node is the time of a stamp of the node.
func (c *clock) node(t time.Time) float64 { return t.Add(c.skew).Sub(c.zero).Seconds() }

// place gives each entry its time. The lines of the log keep their order.
func (c *clock) place(t *trace.Trace) {
	last := 0.0
	spread := c.spread()
	for i := range t.Entries {
		e := &t.Entries[i]
		switch l := c.lines[i]; {
		case l != nil:
			last = max(last, c.node(l.Time)+spread[i])
			c.at[i] = last
		case e.Log != nil || e.At.IsZero():
			c.at[i] = last
		default:
			c.at[i] = e.At.Sub(c.zero).Seconds()
		}
	}
}

// spread says what to add to the stamps of whole seconds: lines of the same second share it.
func (c *clock) spread() []float64 {
	out := make([]float64, len(c.lines))
	var same []int
	flush := func() {
		for n, i := range same {
			out[i] = 0.95 * float64(n) / float64(len(same))
		}
		same = same[:0]
	}
	for i, l := range c.lines {
		if l == nil {
			continue
		}
		if len(same) > 0 && !l.Time.Equal(c.lines[same[0]].Time) {
			flush()
		}
		if l.Whole {
			same = append(same, i)
		}
	}
	flush()
	return out
}
