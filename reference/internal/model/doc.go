// Package model says what an observation forces a correct kubelet to have done. The judge
// holds the traces of real kubelets against it.
//
// # The idea in ten minutes
//
// An observation is a line of the shared log, an update of the Pod or an Event. The kubelet
// does most things without being seen: it creates a container, returns from a hook, ends a
// sync. The model takes such a hidden step no earlier than an observation forces it, since a
// step that nothing forces yet can still be taken later. Two things are kept:
//
//   - A [State] holds what is forced: this postStart hook has returned, this sync has ended,
//     this instance is dead. Each fact is a [Cause]: the observation that forced it, and the
//     rule that lets one conclude so. Where an observation has more than one explanation,
//     a state follows for each.
//   - The history holds what was shown: which lines of an instance were seen, which status
//     was published. It is the same in every state.
//
// [Reading.Step] takes a state and an observation and returns the states that may follow. No
// state means that this state does not admit the observation, and a [Denial] says why: the
// rule, the earlier observations that forbid it, and a sentence. [Reading.Record] then takes
// the observation into the history, once for all states.
//
// An example. The first line of container2 arrives. So container2 was started; so the start
// sync had come past container1; so the postStart hook of container1 had returned
// (hooks/poststart-blocks-next). The state now says so, with that line as the cause. When
// the hook of container1 writes another line, the state denies it. In the code: onLine in
// lines.go, start in start.go, startSyncHasReached in worker.go, hookHasReturned in
// hooks.go, and then onPostStart there.
//
// # The chapters
//
// Each file begins with the part of the kubelet that it is about, and the rules that it
// keeps. A rule is changed in its row of the table in package rules, in its chapter here, and
// in package kubelet, which acts where this package reasons back.
//
//	what arrives
//	  lines.go      a line of the log
//	  updates.go    an update of the Pod
//	  events.go     an Event
//	what it forces
//	  worker.go     the worker of the Pod: one sync after another
//	  start.go      the first start of a container; its cases are listed there
//	  init.go       init containers and sidecars, and what they hold back
//	  hooks.go      the postStart hook
//	  probes.go     the probes
//	  restart.go    restart policies, restart rules and the back-off
//	  stop.go       the reasons to stop a container
//	  terminate.go  the termination of the whole Pod
//	  grace.go      the grace period
//	  killed.go     what a container is left before KILL
//	  alone.go      what the stamps of a log alone leave open of them
//	  deadline.go   the deadline of the Pod
//	  sandbox.go    a new sandbox, and the restart of all containers
//	what must follow
//	  due.go        when each obligation is asked
//	  startsdue.go  starts and restarts that should have come
//	  hooksdue.go   hooks that should have run
//	  overdue.go    probes that should have run, a sidecar whose turn has come
//	  probing.go    probes that are run once a period
//	  failed.go     a probe that has failed often enough
//	  shown.go      what a status shows of the probes
//	  final.go      the final phase of a Pod that is over
//	  ends.go       what a status shows of a container that has ended
//	  deleted.go    the end of all containers of a Pod that was deleted
//	  killdue.go    the end of a container that writes nothing after its TERM
//	what must fit
//	  status.go, phase.go, conditions.go
//	                what one update shows must agree with itself and with the lines
//	  snapshot.go   what one update shows is of one time
//	what suspends a rule
//	  faults.go     a restarted kubelet, a failed start, a gap in the trace
//	what a release does wrong
//	  deviations.go the uses of known faults
//	  wrong.go      the precondition of each
//	what all of it stands on
//	  model.go, state.go, history.go, set.go, denial.go, clock.go
//
// # Words used throughout
//
//   - An instance is one start of a container; its number, counted from 0, is its run.
//   - The start sync is the sync that starts all regular containers for the first time. A
//     later sync restarts, or starts what could not be started then.
//   - A round begins when all containers are started over, in a new sandbox or by
//     RestartAllContainers.
//   - s is a state, c an instance in it, x what was seen of that instance, i and j are
//     containers by their place in the Pod, n is an observation by its index, and ev is the
//     evidence: what the whole trace shows to have happened at some time.
//   - A function with a name like hookHasReturned or startSyncHasEnded forces a fact. One
//     with a name like mayStartOver or probeFailed asks, and changes nothing.
//
// # Left out on purpose
//
// The search: which of many readings of a trace passes, and which lines explain a refusal,
// is found in package judge. Reading the trace into one order is done in package record.
// Nothing is simulated, so there is no time but the stamps of the trace.
//
// # Where to start
//
// Read state.go, then the comment above start in start.go, then worker.go.
package model
