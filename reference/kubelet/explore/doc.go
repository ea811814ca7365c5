// Package explore finds every log that a tiny Pod can leave behind, by trying
// every schedule of a kubelet without time.
//
// It is a second reading of what package kubelet does: a Pod as a state that
// steps from one to the next. What takes time may take any time. So a kubelet
// may sync whenever it is free, it notices an exit whenever a relist happens to
// come, and a container that was restarted before may or may not be in back-off.
// A process writes its first line at any time after it was started, and is there
// for some time after its last one.
//
// [Begin] gives the [Set] of all that may be going on before the first line, and
// [Set.After] the one after another line. [Logs] lists all logs.
//
// It takes the Pods and the table of releases from package kubelet, and no more
// of it: two readings that shared code would agree in its mistakes. Its test
// holds them to agree. The judge of package reference is held against both.
//
// explore.go has what is exported, state.go the state. processes.go says what
// the processes in the containers do, probes.go what the probe workers, and
// worker.go, plan.go, start.go and stop.go what the Pod's worker does.
//
// Left out on purpose: status and Events; hooks and probes over the network;
// back-offs as such, sandboxes that are lost, and restarts of the kubelet.
package explore
