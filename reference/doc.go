// Package reference says what a kubelet may do with the containers of one Pod:
// an executable model of a correct kubelet, release by release, and a judge
// that holds a recorded trace against it.
//
// [Check] takes the version of a kubelet, a Pod and a trace and returns a
// [Verdict]. It reads the trace once, keeping the set of states in which the
// Pod may now be. An observation (a line of the shared log, a Pod as the watch
// delivered it, an Event) maps each state to the states that may follow; what
// the kubelet does unseen (create a container, return from a hook, end a sync)
// is taken no earlier than an observation forces it, because a step that is not
// yet forced can always be taken later. When no state admits the observation,
// the trace is a violation, and the facts that the earlier lines had forced are
// the explanation.
//
// [Explain] asks the same judge which orders of two events it refuses, so the
// printed order of a Pod cannot drift from what is checked.
//
// # Where to start
//
// rules.go holds the rules as data. state.go has what the observations have
// forced, history.go what they have shown. step.go takes an observation;
// step_log.go, step_status.go and step_event.go say what it does to a state,
// object.go what a single update must satisfy by itself, and start.go, restart.go,
// stop.go and anew.go (a new sandbox, the restart of all) which hidden steps of the
// kubelet it forces; bounds.go the only rules that look at a clock; order.go how the
// channels of a trace are laid side by side; number.go which instance a line is of, where
// one before it ended without a line; check.go the loop; contradiction.go how a refusal is
// explained. plan.go says which fields of a Pod bear on order.
//
// # Left out on purpose
//
// No client, network, clock, goroutine or logger: the same trace gives the same
// verdict everywhere. A fault of the environment (an image that cannot be
// pulled, a process that died, a sandbox that was lost) is never assumed to
// explain a line away: it must show in a mark, a status, an Event or an act
// somewhere in the trace. So a log alone, which cannot show an instance that ended
// before its first line, is read as if there was none. A probe is another matter, since
// a kubelet may be right to stop a container for one that never came to write: in a
// trace the Events tell of it, in a log alone it must have had the time. The fields
// that [UnmodelledFields] names are not modelled: a Pod that uses them is unmodelled,
// never passed.
package reference
