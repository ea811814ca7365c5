package record

import (
	"slices"
	"strings"
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/rules"

	"github.com/podorder/podorder/reference/trace"
	corev1 "k8s.io/api/core/v1"
)

// The number of a line counts what its process could see of its predecessors: an
// instance that ended before it wrote anything is not among them. The kubelet
// counts that one as well. renumber gives the lines the numbers that the kubelet
// counts by, where the trace shows that they differ: the first line of an
// instance was written when the one that would have its number had ended. A log
// alone shows no such thing, and an instance that has written keeps its number.
//
// Statuses tell time in whole seconds, and within the one in which an instance
// ended its lines and those of the next one look alike. By itself renumber
// changes nothing there; it returns these doubts, which instead can be given to
// it as sure.
func Renumber(p *podspec.Pod, obs []Observation, sure ...Doubt) (doubts []Doubt) {
	var lives []lives // of each container
	for n := range obs {
		o := &obs[n]
		if o.IsLog {
			o.Log.Run = o.counted
		} else if (o.Entry.Pod != nil || o.Entry.Event != nil) && lives == nil {
			lives = livesOf(p, obs)
		}
	}
	if lives == nil {
		return nil
	}
	for n := range obs {
		o := &obs[n]
		switch {
		case o.Entry.Pod != nil:
			eachStatus(p, o.Entry.Pod, func(c int, cs *corev1.ContainerStatus) { lives[c].show(cs) })
		case o.Entry.Event != nil:
			if c, kind, ok := instanceEvent(p, o.Entry.Event); ok {
				l := &lives[c]
				l.newest = max(l.newest, int32(l.tell(kind, o.Entry.Event))-1)
			}
		case o.Entry.Gap != nil:
			forget(lives)
		case o.IsLog && o.counted != trace.NoRun:
			l := &lives[o.Container]
			shift, ok := l.shifts[o.counted]
			if !ok {
				if later, after := l.later(o.counted); after {
					shift = l.shifts[later] // it has no number that one after it left free
				} else {
					if d := (Doubt{o.Container, o.counted, n}); l.first(o, times(sure, d)) {
						doubts = append(doubts, d)
					}
					shift = l.shift
				}
				l.shifts[o.counted] = shift
			}
			o.Log.Run = o.counted + shift
		}
	}
	return doubts
}

// Doubt is a number of a container that may be that of a later instance than the
// one that is surely no longer there, and the place of its first line. It may be taken
// as sure more than once, for one instance each time.
type Doubt struct{ c, counted, At int }

// times is how often the doubt is among those that are sure.
func times(sure []Doubt, d Doubt) (n int) {
	for _, s := range sure {
		if s == d {
			n++
		}
	}
	return n
}

// lives is what the statuses and Events of a trace show of when the instances of a container
// lived, and the lines of when it wrote.
type lives struct {
	// there and ended are when each instance was there at the latest and when it
	// ended, by the clock of the node in whole seconds; zero where that is not shown.
	there, ended map[int32]time.Time
	// until is when each instance ended whose count of restarts is its number for sure, and
	// newestEver the last of all instances, as a Pod shows it that has come to its end; -1 if
	// none does.
	until      map[int32]time.Time
	newestEver int32
	// may is since when each instance may be there, as the one before it was being stopped: its
	// start may have lost all of its Events.
	may map[int32]time.Time
	// owners are the first instances that the end of each container ID was shown of.
	owners map[string]int32
	// last is the last line of each number, and highest the highest number.
	last    map[int]*Observation
	highest int
	// made is how many instances there may have been, as far as there is a sign of them.
	made int
	// newest is the newest instance that was shown so far, and over the newest
	// that was shown to have ended; -1 if there is none.
	newest, over int32
	// unstarted are the instances that were shown so far to have ended without having
	// been started.
	unstarted map[int32]bool
	// told is how many instances there were at least by the last Event of each kind so far.
	told [instanceEvents]int
	// shifts is by how much the kubelet counts more than the log does, for each number
	// so far, and shift the one of the newest number.
	shifts map[int]int
	shift  int
}

