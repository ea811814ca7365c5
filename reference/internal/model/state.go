package model

import (
	"slices"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
)

// State is where the Pod may be. It holds only what the observations have
// forced: a step of the kubelet that nothing has forced yet has not been taken,
// since it can still be taken later. What the observations have *shown* is the
// same in every state and stands in the history beside them. States are values;
// every step returns new ones.
type State struct {
	c []instance
	// startedOver: every container has begun anew since, with a new sandbox, or by
	// RestartAllContainers. What is called a round here begins with that.
	startedOver bool
	// startSyncEnded: the sync that starts the regular containers has surely ended in
	// this round.
	startSyncEnded Cause
	// terminating: the termination of the whole Pod has surely begun.
	terminating Cause
}

func (c Cause) known() bool { return c.Obs != 0 }

// progress says how the newest instance of a container came to be started in this round.
type progress uint8

const (
	// unstarted: none was started in this round so far.
	unstarted progress = iota
	// postponed: its first start of this round failed, or was cut off, so that another
	// sync than the first one starts it.
	postponed
	// startedFirst is the first instance of this round, of the first sync.
	startedFirst
	// startedLater is the first instance of this round, of a later sync.
	startedLater
	// restarted is a later instance of this round.
	restarted
	// restartedAtOnce is one that the first sync after the one that started all regular
	// containers has started, or will have when it ends.
	restartedAtOnce
)

func (p progress) isUnstarted() bool   { return p <= postponed }
func (p progress) isStarted() bool     { return p > postponed }
func (p progress) isFirst() bool       { return p == startedFirst || p == startedLater }
func (p progress) isByLaterSync() bool { return p == postponed || p == startedLater }

// withFirstStart is the phase once the first instance of this round was started.
func (p progress) withFirstStart() progress {
	if p.isByLaterSync() {
		return startedLater
	}
	return startedFirst
}

// byLaterSync is the phase where another sync than the first one has started it.
func (p progress) byLaterSync() progress {
	switch p {
	case unstarted:
		return postponed
	case startedFirst:
		return startedLater
	}
	return p
}

// instance is the newest instance of one container.
type instance struct {
	// run counts the instances from 0; -1 before the first.
	run int32
	// before is the newest run of a sidecar when this round began; -1 in the first,
	// and for other containers.
	runBeforeRound int32
	// phase is how it came to be started in this round.
	progress progress
	// deadAtSyncEnd: this instance had ended when the sync that started it did.
	deadAtSyncEnd bool
	// kill: the container is being stopped, and why.
	kill killReason
	// after counts startup and liveness probes since the termination began.
	lateProbes uint8
	// hookReturned: the postStart hook of this instance has surely returned.
	hookReturned Cause
	// killed is what forced kill.
	killCause Cause
	// ended: the instance has surely ended, or, if it is not started yet, never will be.
	ended Cause
	// nextMayStart: what is listed behind this init container or sidecar could start.
	nextMayStart Cause
}

type killReason uint8

const (
	notKilled     killReason = iota
	byTermination            // the whole Pod is terminated
	byProbe                  // a liveness or startup probe failed, or the definition changed
	byHook                   // the postStart hook failed
	bySandbox                // the sandbox is replaced
	byRestartAll             // a container asked for the restart of all
)

func NewState(p *podspec.Pod) State {
	s := State{c: make([]instance, len(p.Containers))}
	for i := range s.c {
		s.c[i] = instance{run: -1, runBeforeRound: -1}
	}
	return s
}

func (s State) clone() State {
	s.c = slices.Clone(s.c)
	return s
}

// hash is the same for states that are (FNV-1a, by word).
func (s *State) hash() uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := (offset ^ uint64(s.key())) * prime
	for i := range s.c {
		k := s.c[i].key()
		for _, v := range [...]uint64{uint64(k.run), uint64(k.before), uint64(k.facts)} {
			h = (h ^ v) * prime
		}
	}
	return h
}

// key tells apart what is known of a state beside its instances.
func (s *State) key() uint32 {
	return bits(s.startedOver, s.startSyncEnded.known(), s.terminating.known())
}

// instanceKey tells instances apart.
type instanceKey struct {
	run, before int32
	facts       uint32
}

func (c *instance) key() instanceKey {
	facts := bits(c.deadAtSyncEnd, c.hookReturned.known(), c.ended.known(), c.nextMayStart.known())
	return instanceKey{c.run, c.runBeforeRound, facts | uint32(c.progress)<<4 | uint32(c.kill)<<8 | uint32(c.lateProbes)<<16}
}

// bits packs up to eight facts.
func bits(facts ...bool) (b uint32) {
	for i, is := range facts {
		if is {
			b |= 1 << i
		}
	}
	return b
}

// Causes calls do with the observations (index + 1) that forced the facts of the state.
func (s *State) Causes(do func(obs record.Place)) {
	do(s.startSyncEnded.Obs)
	do(s.terminating.Obs)
	for i := range s.c {
		c := &s.c[i]
		for _, x := range []Cause{c.hookReturned, c.killCause, c.ended, c.nextMayStart} {
			do(x.Obs)
		}
	}
}
