package reference

import (
	"slices"

	"github.com/podorder/podorder/reference/trace"
)

// state is where the Pod may be. It holds only what the observations have
// forced: a step of the kubelet that nothing has forced yet has not been taken,
// since it can still be taken later. States are values; every step returns new
// ones.
type state struct {
	c []instance
	// synced: the first sync, which starts every container once, has surely
	// ended. Its cause explains all that follows from it.
	synced cause
	// ending: the termination of the whole Pod has surely begun.
	ending cause
}

// cause is the observation that forced a fact, with the rule that lets one
// conclude so. The zero cause means that nothing has forced the fact.
type cause struct {
	obs  int32 // index of the observation + 1
	rule string
}

func (c cause) known() bool { return c.obs != 0 }

// instance is the newest instance of one regular container.
type instance struct {
	// run counts the instances from 0; -1 before the first.
	run int
	// late: the first start of the container failed, so that another sync
	// than the first one starts it.
	late bool
	// returned: the postStart hook of this instance has surely returned.
	returned cause
	// kill: the container is being stopped, and why.
	kill killing
	// killed is what forced that.
	killed cause

	// What was seen of this instance; each is an observation + 1, or 0.
	hookFirst, hookEnd, mainEnd, term, preStop, preStopEnd int32
	hookCode, mainCode                                     int
	// last is the latest line of this instance; before is the latest line of
	// the instance before it.
	last, before int32
	// started and ready are the first successful startup and readiness probe;
	// failing is the first failed liveness or startup probe.
	started, ready, failing int32
	// gone: the instance has surely ended.
	gone cause

	// shown is how far the last update showed the container; see rankOf.
	shown int
	// stage is how far the Events of the first start have come, and stageAt
	// the latest of them.
	stage   stage
	stageAt int32
}

// stage counts the Events that one start records, in their order.
type stage uint8

const (
	unheard stage = iota
	pulling
	pulled
	created
	started
)

type killing uint8

const (
	alive    killing = iota
	byEnding         // the whole Pod is terminated
	byProbe          // a liveness or startup probe failed
	byHook           // the postStart hook failed
)

func newState(p plan) state {
	s := state{c: make([]instance, len(p.containers))}
	for i := range s.c {
		s.c[i] = instance{run: -1, shown: -1}
	}
	return s
}

func (s state) clone() state {
	s.c = slices.Clone(s.c)
	return s
}

// same reports whether two states are one for all that can still follow. What
// forced a fact matters to explanations alone.
func (s state) same(t state) bool {
	if s.synced.known() != t.synced.known() || s.ending.known() != t.ending.known() {
		return false
	}
	return slices.EqualFunc(s.c, t.c, func(a, b instance) bool {
		ra, rb, ga, gb, ka, kb := a.returned.known(), b.returned.known(), a.gone.known(), b.gone.known(), a.killed.known(), b.killed.known()
		a.returned, b.returned, a.gone, b.gone, a.killed, b.killed = cause{}, cause{}, cause{}, cause{}, cause{}, cause{}
		return ra == rb && ga == gb && ka == kb && a == b
	})
}

// denial says why a state does not admit an observation.
type denial struct {
	rule string
	// because are the observations (index + 1) that forbid it, with the rule
	// that makes each one forbid it.
	because []cause
	why     string // what exactly is wrong, where the rule alone does not say
}

func deny(rule string, because ...cause) *denial {
	return &denial{rule: rule, because: slices.DeleteFunc(because, func(c cause) bool { return !c.known() })}
}

// evidence is what the whole trace shows to have happened at some time.
// Faults are admitted only where the trace shows them: a restart, a start that
// failed, a deletion.
type evidence struct {
	// runs is the highest run of each container of which anything is seen.
	runs []int
	// startFailed: the container could not be created or started at least once.
	startFailed []bool
	// hookFailed and probeFailed: the postStart hook, or a liveness or startup
	// probe, failed at least once.
	hookFailed, probeFailed []bool
	// deleted: someone deletes the Pod, at a time that an act of the trace
	// gives or (unknown) at any time.
	deletedAnyTime bool
	// logs tells which actors of each container write to the log at all.
	logs []map[trace.Actor]bool
	// logGap and eventGap: lines, or Events, may be missing or out of order.
	logGap, eventGap bool
}
