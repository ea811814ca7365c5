package record

import (
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"

	"github.com/podorder/podorder/reference/trace"
	corev1 "k8s.io/api/core/v1"
)

// Renumber gives the log lines the run numbers that the kubelet counts by.
//
// A process numbers its lines by what it can see of the runs before it. It does not see
// a run that ended before it wrote anything; the kubelet counts that one as well. Where
// statuses and Events show such a silent run, the lines that follow get a higher number:
// the first line of an instance was written after the end of the instance that would have
// its number otherwise. A log alone shows nothing of the kind, and an instance that has
// written keeps its number.
//
// Statuses tell time in whole seconds. Within the second in which an instance ended, its
// lines and those of the next one look alike. Renumber changes nothing there. It returns
// these places as doubts, and takes those that it is given in sure as decided: the line is
// of the later instance.
func Renumber(p *podspec.Pod, obs []Observation, sure ...Doubt) (doubts []Doubt) {
	shows := false // more than a log
	for n := range obs {
		o := &obs[n]
		if o.IsLog {
			o.Log.Run = o.counted
		}
		shows = shows || o.Entry.Pod != nil || o.Entry.Event != nil
	}
	if !shows {
		return nil
	}
	all := instancesOf(p, obs)
	for n := range obs {
		o := &obs[n]
		switch {
		case o.Entry.Pod != nil:
			eachStatus(p, o.Entry.Pod, func(c int, cs *corev1.ContainerStatus) { all[c].takeStatus(cs) })
		case o.Entry.Event != nil:
			if c, kind, ok := instanceEvent(p, o.Entry.Event); ok {
				x := &all[c]
				x.newest = max(x.newest, int32(x.countByEvent(kind, o.Entry.Event))-1)
			}
		case o.Entry.Gap != nil:
			forgetEventOrder(all)
		case o.IsLog && o.counted != trace.NoRun:
			d := Doubt{o.Container, o.counted, n}
			silent, doubtful := all[o.Container].silentRunsBefore(o, times(sure, d))
			if doubtful {
				doubts = append(doubts, d)
			}
			o.Log.Run = o.counted + silent
		}
	}
	return doubts
}

// Doubt is a run number of a container that may belong to a later instance than the one
// that is surely no longer there. At is the observation with the first line of that
// number. A doubt may be taken as sure several times: once for each instance that the
// number moves on.
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

// silentRunsBefore is how many silent runs come before the run of a line. It is found at
// the first line of each number; doubtful reports that there it may be one more.
func (x *instances) silentRunsBefore(o *Observation, sure int) (silent int, doubtful bool) {
	silent, ok := x.silentBefore[o.counted]
	if ok {
		return silent, false
	}
	if later, ok := x.nextNumber(o.counted); ok {
		silent = x.silentBefore[later] // a later number was read before, and left no number free
	} else {
		doubtful = x.takeNumber(o, sure)
		silent = x.silent
	}
	x.silentBefore[o.counted] = silent
	return silent, doubtful
}

// nextNumber is the lowest number above the given one that was read so far.
func (x *instances) nextNumber(counted int) (next int, ok bool) {
	for k := range x.silentBefore {
		if k > counted && (!ok || k < next) {
			next, ok = k, true
		}
	}
	return next, ok
}

// takeNumber takes the first line of a number and counts the silent runs before it. It
// reports whether there may be one more; each time that this is sure, it is counted.
func (x *instances) takeNumber(o *Observation, sure int) (doubtful bool) {
	least, most := x.runsAt(o)
	x.silent = max(x.silent, int(least)-o.counted)
	// There are no more silent runs than instances without a number.
	possible := min(int(most)-o.counted, x.count-x.highest-1)
	x.silent = max(x.silent, min(possible, x.silent+sure))
	return possible > x.silent
}

// runsAt is the least and the most that the run of the first line of a number can be, by
// what is shown up to the line and, with a time, after it.
func (x *instances) runsAt(o *Observation) (least, most int32) {
	least = max(x.newest, x.newestEnded+1)
	first, last, slack := o.Log.Time, x.lastLine[o.counted].Log.Time, StampSlack
	if o.Log.Whole {
		slack += time.Second
	}
	// A process may have written before the runtime noted that it had started it.
	begun := first.Add(StampSlack)
	for k, at := range x.startedAt {
		switch {
		case !isTime(at) || begun.Before(at):
		case first.After(at.Add(time.Second + slack)):
			least = max(least, k)
		default:
			most = max(most, k)
		}
	}
	for k, at := range x.endedAt {
		switch {
		case !isTime(at) || begun.Before(at):
		case last.After(at.Add(time.Second + slack)):
			least = max(least, k+1)
		default:
			most = max(most, k+1)
		}
	}
	for k, at := range x.mayStartAt {
		if isTime(at) && !begun.Before(at) {
			most = max(most, k)
		}
	}
	for k, at := range x.surelyEndedAt {
		if isTime(at) && first.Add(slack).Before(at) {
			most = min(most, k)
		}
	}
	if x.finalRun >= 0 {
		least, most = min(least, x.finalRun), min(most, x.finalRun)
	}
	return least, most
}
