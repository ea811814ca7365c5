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

// instances is when the instances of one container ran, as statuses and Events show it,
// and when it wrote, as the lines do. Runs are counted from 0, as the kubelet counts
// them. Times of statuses are whole seconds of the clock of the node.
type instances struct {
	// What the whole trace shows, of each run where it shows it:
	//
	// startedAt and endedAt are when the run was there, at the latest, and when it ended.
	startedAt, endedAt map[int32]time.Time
	// surelyEndedAt is endedAt of those whose restart count is their run for sure.
	surelyEndedAt map[int32]time.Time
	// mayStartAt is from when on the run may be there, since the one before it was being
	// stopped: all Events of its start may be lost.
	mayStartAt map[int32]time.Time
	// finalRun is the last run of all, as shown by a Pod in its final phase; -1 if none is.
	finalRun int32
	// firstWithID is the first run that was shown to have ended with a container ID.
	firstWithID map[string]int32
	// lastLine is the last line of each number of the log, and highest the highest number.
	lastLine map[int]*Observation
	highest  int
	// count is how many instances there are signs of.
	count int

	// What the observations so far show:
	//
	// newest is the newest run, and newestEnded the newest that has ended; -1 if none has.
	newest, newestEnded int32
	// neverStarted are the runs that ended without having been started.
	neverStarted map[int32]bool
	// byEvents is how many instances the last Event of each kind tells of, at least.
	byEvents [instanceEvents]int
	// silentBefore is how many silent runs come before each number of the log, and silent
	// the count before the newest number.
	silentBefore map[int]int
	silent       int
}

// instancesOf reads the whole trace, and returns the instances of each container with
// nothing shown so far.
func instancesOf(p *podspec.Pod, obs []Observation) []instances {
	all := make([]instances, len(p.Containers))
	for c := range all {
		all[c] = instances{
			startedAt: map[int32]time.Time{}, endedAt: map[int32]time.Time{}, surelyEndedAt: map[int32]time.Time{}, mayStartAt: map[int32]time.Time{},
			finalRun: -1, firstWithID: map[string]int32{}, lastLine: map[int]*Observation{},
			newest: -1, newestEnded: -1, neverStarted: map[int32]bool{}, silentBefore: map[int]int{},
		}
	}
	ended := make([]int, len(all)) // how many of each were shown to have ended so far
	anew := mayCountAnew(p, obs)
	for n := range obs {
		switch o := &obs[n]; {
		case o.IsLog:
			x := &all[o.Container]
			x.lastLine[o.counted], x.highest = o, max(x.highest, o.counted)
			if e := ended[o.Container]; e > 0 {
				x.count = max(x.count, e+1)
			}
		case o.Entry.Pod != nil:
			eachStatus(p, o.Entry.Pod, func(c int, cs *corev1.ContainerStatus) {
				ended[c] = max(ended[c], all[c].readStatus(cs, &o.Entry.Pod.Status, anew))
			})
		case o.Entry.Gap != nil:
			forgetEventOrder(all)
		case o.Entry.Event != nil:
			if c, kind, ok := instanceEvent(p, o.Entry.Event); ok {
				all[c].readEvent(kind, o.Entry.Event)
			}
		}
	}
	for c := range all {
		all[c].countNumbers()
		clear(all[c].neverStarted)
	}
	forgetEventOrder(all)
	return all
}

// readStatus reads when instances were there off a status, and returns how many it shows
// to have ended. anew: restart counts may begin again.
func (x *instances) readStatus(cs *corev1.ContainerStatus, st *corev1.PodStatus, anew bool) (ended int) {
	if ShownOf(cs).State != Waiting {
		x.count = max(x.count, int(cs.RestartCount)+1)
	}
	if cs.State.Running != nil {
		x.startedAt[cs.RestartCount] = cs.State.Running.StartedAt.Time
		if _, ok := x.firstWithID[cs.ContainerID]; !ok && cs.ContainerID != "" {
			x.firstWithID[cs.ContainerID] = cs.RestartCount
		}
	}
	k, end := endOf(cs)
	if end == nil {
		return 0
	}
	k = x.runOfID(k, end, cs.ContainerID == end.ContainerID)
	x.takeEnd(k, end)
	x.startedAt[k], x.endedAt[k] = end.StartedAt.Time, end.FinishedAt.Time
	if end == cs.State.Terminated && k == cs.RestartCount && !anew {
		x.surelyEndedAt[k] = end.FinishedAt.Time
		if IsFinal(st.Phase) && st.Reason == "" {
			x.finalRun = k
		}
	}
	return int(k) + 1
}

// readEvent reads when an instance was there off an Event.
func (x *instances) readEvent(kind int, e *trace.Event) {
	count := x.countByEvent(kind, e)
	x.count = max(x.count, count)
	run, at := int32(count)-1, e.LastTimestamp.Time
	if _, ok := x.startedAt[run]; !ok {
		x.startedAt[run] = at
	}
	if _, ok := x.mayStartAt[run+1]; !ok && kind == eventHookFailed {
		x.count = max(x.count, count+1)
		x.mayStartAt[run+1] = at
	}
}

