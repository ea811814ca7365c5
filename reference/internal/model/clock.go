// The clocks: how far a stamp can be trusted, and how patient the rules are that have a time in
// them. No rule of its own; terminate/grace-period, restart/backoff, probes/initial-delay and what is
// overdue go by it.

package model

import (
	"time"

	"github.com/podorder/podorder/reference/internal/record"
)

// Only the rules that have a bound look at a clock. Two kinds of slack go into them:
//
//   - [record.StampSlack] is the uncertainty of the clock: stamps taken inside a process
//     are out of order by some milliseconds, and those of date(1) have whole seconds.
//     What is refused is refused whatever the clock was.
//   - Patience is for things that have no bound of their own: how long a runtime takes
//     to start or stop a process on a busy machine. It grows with the time that this
//     node takes, as the trace shows it.
const (
	// patience is for the start or stop of a process.
	patience = 15 * time.Second
	// prompt is the patience for the next run of a probe, beside its periods.
	prompt = 8 * time.Second
)

// patient is the patience d on the node of the trace: where the start of a process took
// longer, probes and signals take longer as well. On a node where a hundred processes waited
// for two cores, starts of 18 s were recorded, and gaps of 14 s in a probe of every second.
func (r *Reading) patient(d time.Duration) time.Duration { return max(d, 2*r.ev.SlowestStart) }

// patientStart is the patience for a start: on a busy node the worker of the Pod may be at another one.
func (r *Reading) patientStart() time.Duration { return r.patient(patience) + r.ev.SlowestStart }

// written is when line n was written, by its own stamp.
func (r *Reading) written(n int) time.Time {
	if n == r.n && r.now != nil {
		return r.now.Log.Time
	}
	at, _ := r.src.Stamp(n)
	return at
}

// writtenAt is when the line in a place was written.
func (r *Reading) writtenAt(p record.Place) time.Time { return r.written(p.Index()) }

// slackAt is the uncertainty of the stamp of the line in a place.
func (r *Reading) slackAt(p record.Place) time.Duration { return r.slack(p.Index()) }

// slack is the uncertainty of the stamp of line n.
func (r *Reading) slack(n int) time.Duration {
	whole := false
	if n == r.n && r.now != nil {
		whole = r.now.Log.Whole
	} else {
		_, whole = r.src.Stamp(n)
	}
	if whole {
		return time.Second + record.StampSlack
	}
	return record.StampSlack
}

// between is the time from the line in a place to line n.
func (r *Reading) between(from record.Place, n int) time.Duration {
	return r.written(n).Sub(r.writtenAt(from)).Round(time.Millisecond)
}

// earlier is the earlier of two times; a zero one is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
