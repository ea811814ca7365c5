// Package trace holds the recorded value that podorder judges: the shared log
// of one Pod, the Pod as a watch delivered it, its Events, and what the harness
// did to it, in one file of JSON Lines.
//
// It has two formats. [ParseLine] reads one line of the shared log
// (grammar 1), which the processes, hooks and probes of a Pod write themselves.
// [Reader] and [Writer] carry the whole trace (version 1), of which such lines
// are one channel among several.
//
// Left out on purpose: what a trace means. The recorder imports this package and
// nothing else of reference, so that it cannot know what is allowed. Nothing is ever skipped or repaired on reading: the first
// line that does not fit ends the reading with an [*Error] that carries its
// number.
//
// Start at [Line] for the log and at [Trace] for the whole.
package trace
