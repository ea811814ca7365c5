// Package judge decides whether a correct kubelet can have made a trace.
//
// It keeps the set of all states in which the Pod may be, and lets package model map each of
// them over one observation after another. Where no state is left the trace is refused. Three
// questions are answered here and nowhere else:
//
//   - Which way of numbering the lines passes? A line may not tell which instance wrote it.
//     ways.go tries the doubtful lines one way and the other.
//   - What explains a refusal? contradiction.go looks for the fewest observations that,
//     judged alone, break the same rule. refusal.go makes a sentence of it, and lists what
//     could have come instead.
//   - What may a Pod show at all, and in which order? possible.go and shown.go list it, life.go
//     lines it up as whole lives, order.go finds what comes before what in all of them, and
//     enumerate.go goes through every order of the lines.
//
// The sets and the search have bounds, which stand in reader.go and ways.go. A trace that
// exceeds them is undecided; it is never refused for that.
//
// Left out on purpose: what a kubelet may do, which is package model, and verdicts, which are
// package reference.
//
// Start with [Judge.Trace] in judge.go, and read advance in reader.go next.
package judge