// livesOf reads the whole trace.
func livesOf(p *podspec.Pod, obs []Observation) []lives {
	all := make([]lives, len(p.Containers))
	for c := range all {
		all[c] = lives{there: map[int32]time.Time{}, ended: map[int32]time.Time{}, until: map[int32]time.Time{}, may: map[int32]time.Time{}, owners: map[string]int32{}, last: map[int]*Observation{}, unstarted: map[int32]bool{}, shifts: map[int]int{}, newest: -1, over: -1, newestEver: -1}
	}
	over := make([]int, len(all)) // how many were shown to have ended so far
	anew := mayBeginAnew(p, obs)
	for n := range obs {
		switch o := &obs[n]; {
		case o.IsLog:
			l := &all[o.Container]
			l.last[o.counted], l.highest = o, max(l.highest, o.counted)
			if over[o.Container] > 0 {
				l.made = max(l.made, over[o.Container]+1)
			}
		case o.Entry.Pod != nil:
			eachStatus(p, o.Entry.Pod, func(c int, cs *corev1.ContainerStatus) {
				l := &all[c]
				if ShownOf(cs).State != Waiting {
					l.made = max(l.made, int(cs.RestartCount)+1)
				}
				if cs.State.Running != nil {
					l.there[cs.RestartCount] = cs.State.Running.StartedAt.Time
				}
				if k, end := endOf(cs); end != nil {
					k = l.owner(k, end, cs.ContainerID == end.ContainerID)
					l.ends(k, end)
					l.there[k], l.ended[k] = end.StartedAt.Time, end.FinishedAt.Time
					if end == cs.State.Terminated && k == cs.RestartCount && !anew {
						l.until[k] = end.FinishedAt.Time
						if st := &o.Entry.Pod.Status; IsFinal(st.Phase) && st.Reason == "" {
							l.newestEver = k
						}
					}
					over[c] = max(over[c], int(k)+1)
				}
			})
		case o.Entry.Gap != nil:
			forget(all)
		case o.Entry.Event != nil:
			if c, kind, ok := instanceEvent(p, o.Entry.Event); ok {
				l := &all[c]
				made := l.tell(kind, o.Entry.Event)
				l.made = max(l.made, made)
				if _, ok := l.there[int32(made)-1]; !ok {
					l.there[int32(made)-1] = o.Entry.Event.LastTimestamp.Time
				}
				if _, ok := l.may[int32(made)]; !ok && kind == eventHookFailed {
					l.made = max(l.made, made+1)
					l.may[int32(made)] = o.Entry.Event.LastTimestamp.Time
				}
			}
		}
	}
	for c := range all {
		all[c].countAfter()
		clear(all[c].unstarted)
	}
	forget(all)
	return all
}

// mayBeginAnew reports whether the containers of the Pod may be counted anew.
func mayBeginAnew(p *podspec.Pod, obs []Observation) bool {
	if p.Gates[rules.GateRestartRules] != "" || p.Gates[rules.GateRestartAll] != "" {
		return true
	}
	return slices.ContainsFunc(obs, func(o Observation) bool {
		e := o.Entry
		return e.Event != nil && e.Event.Reason == "SandboxChanged" ||
			e.Did != nil && (e.Did.Target() == "sandbox" || e.Did.Target() == "node")
	})
}

// forget has nothing concluded from the order of the Events before a gap and after
// it, where they may come in any.
func forget(all []lives) {
	for c := range all {
		all[c].told = [instanceEvents]int{}
	}
}

// countAfter counts the numbers that follow one which wrote when an instance was
// surely there: theirs are of later instances.
func (l *lives) countAfter() {
	for n, o := range l.last {
		slack := time.Second + StampSlack
		if o.Log.Whole {
			slack += time.Second
		}
		for k, at := range l.there {
			if shown(at) && o.Log.Time.After(at.Add(slack)) {
				l.made = max(l.made, int(k)+1+l.highest-n)
			}
		}
	}
}

// endOf is the newest instance that a status shows to have ended, with its end;
// nil if it shows none.
func endOf(cs *corev1.ContainerStatus) (int32, *corev1.ContainerStateTerminated) {
	w := cs.State.Waiting
	switch last := cs.LastTerminationState.Terminated; {
	case IsEnd(cs.State.Terminated) && IsEnd(last) && cs.State.Terminated.FinishedAt.Before(&last.FinishedAt):
		return cs.RestartCount, last // of one that has been removed before the one that is there
	case IsEnd(cs.State.Terminated):
		return cs.RestartCount, cs.State.Terminated
	case !IsEnd(last), cs.State.Terminated != nil:
		return cs.RestartCount - 1, nil
	case cs.ContainerID != "" && last.ContainerID == cs.ContainerID:
		return cs.RestartCount, last // as of one that could not be started
	case w != nil && w.Reason != "RunContainerError" && w.Reason != "PreStartHookError":
		return cs.RestartCount, last
	default:
		// Beside an instance that runs, or that was created and could not be started. The
		// first one that could not may have been removed since, with its ID.
		return max(cs.RestartCount-1, 0), last
	}
}

