// What is due: what the kubelet is obliged to do, and when each obligation is asked. The rules
// stand in the chapters of the duties: overdue.go, probing.go, failed.go, shown.go, final.go, ends.go, deleted.go.

package model

import (
	"time"

	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
)

// duty is an obligation, and the function that judges it: it says why what is due for
// container i should have come by observation n. It returns nil where nothing is due, or where
// it has come. It asks excused with its clause.
type duty struct {
	clause rules.Clause
	late   func(r *Reading, s *State, i, n int) *Denial
}

// duties are all obligations. What is late is asked by lookForLate.
var duties = [...]duty{
	{rules.ReadinessDuringStop, (*Reading).readinessOverdue},
	{rules.ProbedAfterRestart, (*Reading).probeOverdue},
	{rules.NextProbe, (*Reading).probeNotRun},
	{rules.FailureThenStop, (*Reading).failureIgnored},
	{rules.ReadyShown, (*Reading).probesNotShown},
	{rules.NextStarts, (*Reading).startOverdue},
	{rules.RestartComes, (*Reading).restartOverdue},
	{rules.HookRan, (*Reading).hookSkipped},
	{rules.HookBegins, (*Reading).hookOverdue},
	{rules.ImageReplaced, (*Reading).imageOverdue},
	{rules.AllStopped, (*Reading).allOverdue},
	{rules.FinalPhase, (*Reading).finalPhaseOverdue},
	{rules.EndShown, (*Reading).endNotShown},
	{rules.DeletionStops, (*Reading).deletionIgnored},
}

// lookEvery is how much time passes from one look at all duties to the next. Nothing is due
// within so short a time.
const lookEvery = time.Second

// lookForLate says what should have come by observation n, and has not. The container of a
// line is asked at each of its lines, since the line shows it alive; the others are asked
// when time has passed.
func (r *Reading) lookForLate(s *State, n int) *Denial {
	if r.ev.GraceNeverEnds {
		return nil // time does not matter
	}
	if at := r.earliest(n); at.Sub(r.looked) < lookEvery {
		if o := r.ob(n); o.IsLog {
			return r.lateOf(s, o.Container, n)
		}
		return nil
	}
	for i := range s.c {
		if d := r.lateOf(s, i, n); d != nil {
			return d
		}
	}
	return nil
}

// lateOf asks every duty of container i.
func (r *Reading) lateOf(s *State, i, n int) *Denial {
	for k := range duties {
		if d := duties[k].late(r, s, i, n); d != nil {
			return d
		}
	}
	return nil
}

// haveLooked remembers when all duties were looked at.
func (r *Reading) haveLooked(n int) {
	if at := r.earliest(n); at.Sub(r.looked) >= lookEvery {
		r.looked = at
	}
}

// earliest is the earliest time at which observation n can have been made. A line was
// written by its stamp, unless that is of a clock that is ahead.
func (r *Reading) earliest(n int) time.Time {
	o := r.ob(n)
	switch {
	case !o.IsLog:
		return o.Entry.At
	case r.logOnly || o.Log.Time.Before(o.Entry.At):
		return o.Log.Time
	}
	return o.Entry.At
}

// passed is how much time had surely passed from the observation in a place to observation n:
// by the clock of the node between two lines, else by that of the recorder, to which the
// first one had come late at worst.
func (r *Reading) passed(since record.Place, n int) time.Duration {
	if r.logOnly || r.obAt(since).IsLog && r.ob(n).IsLog {
		return r.between(since, n) - r.slack(n)
	}
	return r.earliest(n).Sub(r.obAt(since).Entry.At).Round(time.Millisecond)
}

// lives reports whether the newest instance of container i was surely alive at observation n:
// the observation is a line of it, or a later one shows it.
func (r *Reading) lives(s *State, i, n int) bool {
	if o := r.ob(n); o.IsLog && o.Container == i && r.runOf(i, &o.Log) == s.c[i].run {
		return true
	}
	of := &r.ev.Containers[i]
	// One that was shown as ended may have been replaced, so that the newest run is another. A
	// status also counts instances whose start failed.
	newest := s.c[i].run == of.NewestRun || s.c[i].run == of.LastAliveRun && !of.StartFailed
	return newest && of.LastAlive.After(n) && !r.mayEverStartOver()
}
