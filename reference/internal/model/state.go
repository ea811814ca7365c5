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
	// anew: every container has begun anew since, with a new sandbox, or by
	// RestartAllContainers. What is called a round here begins with that.
	anew bool
	// synced: the sync that starts the regular containers has surely ended in
	// this round.
	synced Cause
	// ending: the termination of the whole Pod has surely begun.
	ending Cause
}

func (c Cause) known() bool { return c.Obs != 0 }

// instance is the newest instance of one container.
type instance struct {
	// run counts the instances from 0; -1 before the first.
	run int32
	// before is the newest run of a sidecar when this round began; -1 in the first,
	// and for other containers.
	before int32
	// fresh: no instance has been started in this round.
	fresh bool
	// first: this is the first instance of this round.
	first bool
	// late: the first start of this round failed, or was cut off, so that
	// another sync than the first one starts the container.
	late bool
	// dead: this instance had ended when the sync that started it did.
	dead bool
	// prompt: the first sync behind the one that started all regular containers has
	// started this instance, or will have when it ends.
	prompt bool
	// kill: the container is being stopped, and why.
	kill killing
	// after counts startup and liveness probes since the termination began.
	after uint8
	// returned: the postStart hook of this instance has surely returned.
	returned Cause
	// killed is what forced kill.
	killed Cause
	// gone: the instance has surely ended, or, if fresh, will never start.
	gone Cause
	// done: what is listed behind this init container or sidecar could start.
	done Cause
}

type killing uint8

const (
	alive        killing = iota
	byEnding             // the whole Pod is terminated
	byProbe              // a liveness or startup probe failed, or the definition changed
	byHook               // the postStart hook failed
	bySandbox            // the sandbox is replaced
	byRestartAll         // a container asked for the restart of all
)

func NewState(p *podspec.Pod) State {
	s := State{c: make([]instance, len(p.Containers))}
	for i := range s.c {
		s.c[i] = instance{run: -1, before: -1, fresh: true}
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
func (s *State) key() uint32 { return bits(s.anew, s.synced.known(), s.ending.known()) }

// instanceKey tells instances apart.
type instanceKey struct {
	run, before int32
	facts       uint32
}

func (c *instance) key() instanceKey {
	facts := bits(c.fresh, c.first, c.late, c.dead, c.prompt, c.returned.known(), c.gone.known(), c.done.known())
	return instanceKey{c.run, c.before, facts | uint32(c.kill)<<8 | uint32(c.after)<<16}
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
	do(s.synced.Obs)
	do(s.ending.Obs)
	for i := range s.c {
		c := &s.c[i]
		for _, x := range []Cause{c.returned, c.killed, c.gone, c.done} {
			do(x.Obs)
		}
	}
}
