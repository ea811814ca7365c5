package reference

import (
	"slices"
)

// state is where the Pod may be. It holds only what the observations have
// forced: a step of the kubelet that nothing has forced yet has not been taken,
// since it can still be taken later. What the observations have *shown* is the
// same in every state and stands in the history beside them. States are values;
// every step returns new ones.
type state struct {
	c []instance
	// anew: every container has begun anew since, with a new sandbox, or by
	// RestartAllContainers. What is called a round here begins with that.
	anew bool
	// synced: the sync that starts the regular containers has surely ended in
	// this round.
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
	returned cause
	// killed is what forced kill.
	killed cause
	// gone: the instance has surely ended, or, if fresh, will never start.
	gone cause
	// done: what is listed behind this init container or sidecar could start.
	done cause
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

func newState(p *plan) state {
	s := state{c: make([]instance, len(p.containers))}
	for i := range s.c {
		s.c[i] = instance{run: -1, before: -1, fresh: true}
	}
	return s
}

func (s state) clone() state {
	s.c = slices.Clone(s.c)
	return s
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
