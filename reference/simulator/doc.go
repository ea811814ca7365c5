// Package simulator executes what a correct kubelet does with the regular
// containers of one Pod and writes down what a recorder would have seen of it.
//
// It exists to judge the judge: it is written from the same rules as the model
// of package reference and shares no code with it. Where the model reasons
// backwards from observations, this one plainly acts forwards: a worker that
// syncs, processes that write lines, probe workers that tick, a status manager
// that publishes late and merges, a recorder that is late as well. Every delay
// and every choice is asked of a [Chooser]. Each trace that it writes is one
// that the model has to accept.
//
// Left out on purpose: anything that the model does not know yet (init
// containers, sidecars, faults of the node), and speed.
package simulator
