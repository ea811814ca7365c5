// Package kubelet executes what a correct kubelet does with the containers of
// one Pod and writes down what a recorder would have seen of it.
//
// It exists to judge the judge: it is written from the same rules as the model
// of package reference and shares no code with it. Where the model reasons
// backwards from observations, this one plainly acts forwards: a worker that
// syncs, processes that write lines, probe workers that tick, a status manager
// that publishes late and merges, a recorder that is late as well. Every delay
// and every choice is asked of a [Chooser]. Each trace that it writes is one
// that the model has to accept.
//
// The rules are numbered R1 to R90, as in the rule book that the rules of
// package reference name as well; the comments here say which rule a piece
// executes. Everything that acts in time is a plain function that sleeps and
// waits (see world.go), so that the code reads like the rules:
//
//	pod.go        what is run, its manifest, and Draw, which makes up any Pod
//	version.go    what differs between the releases
//	world.go      time, and who acts in it
//	record.go     the recorder: log, watch and events, each late in its own way
//	node.go       one run: the node, the harness, and what befalls them
//	runtime.go    containers, their processes, the sandbox
//	worker.go     the Pod worker, relists, what wakes it
//	sync.go       one sync: what to kill and start, in which order
//	start.go      the start of one container, its image and its hook
//	probes.go     the probe workers
//	terminate.go  the end of one container and of the Pod
//	status.go     the Pod's status and its way to the API
//	explore.go    all logs of a tiny Pod, without time
//
// Beside the runs in time there is [Logs]: every log that a tiny Pod can leave
// behind, found by trying every schedule.
//
// Left out on purpose: speed; whatever needs two Pods; and what the rules leave
// to be measured, where a run keeps to what all releases do.
package kubelet
