package reference

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
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
func renumber(p *plan, obs []observation, sure ...doubt) (doubts []doubt) {
	var lives []lives // of each container
	for n := range obs {
		o := &obs[n]
		if o.isLog {
			o.log.Run = o.counted
		} else if (o.entry.Pod != nil || o.entry.Event != nil) && lives == nil {
			lives = livesOf(p, obs)
		}
	}
	if lives == nil {
		return nil
	}
	for n := range obs {
		o := &obs[n]
		switch {
		case o.entry.Pod != nil:
			eachStatus(p, o.entry.Pod, func(c int, cs *corev1.ContainerStatus) { lives[c].show(cs) })
		case o.entry.Event != nil:
			if c, made := creation(p, o.entry.Event); made > 0 {
				lives[c].newest = max(lives[c].newest, int32(made)-1)
			}
		case o.isLog && o.counted != trace.NoRun:
			l := &lives[o.c]
			if o.counted != l.run {
				if d := (doubt{o.c, o.counted}); l.first(o, slices.Contains(sure, d)) {
					doubts = append(doubts, d)
				}
			}
			o.log.Run = o.counted + l.shift
		}
	}
	return doubts
}

// doubt is a number of a container that may be that of a later instance than the
// one that is surely no longer there.
type doubt struct{ c, counted int }

// maxDoubts bounds the doubts that are looked into.
const maxDoubts = 4

// readings are the ways to settle some doubts, none of them first.
func readings(doubts []doubt) [][]doubt {
	doubts = doubts[:min(len(doubts), maxDoubts)]
	all := make([][]doubt, 1<<len(doubts))
	for i := range all {
		for k, d := range doubts {
			if i&(1<<k) != 0 {
				all[i] = append(all[i], d)
			}
		}
	}
	return all
}

// lives is what the statuses and Events of a trace show of when the instances of a container
// lived, and the lines of when it wrote.
type lives struct {
	// there and ended are when each instance was there at the latest and when it
	// ended, by the clock of the node in whole seconds; zero where that is not shown.
	there, ended map[int32]time.Time
	// last is the last line of each number, and highest the highest number.
	last    map[int]*observation
	highest int
	// made is how many instances there were at least.
	made int
	// newest is the newest instance that was shown so far, and over the newest
	// that was shown to have ended; -1 if there is none.
	newest, over int32
	// shift is by how much the kubelet counts more than the log does, and run the
	// number that it was found for.
	shift, run int
}

// livesOf reads the whole trace.
func livesOf(p *plan, obs []observation) []lives {
	all := make([]lives, len(p.containers))
	for c := range all {
		all[c] = lives{there: map[int32]time.Time{}, ended: map[int32]time.Time{}, last: map[int]*observation{}, newest: -1, over: -1, run: trace.NoRun}
	}
	over := make([]int, len(all)) // how many were shown to have ended so far
	for n := range obs {
		switch o := &obs[n]; {
		case o.isLog:
			l := &all[o.c]
			l.last[o.counted], l.highest = o, max(l.highest, o.counted)
			if over[o.c] > 0 {
				l.made = max(l.made, over[o.c]+1)
			}
		case o.entry.Pod != nil:
			eachStatus(p, o.entry.Pod, func(c int, cs *corev1.ContainerStatus) {
				l := &all[c]
				if rankOf(cs)%3 != 0 {
					l.made = max(l.made, int(cs.RestartCount)+1)
				}
				if cs.State.Running != nil {
					l.there[cs.RestartCount] = cs.State.Running.StartedAt.Time
				}
				if k, end := endOf(cs); end != nil {
					l.there[k], l.ended[k] = end.StartedAt.Time, end.FinishedAt.Time
					over[c] = max(over[c], int(k)+1)
				}
			})
		case o.entry.Event != nil:
			if c, made := creation(p, o.entry.Event); made > 0 {
				l := &all[c]
				l.made = max(l.made, made)
				if _, ok := l.there[int32(made)-1]; !ok {
					l.there[int32(made)-1] = o.entry.Event.LastTimestamp.Time
				}
			}
		}
	}
	for c := range all {
		all[c].countBehind()
	}
	return all
}

// countBehind counts the numbers that follow one which wrote when an instance was
// surely there: theirs are of later instances.
func (l *lives) countBehind() {
	for n, o := range l.last {
		slack := time.Second + stampSlack
		if o.log.Whole {
			slack += time.Second
		}
		for k, at := range l.there {
			if shown(at) && o.log.Time.After(at.Add(slack)) {
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
	case isEnd(cs.State.Terminated):
		return cs.RestartCount, cs.State.Terminated
	case !isEnd(last), cs.State.Terminated != nil:
		return cs.RestartCount - 1, nil
	case w != nil && w.Reason != "RunContainerError" && w.Reason != "PreStartHookError":
		return cs.RestartCount, last
	default:
		// Beside an instance that runs, or that was created and could not be started.
		return cs.RestartCount - 1, last
	}
}

// creation is how many instances of a container had been created, or started, by an
// Event, at least; 0 if it is of another kind. One of the two may be lost.
func creation(p *plan, e *trace.Event) (c, made int) {
	if e.Reason != "Created" && e.Reason != "Started" {
		return 0, 0
	}
	c, ok := eventContainer(p, e)
	if !ok {
		return 0, 0
	}
	return c, int(e.Count)
}

// show takes the next status.
func (l *lives) show(cs *corev1.ContainerStatus) {
	if cs.State.Running != nil {
		l.newest = max(l.newest, cs.RestartCount)
	}
	if k, end := endOf(cs); end != nil {
		l.newest, l.over = max(l.newest, k), max(l.over, k)
	}
}

// first takes the first line of a number and finds by how much the kubelet counts
// more. It reports whether that is in doubt; sure settles it.
func (l *lives) first(o *observation, sure bool) (doubtful bool) {
	l.run = o.counted
	least, most := max(l.newest, l.over+1), int32(0)
	first, last, slack := o.log.Time, l.last[o.counted].log.Time, stampSlack
	if o.log.Whole {
		slack += time.Second
	}
	// What is shown later was so by then.
	for k, at := range l.there {
		switch {
		case !shown(at) || first.Before(at):
		case first.After(at.Add(time.Second + slack)):
			least = max(least, k)
		default:
			most = max(most, k)
		}
	}
	for k, at := range l.ended {
		switch {
		case !shown(at) || first.Before(at):
		case last.After(at.Add(time.Second + slack)):
			least = max(least, k+1)
		default:
			most = max(most, k+1)
		}
	}
	l.shift = max(l.shift, int(least)-o.counted)
	// There are no more silent ones than instances without a number.
	if more := min(int(most)-o.counted, l.made-l.highest-1); more > l.shift {
		if !sure {
			return true
		}
		l.shift = more
	}
	return false
}

// shown reports whether a status holds a time at all: for a container that never
// ran the runtime gives the beginning of its epoch.
func shown(at time.Time) bool { return at.Unix() > 0 }

// eachStatus calls do with the status of each container of the Pod.
func eachStatus(p *plan, pod *corev1.Pod, do func(c int, cs *corev1.ContainerStatus)) {
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for k := range list {
			if c, ok := p.index[list[k].Name]; ok {
				do(c, &list[k])
			}
		}
	}
}
