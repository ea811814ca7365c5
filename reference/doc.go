// Package reference says what a kubelet may do with the containers of one Pod. It judges a
// recorded trace by an executable model of a correct kubelet, release by release.
//
// [Check] takes a kubelet, a Pod and a trace and returns a [Verdict]; [CheckTrace] takes the
// Pod out of the trace, as the API server admitted it; [CheckLog] judges a log alone.
// [Explain] and [Enumerate] tell what is allowed where there is no trace. They ask the same
// model, so what is printed cannot differ from what is checked.
//
// # How a trace is judged
//
// The trace is read once, in order. Each observation is a line of the shared log, a Pod as
// the watch delivered it, an Event, or an act of whoever ran the Pod. Two things are kept:
// what the observations have shown so far, and a set of states. A state holds what the
// observations have forced: that a postStart hook has returned, that a sync has ended, that
// a container has stopped. What a kubelet does without being seen is taken no earlier than
// an observation forces it, since a step that nothing forces can still be taken later. Where
// an observation has more than one explanation, the set has a state for each. When no state
// admits an observation, that is a violation, and the observations that forced the facts it
// contradicts are the reason.
//
// # Where to start
//
// Read package kubelet first. It is a kubelet that runs, and its page says in plain words
// what a kubelet does with a Pod. Then read one row of the table of rules, and the chapter
// of the model that keeps the rule. A value goes one way through these floors, from the
// ground up; each imports only those before it, and a test holds them to that:
//
//	trace             the format of what is recorded
//	rules             the rules as data: sentence, source, versions and gates, and the
//	                  faults that suspend each part of a rule; the releases; the deviations
//	internal/podspec  what of a Pod affects order
//	internal/record   the channels of a trace put into one order, the instances numbered,
//	                  and what happened to the Pod, its node and the recording
//	internal/model    what an observation forces, one file for each chapter of the kubelet:
//	                  worker, start, init, hooks, probes, restart, stop, terminate, grace,
//	                  sandbox, status
//	internal/judge    sets of states, the search for a reading that passes, and the shortest
//	                  contradiction where there is none
//	reference         this package: verdicts and explanations
//
// Beside them stand kubelet, with its explorer and its search for runs that the model
// refuses, which shares no code with the model; manifest, which reads Pods; and admission,
// which says what somebody else made of a Pod.
//
// # Left out on purpose
//
// There is no client, network, clock, goroutine or logger: the same trace gets the same
// verdict everywhere. No fault is assumed. A lost sandbox, a restarted kubelet, an image
// that could not be pulled or a process that died has to show somewhere in the trace, in a
// line, a status, an Event or an act, before it explains anything. A log alone shows none of
// these. What they would explain there is inconclusive, and [LogKnown] says what is assumed
// first. An instance that ended before its first line is taken not to have been there.
//
// A Pod that uses one of the fields that [UnmodelledFields] names is unmodelled, and is
// never passed.
package reference
