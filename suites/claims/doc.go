// Package claims looks at recorded traces for what is said in public about the
// order in which a kubelet starts, hooks and stops containers, and reports what
// of it held.
//
// The nine claims come from public posts, among them the article that the
// experiments of group article come from. They are not rules: some are wrong, and the model of
// package reference says what is right. A reader who knows a claim sees whether
// it held on this kubelet, and which lines of which trace show it.
//
// A claim is a pure function of traces. It looks at whatever trace has the
// shape that it speaks of (a Pod with two containers and a postStart hook, say),
// not at cases by their name. What a trace cannot show is "not seen"; a
// claim never holds for lack of evidence.
//
// Left out on purpose: verdicts. No finding fails a run.
//
// Start at [Evaluate], or at [Tally] for recordings that come one by one.
package claims
