package observed

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/podorder/podorder/reference/trace"

	corev1 "k8s.io/api/core/v1"
)

// Of reads a recording. The Pod is the one that was admitted; nil stands for the first one
// that the recording shows.
func Of(pod *corev1.Pod, tr *trace.Trace) Behaviour {
	if tr == nil || len(tr.Entries) == 0 {
		return Behaviour{}
	}
	if pod == nil {
		pod = tr.Admitted()
	}
	r := reader{at: map[string]int{}, begun: map[string]int{}, was: map[string]bool{}, hooks: map[instance]time.Time{}, start: tr.Entries[0].At, pod: pod}
	for i := range tr.Entries {
		e := &tr.Entries[i]
		if e.At.Before(r.start) { // a line may have been written before it was read
			r.start = e.At
		}
	}
	for i := range tr.Entries {
		r.entry(&tr.Entries[i])
	}
	r.end = tr.Entries[len(tr.Entries)-1].At
	b := Behaviour{Events: r.events, Figures: r.figures()}
	slices.SortStableFunc(b.Events, func(a, b Event) int { return compareFloat(a.At, b.At) })
	return b
}

func compareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// running is how long a probe may have been running, that began before its Pod was being stopped.
const running = 2 * time.Second

// reader is a recording that is being read.
type reader struct {
	pod        *corev1.Pod
	start, end time.Time
	events     []Event
	at         map[string]int // by name: the place in events
	begun      map[string]int // by container: how many instances have logged a begin
	was        map[string]bool
	deleted    time.Time // zero until the Pod was deleted or evicted
	stopping   time.Time // zero until its containers are being stopped
	last       time.Time // of the last line
	lines      []line
	hooks      map[instance]time.Time // the last line of a postStart hook
	updates    []update
	gone       time.Time
}

// line is a line of the log with the time at which it was written.
type line struct {
	trace.Line
	at time.Time
}

// update is what a figure needs of an update.
type update struct {
	at      time.Time
	ready   bool // a regular container is
	running bool // a regular container is
}

// came notes that something came, once more if it did before.
func (r *reader) came(name string, at time.Time) {
	if k, ok := r.at[name]; ok {
		r.events[k].Count++
		return
	}
	r.at[name] = len(r.events)
	r.events = append(r.events, Event{Name: name, At: round(at.Sub(r.start)), Count: 1})
}

// round is a duration in seconds, to the millisecond.
func round(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }

func (r *reader) entry(e *trace.Entry) {
	switch {
	case e.Log != nil:
		if l, err := trace.ParseLine(*e.Log); err == nil {
			r.line(l, e.At)
		}
	case e.Pod != nil:
		r.update(e.Pod, e.At)
		if e.Type == trace.Deleted {
			r.came("object gone", e.At)
			r.gone = e.At
		}
	case e.Did != nil:
		r.did(e.Did, e.At)
	}
}

// did notes what was done to the Pod. That it was applied, or looked at, is not part of its behaviour.
func (r *reader) did(a *trace.Act, at time.Time) {
	switch a.Name {
	case trace.ActApply, trace.ActLook:
		return
	case trace.ActDelete, trace.ActEvict:
		if r.deleted.IsZero() {
			r.deleted = at
		}
	}
	name := "did " + a.Name
	if target := a.Target(); target != "" {
		name += " " + target
	}
	r.came(name, at)
}

// line notes a line of the log. Numbered ticks show nothing that begin and end do not; in a log
// without marks each line counts.
func (r *reader) line(l trace.Line, at time.Time) {
	if l.Actor == trace.Main && l.Mark.Kind == trace.Begin {
		r.begun[l.Container]++
	}
	if l.Run == trace.NoRun {
		l.Run = max(0, r.begun[l.Container]-1)
	}
	l.Mark.From = 0
	if at.Before(r.last) { // the place in the file is the order; stamps are some ms off
		at = r.last
	}
	r.last = at
	r.lines = append(r.lines, line{l, at})
	if l.Actor == trace.PostStart {
		r.hooks[line{l, at}.instance()] = at
	}
	if l.Mark.Kind == trace.Tick && l.Mark.N >= 0 {
		return
	}
	r.came(l.String(), at)
	if !r.deleted.IsZero() && r.stopping.IsZero() && (l.Actor == trace.PreStop || l.Mark.Kind == trace.Signal) {
		r.stopping = at
	}
	if l.Actor.IsProbe() && !r.stopping.IsZero() && at.Sub(r.stopping) >= running {
		r.came(fmt.Sprintf("%s#%d / %s while stopping", l.Container, l.Run, l.Actor), at)
	}
}

// update notes what an update shows that the one before did not.
func (r *reader) update(pod *corev1.Pod, at time.Time) {
	shown := map[string]bool{}
	show := func(name string) {
		shown[name] = true
		if !r.was[name] {
			r.came(name, at)
		}
	}
	u := update{at: at}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		for _, what := range stateOf(s) {
			show(fmt.Sprintf("%s#%d shown %s", s.Name, s.RestartCount, what))
		}
	}
	for _, s := range pod.Status.ContainerStatuses {
		u.running = u.running || s.State.Running != nil
		u.ready = u.ready || s.Ready
	}
	if pod.Status.Phase != "" {
		show("phase " + string(pod.Status.Phase))
	}
	for _, c := range pod.Status.Conditions {
		if c.Type != corev1.PodScheduled {
			show(fmt.Sprintf("condition %s %s", c.Type, c.Status))
		}
	}
	if pod.DeletionTimestamp != nil {
		show("deletion shown")
	}
	r.was = shown
	r.updates = append(r.updates, u)
}

// stateOf says what a status shows of a container, in words.
func stateOf(s corev1.ContainerStatus) (words []string) {
	switch {
	case s.State.Running != nil:
		words = append(words, "running")
	case s.State.Terminated != nil:
		words = append(words, "terminated")
	case s.State.Waiting != nil:
		words = append(words, "waiting")
	}
	if s.Started != nil && *s.Started {
		words = append(words, "started")
	}
	if s.Ready {
		words = append(words, "ready")
	}
	return words
}
