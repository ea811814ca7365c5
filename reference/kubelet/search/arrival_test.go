package search_test

import (
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/trace"
)

// Changes of what reached the recorder, and when. The kubelet did the same, and so did the processes.

// longestDelay is by how much anything comes later than it did, at most.
const longestDelay = 10 * time.Second

// anyDelay is often short, sometimes none, and at most longestDelay.
func anyDelay(choose kubelet.Chooser) time.Duration {
	switch choose(4) {
	case 0:
		return 0
	case 1:
		return time.Duration(choose(100)) * time.Millisecond
	case 2:
		return time.Duration(choose(1500)) * time.Millisecond
	}
	return time.Duration(choose(int(longestDelay/time.Millisecond))) * time.Millisecond
}

// delay has the entries of one channel arrive later, in the order that they had.
func (r *recording) delay(of func(e *trace.Entry) bool, choose kubelet.Chooser) bool {
	var last time.Time
	all, changed := choose(2) == 0, false
	by := anyDelay(choose)
	for i := range r.tr.Entries {
		e := &r.tr.Entries[i]
		if !of(e) {
			continue
		}
		if !all && choose(3) == 0 {
			by = anyDelay(choose)
		}
		at := e.At.Add(by)
		if at.Before(last) {
			at = last
		}
		changed = changed || at.After(e.At)
		e.At, last = at, at
	}
	r.sort()
	return changed
}

// sort puts the entries into the order in which they arrived.
func (r *recording) sort() {
	slices.SortStableFunc(r.tr.Entries, func(a, b trace.Entry) int { return a.At.Compare(b.At) })
}

// eventsLate: the kubelet sends its Events one after the other, and each may take its time.
func eventsLate(r *recording, choose kubelet.Chooser) bool {
	return r.delay(func(e *trace.Entry) bool { return e.Event != nil }, choose)
}

// updatesLate: what the kubelet tells the API server may be late, and so may the watch.
func updatesLate(r *recording, choose kubelet.Chooser) bool {
	first := true // the recording begins with the first one
	return r.delay(func(e *trace.Entry) bool {
		if e.Pod == nil {
			return false
		}
		was := first
		first = false
		return !was
	}, choose)
}

// linesLate: the log is read late. The lines have their stamps from when they were written.
func linesLate(r *recording, choose kubelet.Chooser) bool {
	return r.delay(func(e *trace.Entry) bool { return e.Log != nil }, choose)
}

// eventsOnTheirWay: the last Events had not arrived when the recording ended.
func eventsOnTheirWay(r *recording, choose kubelet.Chooser) bool {
	if len(r.tr.Entries) == 0 {
		return false
	}
	from := r.tr.Entries[len(r.tr.Entries)-1].At.Add(-time.Duration(choose(int(longestDelay))))
	return r.dropEvents(func(e *trace.Entry) bool { return e.At.After(from) })
}

// eventsLost: the kubelet drops an Event that the API server does not take. Those of failures are left: where a
// failure leaves no line, its Event is all that tells of it, and the judge takes such Events for lost only where there are more
// than the kubelet sends (record.Evidence, MayDropEvents).
func eventsLost(r *recording, choose kubelet.Chooser) bool {
	often := 1 + choose(10)
	return r.dropEvents(func(e *trace.Entry) bool { return e.Event.Type == corev1.EventTypeNormal && choose(10) < often })
}

// dropEvents drops Events, and reports whether there are any.
func (r *recording) dropEvents(drop func(e *trace.Entry) bool) bool {
	before := len(r.tr.Entries)
	r.tr.Entries = slices.DeleteFunc(r.tr.Entries, func(e trace.Entry) bool { return e.Event != nil && drop(&e) })
	return len(r.tr.Entries) < before
}

// mergedWithin is how soon the next update has to follow for one to be left out.
const mergedWithin = 2 * time.Second

// updatesMerged: of two states of a Pod that follow each other soon, the kubelet tells the API server the newer one only. What
// others change of a Pod is always seen.
func updatesMerged(r *recording, choose kubelet.Chooser) bool {
	often := 1 + choose(4)
	next := -1 // the index of the update that follows
	drop := map[int]bool{}
	for i := len(r.tr.Entries) - 1; i >= 0; i-- {
		e := &r.tr.Entries[i]
		if e.Pod == nil {
			continue
		}
		if next >= 0 && onlyStatus(e, &r.tr.Entries[next]) && choose(4) < often && i > 0 && r.tr.Entries[next].At.Sub(e.At) < mergedWithin && r.hasUpdate(i) {
			drop[i] = true
			continue
		}
		next = i
	}
	n := -1
	r.tr.Entries = slices.DeleteFunc(r.tr.Entries, func(trace.Entry) bool { n++; return drop[n] })
	return len(drop) > 0
}

