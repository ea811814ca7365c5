package record

import (
	"slices"
	"strings"
	"time"

	"github.com/podorder/podorder/reference/trace"
)

// RowOf is the place of a probe in what is kept of each: startup, liveness, readiness.
func RowOf(a trace.Actor) int {
	switch a {
	case trace.StartupProbe:
		return 0
	case trace.LivenessProbe:
		return 1
	}
	return 2
}

// probeWords are the words that name a probe in an Event.
var probeWords = map[string]trace.Actor{"Startup": trace.StartupProbe, "Liveness": trace.LivenessProbe, "Readiness": trace.ReadinessProbe}

// EventProbe is the probe that an Unhealthy Event names first; ok is false if it names
// none.
func EventProbe(e *trace.Event) (a trace.Actor, ok bool) {
	word, _, _ := strings.Cut(e.Message, " ")
	a, ok = probeWords[word]
	return a, ok
}

// couldNotRun tells an Event of a liveness or startup probe that could not be run, as in
// a container that is being stopped. Its result counts for nothing
// (pkg/kubelet/prober/worker.go, doProbe).
func couldNotRun(message string) bool {
	return strings.HasPrefix(message, "Liveness probe errored") || strings.HasPrefix(message, "Startup probe errored")
}

// failures are the failures of one probe that Events tell of: how many with each
// message, and when each was.
type failures struct {
	counted map[string]int32
	told    []failure
}

// failure is one that an Event tells of: at is when the Event was made for the last time, and from
// when that can have been for this failure at the earliest, where it tells of several at once.
type failure struct{ at, from time.Time }

// take takes an Event of a failure. It may stand for several that were merged.
func (f *failures) take(e *trace.Event) {
	if f.counted == nil {
		f.counted = map[string]int32{}
	}
	count := max(e.Count, 1)
	more, from := count-f.counted[e.Message], e.LastTimestamp.Time
	if more > 1 {
		from = e.FirstTimestamp.Time
	}
	for range more {
		f.told = append(f.told, failure{e.LastTimestamp.Time, from})
	}
	f.counted[e.Message] = max(f.counted[e.Message], count)
}

// without reports whether one of the failures has no line, and when the first of those may have
// been, at the earliest. lines is when the probe wrote its lines of a failure, and timeout its
// time-out: the line of a failure was written within that time before the Event was made. Not
// every line has an Event.
func (f *failures) without(lines []time.Time, timeout time.Duration) (from time.Time, ok bool) {
	slices.SortStableFunc(f.told, func(a, b failure) int { return a.at.Compare(b.at) })
	for i, told := range f.told {
		for len(lines) > 0 && lines[0].Before(told.at.Add(-timeout)) {
			lines = lines[1:]
		}
		if len(lines) == 0 || lines[0].After(told.at.Add(time.Second+StampSlack)) {
			return f.rowBefore(i, timeout).Add(-timeout - StampSlack), true
		}
		lines = lines[1:]
	}
	return time.Time{}, false
}

// rowBefore is when the row of failures began that number i is the last of. A line may have been
// taken for that of the failure before, and so on, so any of them may be the one without.
func (f *failures) rowBefore(i int, timeout time.Duration) time.Time {
	from := f.told[i].from
	for ; i > 0 && !f.told[i-1].at.Before(from.Add(-timeout-time.Second-StampSlack)); i-- {
		if t := f.told[i-1].from; t.Before(from) {
			from = t
		}
	}
	return from
}
