// Package titles holds the title of every case against the judge: what the title
// claims has to be refused where it is not so.
//
// Beside each case lies refused.txt, with the shortest traces that a kubelet would leave
// for which the title is false, as a txtar archive:
//
//	-- hooks/poststart-blocks-next --
//	// The next container starts during the hook.
//	container1 / post start hook: begin
//	container2 / main: begin
//	container1 / post start hook: end 0 <-
//
// A section names the rule that refuses it, and a kubelet after that where v1.37.2, or
// the newest that the case is for, will not do. The line at which it does ends in "<-";
// all before it is allowed. An entry a line:
//
//	container1#0 / main: begin            a line of the log; stamps are made up, 0.1 s apart
//	+5s                                   time passes
//	did delete {"gracePeriodSeconds":10}  an act, with its parameter
//	pod Running main=running,ready        an update: phase, containers, conditions
//	event Started main text               an Event of a container, or of the Pod ("-")
//
// An update shows each container as waiting, running or terminated, with words after it:
// ready, notstarted, runN (its restartCount), codeN (its exit code), atN (started or finished N seconds
// after the first entry), or the reason of a wait. "Ready=False" sets a condition that differs from
// what the containers say, "deleting" and "gone" tell of a deletion.
//
// A section "witness" is for what is due and not forbidden: a hook that is not run leaves
// no line to refuse. It has the witnesses and awaits of the case of which one
// is then missing, so that the case is not passed but inconclusive:
//
//	-- witness --
//	// The hook is not run.
//	first / post start hook: end 0
//	await condition Ready
//
// Every case has at least one trace that is refused, or a witness; the test says of
// how many which is the case.
//
// Left out on purpose: whether what is refused is what the title says. That is for a
// reviewer to see.
//
// Start at [Read].
package titles
