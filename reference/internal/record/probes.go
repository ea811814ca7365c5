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
	at      []time.Time
}

// take takes an Event of a failure. It may stand for several that were merged.
func (f *failures) take(e *trace.Event) {
	if f.counted == nil {
		f.counted = map[string]int32{}
	}
	count := max(e.Count, 1)
	for range count - f.counted[e.Message] {
		f.at = append(f.at, e.LastTimestamp.Time)
	}
	f.counted[e.Message] = max(f.counted[e.Message], count)
}

// without reports whether one of the failures has no line. lines is when the probe wrote
// its lines of a failure, and timeout its time-out: the line of a failure was written
// within that time before the Event was made. Not every line has an Event.
func (f *failures) without(lines []time.Time, timeout time.Duration) bool {
	slices.SortFunc(f.at, time.Time.Compare)
	for _, at := range f.at {
		for len(lines) > 0 && lines[0].Before(at.Add(-timeout)) {
			lines = lines[1:]
		}
		if len(lines) == 0 || lines[0].After(at.Add(time.Second+StampSlack)) {
			return true
		}
		lines = lines[1:]
	}
	return false
}