// hasUpdate reports whether there is an update before entry i.
func (r *recording) hasUpdate(i int) bool {
	return slices.ContainsFunc(r.tr.Entries[:i], func(e trace.Entry) bool { return e.Pod != nil })
}

// onlyStatus reports whether an update differs from the next one in nothing but the status.
func onlyStatus(e, next *trace.Entry) bool {
	meta := func(p *corev1.Pod) metav1.ObjectMeta {
		m := p.ObjectMeta
		m.ResourceVersion = ""
		return m
	}
	return e.Type == trace.Modified && next.Type == trace.Modified && reflect.DeepEqual(e.Pod.Spec, next.Pod.Spec) && reflect.DeepEqual(meta(e.Pod), meta(next.Pod))
}

// slowerStart has all that comes after a time come later, by whole seconds: the node was slower, and so was what ran on it. The time is
// one at which nothing is due by then: no container has been probed, was stopped or has been restarted.
func slowerStart(r *recording, choose kubelet.Chooser) bool {
	if r.pod.Spec.ActiveDeadlineSeconds != nil || len(r.tr.Entries) < 2 {
		return false
	}
	from, until := time.Time{}, r.tr.Entries[len(r.tr.Entries)-1].At
	for _, e := range r.tr.Entries {
		var when time.Time
		switch {
		case e.Pod != nil && from.IsZero():
			from = e.At
		case e.Log != nil:
			l, err := trace.ParseLine(*e.Log)
			if err != nil {
				return false
			}
			if l.Actor.IsProbe() || l.Actor == trace.PreStop || l.Mark.Kind == trace.Signal || l.Mark.Kind == trace.End && l.Actor == trace.Main || l.Run > 0 {
				when = l.Time
			}
		case e.Did != nil && e.Did.Name != trace.ActApply:
			when = e.At
		case e.Event != nil && !slices.Contains([]string{"Scheduled", "Pulling", "Pulled", "Created", "Started"}, e.Event.Reason):
			when = e.Event.FirstTimestamp.Time
		case e.Pod != nil:
			for _, cs := range append(slices.Clone(e.Pod.Status.InitContainerStatuses), e.Pod.Status.ContainerStatuses...) {
				if cs.Ready || cs.Started != nil && *cs.Started || cs.State.Terminated != nil || cs.RestartCount > 0 {
					when = e.At.Add(-2 * time.Second)
				}
			}
		}
		if !when.IsZero() && when.Before(until) {
			until = when
		}
	}
	seconds := int(until.Sub(from) / time.Second)
	if from.IsZero() || seconds < 2 {
		return false
	}
	at := from.Truncate(time.Second).Add(time.Duration(1+choose(seconds)) * time.Second)
	by := time.Duration(1+choose(5)) * time.Second
	r.shift(at, by)
	return true
}

// shift has all that was at some time or later be later.
func (r *recording) shift(at time.Time, by time.Duration) {
	later := func(t time.Time) time.Time {
		if t.Before(at) {
			return t
		}
		return t.Add(by)
	}
	for i := range r.tr.Entries {
		e := &r.tr.Entries[i]
		e.At = later(e.At)
		switch {
		case e.Log != nil:
			if l, err := trace.ParseLine(*e.Log); err == nil {
				l.Time = later(l.Time)
				e.Log = format(l)
			}
		case e.Event != nil:
			event := *e.Event
			event.FirstTimestamp.Time, event.LastTimestamp.Time = later(event.FirstTimestamp.Time), later(event.LastTimestamp.Time)
			e.Event = &event
		case e.Pod != nil:
			e.Pod = e.Pod.DeepCopy()
			eachTime(reflect.ValueOf(e.Pod), func(t *metav1.Time) { t.Time = later(t.Time) })
		}
	}
	r.sort()
}

// eachTime does something with every time that a value holds.
func eachTime(v reflect.Value, do func(t *metav1.Time)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			if t, ok := v.Interface().(*metav1.Time); ok {
				do(t)
				return
			}
			eachTime(v.Elem(), do)
		}
	case reflect.Struct:
		if v.CanAddr() {
			if t, ok := v.Addr().Interface().(*metav1.Time); ok {
				do(t)
				return
			}
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				eachTime(v.Field(i), do)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachTime(v.Index(i), do)
		}
	}
}
