package kubelet

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podorder/podorder/reference/trace"
)

// recorder keeps what it gets, late. Each channel keeps its own order; between
// channels nothing is promised.
type recorder struct {
	w                       *world
	entries                 []entry // in the order in which they came about
	logAt, watchAt, eventAt int     // when the last entry of a channel arrived
	counts                  map[eventKey]*trace.Event
}

// entry is one of the trace; with a step it is what the kubelet did, and in no
// trace.
type entry struct {
	trace.Entry
	step string
}

type eventKey struct{ reason, message, path string }

// Lags of the channels, in milliseconds; as measured on a busy machine.
const (
	logLag   = 600
	watchLag = 100
	eventLag = 400
)

func stamp(ms int) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }

// epoch is when every run begins.
var epoch = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

// whole is a stamp as the API keeps it, which is without the part of a second.
func whole(ms int) metav1.Time { return metav1.Time{Time: stamp(ms).Truncate(time.Second)} }

func (r *recorder) add(at int, e trace.Entry) {
	e.At = stamp(at)
	r.entries = append(r.entries, entry{Entry: e})
}

// step keeps what the kubelet did.
func (r *recorder) step(what string) {
	r.entries = append(r.entries, entry{trace.Entry{At: stamp(r.w.now)}, what})
}

// line is a write to the shared log. Its stamp is taken a moment before it.
func (r *recorder) line(container string, run int, a trace.Actor, m trace.Mark) {
	l := trace.Line{Time: stamp(r.w.now - r.w.upTo(3)), Container: container, Run: run, Actor: a, Mark: m}
	text := l.Format()
	r.logAt = max(r.logAt, r.w.now+r.w.upTo(logLag))
	r.add(r.logAt, trace.Entry{Log: &text})
}

// event is an Event. Equal ones are counted; any may be lost.
func (r *recorder) event(path, kind, reason, message string) (lost bool) {
	if lost = r.w.oneIn(16); !lost {
		r.surely(path, kind, reason, message)
	}
	return lost
}

// surely is an Event that is not lost.
func (r *recorder) surely(path, kind, reason, message string) {
	key := eventKey{reason, message, path}
	e := r.counts[key]
	if e == nil {
		e = &trace.Event{Reason: reason, Type: kind, Message: message, FieldPath: path, FirstTimestamp: whole(r.w.now)}
		r.counts[key] = e
	}
	e.Count++
	e.LastTimestamp = whole(r.w.now)
	r.eventAt = max(r.eventAt, r.w.now+r.w.upTo(eventLag))
	copied := *e
	r.add(r.eventAt, trace.Entry{Event: &copied})
}

// knows reports whether such an Event has been recorded.
func (r *recorder) knows(path, reason, message string) bool {
	return r.counts[eventKey{reason, message, path}] != nil
}

func (r *recorder) pod(kind string, pod *corev1.Pod) {
	r.watchAt = max(r.watchAt, r.w.now+r.w.upTo(watchLag))
	r.add(r.watchAt, trace.Entry{Type: kind, Pod: pod})
}

func (r *recorder) did(name string, param any) {
	a, err := trace.NewAct(name, param)
	if err != nil {
		panic(err) // parameters of this package only
	}
	r.add(r.w.now, trace.Entry{Did: &a})
}

// trace returns the entries in the order in which they arrived.
func (r *recorder) trace(v Release) *trace.Trace {
	tr := &trace.Trace{Header: trace.Header{Trace: trace.Version, Kubernetes: v.String(), Kubelet: v.String()}}
	for _, e := range r.entries {
		if e.step == "" {
			tr.Entries = append(tr.Entries, e.Entry)
		}
	}
	slices.SortStableFunc(tr.Entries, func(a, b trace.Entry) int { return cmp.Compare(a.At.UnixNano(), b.At.UnixNano()) })
	for n := range tr.Entries {
		tr.Entries[n].Line = n + 2
	}
	return tr
}
