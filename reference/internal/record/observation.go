package record

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/trace"
)

// Observation is one thing that was seen, with its place in the file.
type Observation struct {
	Entry *trace.Entry
	IsLog bool
	Log   trace.Line // of a log entry
	// counted is the run number of the line as the log has it; see [Renumber].
	counted int
	// Container is the index of the container of a log entry; -1 for others.
	Container int
	// key is the earliest time at which what was observed can have happened. Observations
	// are read in this order.
	key time.Time
}

// At is when a line was written, by its own stamp, or when anything else arrived.
func (o *Observation) At() time.Time {
	if o.IsLog {
		return o.Log.Time
	}
	return o.Entry.At
}

// ReadAt is when the observation was made, or the time of what is read after it, if that is earlier.
func (o *Observation) ReadAt() time.Time {
	if !o.key.IsZero() && o.key.Before(o.Entry.At) {
		return o.key
	}
	return o.Entry.At
}

// Text is how an explanation names the observation.
func (o *Observation) Text() string {
	switch e := o.Entry; {
	case e.Pod != nil:
		return describePod(e)
	case e.Event != nil:
		return fmt.Sprintf("event %s %s: %s", e.Event.Reason, e.Event.FieldPath, e.Event.Message)
	case e.Did != nil:
		return fmt.Sprintf("did %s %s", e.Did.Name, e.Did.Param)
	case e.Gap != nil:
		return fmt.Sprintf("gap in %s: %s", e.Gap.Channel, e.Gap.Why)
	case e.Log != nil:
		return *e.Log
	}
	return o.Log.String()
}

// clockSlack is by how much the clocks of the node and of the recorder may differ.
//
// A trace has several channels, each ordered in itself. Between channels there is only
// time, and it is used so that no order is claimed that was not seen:
//
//   - A log line was written no earlier than its own stamp and no earlier than
//     the line before it in the file; when it reached the recorder says little.
//   - What an update or an Event shows had happened by the time it arrived; how
//     long before is unknown. So it stands after every log line that may have
//     been written by then. Only lines that were surely written later stand
//     after it.
//   - An act was done when the trace says so or a little later. It stands before
//     every line that arrived after it.
//
// A line with a stamp later than its own arrival is taken at its arrival.
const clockSlack = 20 * time.Millisecond

// StampSlack is the uncertainty of a stamp that was taken inside a process: such stamps are
// out of order by some milliseconds against the file.
const StampSlack = 100 * time.Millisecond

// Observe reads the channels of the trace and merges them into one order. The error is a
// *trace.Error with the number of the first line that is torn, or that is not of this Pod.
func Observe(t *trace.Trace, p *podspec.Pod) ([]Observation, error) {
	obs := make([]Observation, 0, len(t.Entries))
	var newestLine time.Time // no line goes before the one that stands before it in the file
	for i := range t.Entries {
		e := &t.Entries[i]
		o := Observation{Entry: e, Container: -1, key: e.At}
		switch {
		case e.Log != nil:
			if err := o.parse(p, *e.Log); err != nil {
				return nil, &trace.Error{Line: e.Line, Err: err}
			}
			if !t.LogOnly {
				o.key = o.Log.Time
				if e.At.Before(o.key) {
					o.key = e.At
				}
				if o.key.Before(newestLine) {
					o.key = newestLine
				}
				newestLine = o.key
			}
		case e.Pod != nil:
			o.key = e.At.Add(clockSlack)
		case e.Event != nil:
			o.key = e.At.Add(clockSlack)
		}
		obs = append(obs, o)
	}
	if t.LogOnly {
		return obs, nil
	}
	actsBeforeLines(obs)
	// Stable: within a channel the order of the file stays, since its keys
	// never go back. At equal keys a line comes before what may show it.
	slices.SortStableFunc(obs, func(a, b Observation) int { return cmp.Or(a.key.Compare(b.key), cmp.Compare(rank(a), rank(b))) })
	return obs, nil
}

// actsBeforeLines moves each act before every log line that arrived after it.
func actsBeforeLines(obs []Observation) {
	var earliest time.Time
	for i := len(obs) - 1; i >= 0; i-- {
		o := &obs[i]
		switch {
		case o.Entry.Log != nil && (earliest.IsZero() || o.key.Before(earliest)):
			earliest = o.key
		case o.Entry.Did != nil && !earliest.IsZero() && earliest.Before(o.key):
			o.key = earliest
		}
	}
}

// rank orders observations of the same time.
func rank(o Observation) int {
	switch {
	case o.Entry.Did != nil:
		return 0
	case o.Entry.Log != nil:
		return 1
	}
	return 2
}
