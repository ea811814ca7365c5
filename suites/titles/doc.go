// Package titles tests the title of every case: the judge has to refuse a kubelet
// for which the title is false.
//
// The folder of each case has a file refused.txt. It is a txtar archive with the
// shortest traces that such a kubelet would leave:
//
//	-- hooks/poststart-blocks-next --
//	// The next container starts during the hook.
//	container1 / post start hook: begin
//	container2 / main: begin
//	container1 / post start hook: end 0 <-
//
// A section is named by the rule that refuses the trace. A kubelet may follow; without
// one it is v1.37.2, or the newest that the case is for. The refused line ends in "<-",
// and all lines before it are allowed. Each line is one entry:
//
//	container1#0 / main: begin            a line of the log; stamps are made up, 0.1 s apart
//	+5s                                   time passes
//	did delete {"gracePeriodSeconds":10}  an act, with its parameter
//	pod Running main=running,ready        an update: phase, containers, conditions
//	event Started main text               an Event of a container, or of the Pod ("-")
//
// An update shows each container as waiting, running or terminated, with words after it:
// ready, notstarted, runN (its restartCount), codeN (its exit code), atN (started or finished N seconds
// after the first entry), endedN (the end of the instance before, in lastState), or the reason of a
// wait. "deadlineN" is an activeDeadlineSeconds that counts from the first entry. "Ready=False" sets a condition that differs from what the containers say; "deleting" and
// "gone" show a deletion.
//
// A section "witness" is for something that has to happen, and leaves no line to refuse if
// it does not: a hook that is not run, for example. It lists the witnesses and awaits of the
// case, one of which is then missing, so that the case is inconclusive and does not pass:
//
//	-- witness --
//	// The hook is not run.
//	first / post start hook: end 0
//	await condition Ready
//
// Every case has at least one refused trace or a witness; the test prints how many
// have which.
//
// Left out on purpose: whether what is refused is what the title says. That is for a
// reviewer to see.
//
// Start at [Read].
package titles
