// A state of the Pod: what the observations have forced the kubelet to have done. The facts in
// it are what the chapters refuse by.

package model

import (
	"slices"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
)

// State is one way in which the Pod may stand now. It holds only what the observations
// have forced. A step of the kubelet that nothing has forced yet is not taken, because it
// can still be taken later. What the observations have shown is the same in every state,
// so it is kept beside the states, in the history. A state is never changed once it was
// returned: whoever changes one works on a clone.
type State struct {
	// c has the newest instance of each container.
	c []instance
	// startedOver: at least once every container was started over, in a new sandbox or by
	// RestartAllContainers. A round is the time from one such start to the next.
	startedOver bool
	// startSyncEnded: the start sync of this round has surely ended. That is the sync that
	// starts all regular containers for the first time.
	startSyncEnded Cause
	// terminating: the termination of the whole Pod has surely begun.
	terminating Cause
	// used are the observations that needed a deviation so far; nil where none did.
	used *uses
	// periodOver: its grace period was over, which nothing but the order of a log alone
	// shows.
	periodOver Cause
}

// progress says how far a container has come in this round: whether it was started, and
// by which sync.
type progress uint8

const (
	// unstarted: it was not started in this round.
	unstarted progress = iota
	// postponed: it was not started in this round, and the start sync will not do so. The
	// start failed, or the kubelet was restarted; a later sync starts it.
	postponed
	// startedFirst: its first instance of this round is there, started by the start sync.
	startedFirst
	// startedLater: its first instance of this round is there, started by a later sync.
	startedLater
	// restarted: its second or a later instance of this round is there.
	restarted
	// restartedAtOnce: the same, and the sync right after the start sync started it.
	restartedAtOnce
)

func (p progress) isUnstarted() bool   { return p <= postponed }
func (p progress) isStarted() bool     { return p > postponed }
func (p progress) isFirst() bool       { return p == startedFirst || p == startedLater }
func (p progress) isByLaterSync() bool { return p == postponed || p == startedLater }

// withFirstStart is the progress after the first start of this round.
func (p progress) withFirstStart() progress {
	if p.isByLaterSync() {
		return startedLater
	}
	return startedFirst
}

// byLaterSync is the same progress where a later sync than the start sync makes, or made,
// the first start.
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
	// run is its number, counted from 0; -1 before the first.
	run int32
	// runBeforeRound is, of a sidecar, the number of the newest instance when this round
	// began. It is -1 in the first round, and for other containers.
	runBeforeRound int32
	progress       progress
	// deadAtSyncEnd: it was already dead when the sync that started it ended.
	deadAtSyncEnd bool
	// kill is why the container is being stopped; notKilled if it is not.
	kill killReason
	// lateProbes counts the startup and liveness probes since the termination began.
	lateProbes uint8

	// What follows are facts, each with the observation that forced it.

	// hookReturned: its postStart hook has returned, whether it succeeded, failed or died.
	// Where there is no hook, its start is over.
	hookReturned Cause
	// killCause is the observation that forced kill.
	killCause Cause
	// ended: it has ended. Where it was not started yet, it never will be.
	ended Cause
	// nextMayStart: of an init container, it has exited with 0; of a sidecar, it has been
	// started as it must be. So what is listed after it could start.
	nextMayStart Cause
}

// killReason is why the kubelet stops a container; stop.go has a function for each.
type killReason uint8

const (
	notKilled     killReason = iota
	byTermination            // the whole Pod is terminated
	byProbe                  // a liveness or startup probe failed, or the definition was changed
	byHook                   // its postStart hook failed
	bySandbox                // the sandbox of the Pod was lost
	byRestartAll             // a container asked for the restart of all
)

// NewState is the state before anything was observed.
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

// same reports whether two states are the same for all that can still follow. They may differ
// in what forced a fact, which matters to explanations alone.
func (s *State) same(t *State) bool {
	if s.key() != t.key() {
		return false
	}
	for i := range s.c {
		if s.c[i].key() != t.c[i].key() {
			return false
		}
	}
	return true
}

// hash is equal for equal states (FNV-1a, word by word).
func (s *State) hash() uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := (offset ^ s.key()) * prime
	for i := range s.c {
		k := s.c[i].key()
		for _, v := range [...]uint64{uint64(k.run), uint64(k.before), uint64(k.facts)} {
			h = (h ^ v) * prime
		}
	}
	return h
}

// key has what is known of a state, apart from its instances.
func (s *State) key() uint64 {
	return uint64(s.periodOver.Obs)<<32 | uint64(bits(s.startedOver, s.startSyncEnded.known(), s.terminating.known()))
}

// instanceKey has what is known of an instance. Two instances with the same key are the
// same for all that can still follow.
type instanceKey struct {
	run, before int32
	facts       uint32
}

func (c *instance) key() instanceKey {
	facts := bits(c.deadAtSyncEnd, c.hookReturned.known(), c.ended.known(), c.nextMayStart.known())
	return instanceKey{c.run, c.runBeforeRound, facts | uint32(c.progress)<<4 | uint32(c.kill)<<8 | uint32(c.lateProbes)<<16}
}

// bits packs facts into a number, the first one into its lowest bit.
func bits(facts ...bool) (b uint32) {
	for i, is := range facts {
		if is {
			b |= 1 << i
		}
	}
	return b
}

// Causes calls do with every observation that forced a fact of the state.
func (s *State) Causes(do func(record.Place)) {
	do(s.startSyncEnded.Obs)
	do(s.terminating.Obs)
	do(s.periodOver.Obs)
	for i := range s.c {
		c := &s.c[i]
		for _, x := range []Cause{c.hookReturned, c.killCause, c.ended, c.nextMayStart} {
			do(x.Obs)
		}
	}
}