// The Events of an instance, in the order in which they are recorded, that there is
// at most one of. Killing is one of these where it is a part of the start.
const (
	eventCreated = iota
	eventStarted
	eventHookFailed
	instanceEvents
)

// instanceEvent is the container and the kind of an Event; ok is false if it is none
// of those.
func instanceEvent(p *podspec.Pod, e *trace.Event) (c, kind int, ok bool) {
	switch {
	case e.Reason == "Created":
		kind = eventCreated
	case e.Reason == "Started":
		kind = eventStarted
	case e.Reason == "FailedPostStartHook", e.Reason == "Killing" && strings.Contains(e.Message, "FailedPostStartHook"):
		kind = eventHookFailed
	default:
		return 0, 0, false
	}
	c, ok = EventContainer(p, e)
	return c, kind, ok
}

// tell takes the next of these Events and returns how many instances there had been
// by then at least. Any of them may be lost, and instances that were not started
// have but the first; but what comes after a later kind is of another instance.
func (l *lives) tell(kind int, e *trace.Event) (made int) {
	made = int(e.Count)
	if kind != eventCreated {
		made += len(l.unstarted)
	}
	for _, later := range l.told[kind+1:] {
		if later > 0 {
			made = max(made, later+1)
		}
	}
	l.told[kind] = max(l.told[kind], made)
	return made
}

// owner is the instance whose end a status shows as that of instance k: it may be an
// earlier one, where none that came after it was ever started. own: the status is of
// the instance that has ended.
func (l *lives) owner(k int32, end *corev1.ContainerStateTerminated, own bool) int32 {
	if first, ok := l.owners[end.ContainerID]; ok && first < k {
		return first
	}
	if own && end.ContainerID != "" {
		l.owners[end.ContainerID] = k
	}
	return k
}

// ends takes the end of an instance.
func (l *lives) ends(k int32, end *corev1.ContainerStateTerminated) {
	if !shown(end.StartedAt.Time) {
		l.unstarted[k] = true
	}
}

// show takes the next status.
func (l *lives) show(cs *corev1.ContainerStatus) {
	if cs.State.Running != nil {
		l.newest = max(l.newest, cs.RestartCount)
	}
	if k, end := endOf(cs); end != nil {
		l.ends(k, end)
		l.newest, l.over = max(l.newest, k), max(l.over, k)
	}
}

// later is the next number after the given one that was taken so far.
func (l *lives) later(counted int) (next int, ok bool) {
	for k := range l.shifts {
		if k > counted && (!ok || k < next) {
			next, ok = k, true
		}
	}
	return next, ok
}

// first takes the first line of a number and finds by how much the kubelet counts
// more. It reports whether that is in doubt; each time that it is sure, it is one more.
func (l *lives) first(o *Observation, sure int) (doubtful bool) {
	least, most := max(l.newest, l.over+1), int32(0)
	first, last, slack := o.Log.Time, l.last[o.counted].Log.Time, StampSlack
	if o.Log.Whole {
		slack += time.Second
	}
	// A process may have written before the runtime noted that it had started it.
	begun := first.Add(StampSlack)
	// What is shown later was so by then.
	for k, at := range l.there {
		switch {
		case !shown(at) || begun.Before(at):
		case first.After(at.Add(time.Second + slack)):
			least = max(least, k)
		default:
			most = max(most, k)
		}
	}
	for k, at := range l.ended {
		switch {
		case !shown(at) || begun.Before(at):
		case last.After(at.Add(time.Second + slack)):
			least = max(least, k+1)
		default:
			most = max(most, k+1)
		}
	}
	for k, at := range l.may {
		if shown(at) && !begun.Before(at) {
			most = max(most, k)
		}
	}
	for k, at := range l.until {
		if shown(at) && first.Add(slack).Before(at) {
			most = min(most, k)
		}
	}
	if l.newestEver >= 0 {
		least, most = min(least, l.newestEver), min(most, l.newestEver)
	}
	l.shift = max(l.shift, int(least)-o.counted)
	// There are no more silent ones than instances without a number.
	more := min(int(most)-o.counted, l.made-l.highest-1)
	l.shift = max(l.shift, min(more, l.shift+sure))
	return more > l.shift
}

// shown reports whether a status holds a time at all: for a container that never
// ran the runtime gives the beginning of its epoch.
func shown(at time.Time) bool { return at.Unix() > 0 }

// eachStatus calls do with the status of each container of the Pod.
func eachStatus(p *podspec.Pod, pod *corev1.Pod, do func(c int, cs *corev1.ContainerStatus)) {
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for k := range list {
			if c, ok := p.Index[list[k].Name]; ok {
				do(c, &list[k])
			}
		}
	}
}