// countNumbers counts the numbers of the log that follow one which wrote when an
// instance was surely there: theirs are of later instances.
func (x *instances) countNumbers() {
	for n, o := range x.lastLine {
		slack := time.Second + StampSlack
		if o.Log.Whole {
			slack += time.Second
		}
		for k, at := range x.startedAt {
			if isTime(at) && o.Log.Time.After(at.Add(slack)) {
				x.count = max(x.count, int(k)+1+x.highest-n)
			}
		}
	}
}

// mayCountAnew reports whether the restart counts of the Pod may begin again.
func mayCountAnew(p *podspec.Pod, obs []Observation) bool {
	if p.Gates[rules.GateRestartRules] != "" || p.Gates[rules.GateRestartAll] != "" {
		return true
	}
	return slices.ContainsFunc(obs, func(o Observation) bool {
		e := o.Entry
		return e.Event != nil && e.Event.Reason == "SandboxChanged" ||
			e.Did != nil && (e.Did.Target() == "sandbox" || e.Did.Target() == "node")
	})
}

// takeStatus takes the next status as shown.
func (x *instances) takeStatus(cs *corev1.ContainerStatus) {
	if cs.State.Running != nil {
		x.newest = max(x.newest, cs.RestartCount)
	}
	if k, end := endOf(cs); end != nil {
		x.takeEnd(k, end)
		x.newest, x.newestEnded = max(x.newest, k), max(x.newestEnded, k)
	}
}

// takeEnd takes the shown end of run k.
func (x *instances) takeEnd(k int32, end *corev1.ContainerStateTerminated) {
	if !isTime(end.StartedAt.Time) {
		x.neverStarted[k] = true
	}
}

// endOf is the newest run that a status shows to have ended, with its end; nil if the
// status shows none.
func endOf(cs *corev1.ContainerStatus) (int32, *corev1.ContainerStateTerminated) {
	w := cs.State.Waiting
	switch last := cs.LastTerminationState.Terminated; {
	case IsEnd(cs.State.Terminated) && IsEnd(last) && cs.State.Terminated.FinishedAt.Before(&last.FinishedAt):
		return cs.RestartCount, last // the newer container was removed before the one that is there
	case IsEnd(cs.State.Terminated):
		return cs.RestartCount, cs.State.Terminated
	case !IsEnd(last), cs.State.Terminated != nil:
		return cs.RestartCount - 1, nil
	case cs.ContainerID != "" && last.ContainerID == cs.ContainerID:
		return cs.RestartCount, last // of a container that could not be started, say
	case w != nil && w.Reason != "RunContainerError" && w.Reason != "PreStartHookError":
		return cs.RestartCount, last
	default:
		// The end stands beside an instance that runs, or that was created and could not be
		// started. The first one that could not may have been removed since, with its ID.
		return max(cs.RestartCount-1, 0), last
	}
}

// runOfID is the run whose end a status shows as the end of run k. It may be an earlier
// one, if none after it was ever started. own: the status is of the container that ended.
func (x *instances) runOfID(k int32, end *corev1.ContainerStateTerminated, own bool) int32 {
	if first, ok := x.firstWithID[end.ContainerID]; ok && first < k {
		return first
	}
	if own && end.ContainerID != "" {
		x.firstWithID[end.ContainerID] = k
	}
	return k
}

// The kinds of Events that an instance has at most one of, in the order in which the
// kubelet records them. Killing is one where it is part of the start.
const (
	eventCreated = iota
	eventStarted
	eventHookFailed
	instanceEvents
)

// instanceEvent is the container and the kind of an Event; ok is false if it is none of
// those.
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

// countByEvent takes the next of these Events and returns how many instances there had
// been by then, at least. Any Event may be lost, and an instance that was not started has
// only the first. But an Event that comes after one of a later kind is of another instance.
func (x *instances) countByEvent(kind int, e *trace.Event) int {
	count := int(e.Count)
	if kind != eventCreated {
		count += len(x.neverStarted)
	}
	for _, later := range x.byEvents[kind+1:] {
		if later > 0 {
			count = max(count, later+1)
		}
	}
	x.byEvents[kind] = max(x.byEvents[kind], count)
	return count
}

// forgetEventOrder has nothing concluded from the order of the Events before a gap and
// after it: there they may come in any order.
func forgetEventOrder(all []instances) {
	for c := range all {
		all[c].byEvents = [instanceEvents]int{}
	}
}

// isTime reports whether a status holds a time at all: for a container that never ran the
// runtime gives the beginning of its epoch.
func isTime(at time.Time) bool { return at.Unix() > 0 }

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
