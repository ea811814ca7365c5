// What is due: what the kubelet is obliged to do, and when each obligation is asked. The rules
// stand in the chapters of the duties: overdue.go, probing.go, failed.go, shown.go, final.go, ends.go, deleted.go, killdue.go, added.go, back.go,
// deadline.go, termdue.go, gone.go.

package model

import (
	"time"

	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// duty is an obligation, and the function that judges it: it says why what is due for
// container i should have come by observation n. It returns nil where nothing is due, or where
// it has come. It asks excused with its clause.
type duty struct {
	clause rules.Clause
	late   func(r *Reading, s *State, i, n int) *Denial
	// has reports whether container i can have the duty at all, by its Pod and by the evidence: it
	// is not asked of any other. Of what late asks, it leaves out nothing that changes while the
	// trace is read.
	has func(m *model, i int) bool
}

// duties are all obligations. What is late is asked by lookForLate.
var duties = [...]duty{
	{rules.ReadinessDuringStop, (*Reading).readinessOverdue, func(m *model, i int) bool { return m.p.Containers[i].Readiness.Declared }},
	{rules.ProbedAfterRestart, (*Reading).probeOverdue, func(m *model, i int) bool { return m.firstProbeWithin(i) > 0 }},
	{rules.NextProbe, (*Reading).probeNotRun, (*model).anyWritesEachRun},
	{rules.FailureThenStop, (*Reading).failureIgnored, func(m *model, i int) bool {
		return m.p.Containers[i].Liveness.Declared || m.p.Containers[i].Startup.Declared
	}},
	{rules.ReadyShown, (*Reading).probesNotShown, func(m *model, i int) bool { return !m.logOnly && probed(&m.p.Containers[i]) }},
	{rules.NextStarts, (*Reading).startOverdue, (*model).startsAreSeen},
	{rules.RestartComes, (*Reading).restartOverdue, func(m *model, i int) bool { return m.startsAreSeen(i) && !m.startsOver }},
	{rules.HookRan, (*Reading).hookSkipped, func(m *model, i int) bool { return m.leavesLine(i, trace.PostStart) }},
	{rules.HookBegins, (*Reading).hookOverdue, func(m *model, i int) bool {
		return m.leavesLine(i, trace.PostStart) && m.marks(i, trace.PostStart)
	}},
	{rules.ImageReplaced, (*Reading).imageOverdue, func(m *model, i int) bool { return len(m.ev.Containers[i].Images) > 0 }},
	{rules.AllStopped, (*Reading).allOverdue, func(m *model, i int) bool {
		return m.k.Enabled(rules.GateRestartAll) && m.p.Gates[rules.GateRestartAll] != ""
	}},
	{rules.FinalPhase, (*Reading).finalPhaseOverdue, func(m *model, i int) bool { return i == 0 && !m.logOnly }},
	{rules.EndShown, (*Reading).endNotShown, func(m *model, _ int) bool { return !m.logOnly }},
	{rules.DeletionStops, (*Reading).deletionIgnored, func(m *model, _ int) bool { return len(m.ev.Ends) > 0 }},
	{rules.EphemeralComes, (*Reading).ephemeralOverdue, func(m *model, i int) bool { return m.ev.Containers[i].Added.Known() && m.marks(i, trace.Main) }},
	{rules.AllComeBack, (*Reading).comesBackOverdue, func(m *model, i int) bool {
		return m.startsAreSeen(i) && m.k.Enabled(rules.GateRestartAll) && m.p.Gates[rules.GateRestartAll] != ""
	}},
	{rules.DeadlineFails, (*Reading).deadlineIgnored, func(m *model, i int) bool { return i == 0 && !m.logOnly && m.ev.Deadline > 0 }},
	{rules.TermComes, (*Reading).termOverdue, func(m *model, i int) bool {
		return !m.logOnly && len(m.ev.Ends) > 0 && m.p.IsRegular(i) && m.marks(i, trace.Main)
	}},
	{rules.ObjectGone, (*Reading).objectOverdue, func(m *model, i int) bool { return i == 0 && !m.logOnly && len(m.ev.Ends) > 0 }},
	{rules.KillComes, (*Reading).killOverdue, func(m *model, _ int) bool { return !m.logOnly && len(m.ev.Ends) > 0 }},
	{rules.StopShown, (*Reading).stopOverdue, func(m *model, i int) bool {
		spec := &m.p.Containers[i]
		return !m.logOnly && (spec.Liveness.Declared || spec.Startup.Declared || spec.PostStart || len(m.ev.Containers[i].Images) > 0 || m.p.Gates[rules.GateRestartAll] != "")
	}},
}

// duties are the duties that each container can have.
func (m *model) duties() [][]*duty {
	of := make([][]*duty, len(m.p.Containers))
	for i := range of {
		for k := range duties {
			if d := &duties[k]; d.has(m, i) {
				of[i] = append(of[i], d)
			}
		}
	}
	return of
}

// startsAreSeen reports whether a start of container i leaves a line, and the sync makes it.
func (m *model) startsAreSeen(i int) bool {
	return i < m.p.Inits+m.p.Regulars && m.marks(i, trace.Main)
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
	if r.earliest(n).Before(r.lookAgain) {
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
	for _, duty := range r.dutiesOf[i] {
		if d := duty.late(r, s, i, n); d != nil {
			return d
		}
	}
	return nil
}

// haveLooked remembers that all duties were looked at, if they were.
func (r *Reading) haveLooked(n int) {
	if at := r.earliest(n); !at.Before(r.lookAgain) {
		r.lookAgain = at.Add(lookEvery)
	}
}

// earliest is the earliest time at which observation n can have been made. A line was
// written by its stamp, unless that is of a clock that is ahead.
func (r *Reading) earliest(n int) time.Time {
	o := r.ob(n)
	switch {
	case !o.IsLog:
		return o.ReadAt() // an act is read before the lines that came after it, whenever they were written
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
