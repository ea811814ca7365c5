// Package kubelet is a kubelet that can be read and run: what a correct one does
// with the containers of one Pod, release by release, and no more.
//
// # One worker
//
// Each Pod has one worker, which makes one call after another (worker.go). Most
// are syncs; the last two end the Pod. Whatever the kubelet does to a container
// happens in one of these calls: start it, restart it, stop it for a failed
// probe, terminate it. Nothing interrupts a call. What happens meanwhile (a
// deletion, a failed probe, a container that has ended) asks for the next call,
// which begins with a newer look at the container runtime.
//
// # One sync
//
// A sync (sync.go) publishes the status, which describes the world before it.
// Then it computes from that one look what is to be done (plan.go), and does it:
// first it kills single containers, then it creates a sandbox if there is none,
// then it starts containers, one after another in the order of the spec. Init
// containers come one per sync, each after the one before it has exited with 0. A
// sidecar lets the next one start when it runs and its startup probe has
// succeeded. After them come all regular containers, in one sync.
//
// # One start, and its hook
//
// A start (start.go) looks at the back-off, pulls the image, creates the
// container, starts its main process and then runs its postStart hook (hooks.go),
// for which it waits without any time-out. So the hook blocks the next container,
// and all else that the worker would do. Whether the hook or the main process
// writes first is open. If the hook fails, the container is killed, preStop hook
// included, and the sync goes on with the next one; only a sidecar holds the rest
// back until its hook has succeeded. What a sync has started shows in the status of the next sync, all of it at
// once: while a hook runs, the containers before it run as well, and on the first
// start of the Pod are shown as waiting.
//
// # Probes
//
// Probe workers (probes.go) run beside the worker of the Pod. They go by the
// status, so no instance is probed before the sync that started it has ended. The
// startup probe holds the other two back. Readiness shows in the status at once; a
// failed liveness or startup probe only asks for a sync, which kills the container
// and starts it again (kill.go).
//
// # Restarts
//
// Whether a container that has ended is started again, its restart rules and
// policies say (restart.go). The first restart comes at once, each further one
// after a back-off of 10 s, 20 s and so on, up to five minutes.
//
// # The end
//
// A Pod that is deleted, evicted or finished is terminated (terminate.go): all
// containers are killed at the same time, each with its preStop hook, then TERM,
// then KILL when the grace period is over. Only sidecars wait with TERM until the
// regular containers and the sidecars after them have stopped. When everything
// has stopped, the status shows all of it at once, and the object goes.
//
// # The sandbox
//
// Where the sandbox is lost, everything is killed, and the Pod starts over in
// another one, from its first init container on (sandbox.go).
//
// # What happens when
//
//	a liveness probe fails while a postStart hook runs   Example (LivenessProbeDuringHook), work in worker.go
//	a postStart hook fails, or never ends                postStart in hooks.go
//	a Pod is deleted while a hook runs                   Example (DeletionDuringHook), work in worker.go
//	an init container or a sidecar fails                 planInit in plan.go
//	several containers are to be restarted               syncContainers in sync.go
//	the grace period is over before the preStop hook is  killContainer in kill.go
//	a node is rebooted                                   Example (Sandbox), planSandbox in sandbox.go
//	the kubelet is restarted                             startKubelet in kubelet.go
//	a container asks to restart all                      restartall.go
//	a container is shown as started, ready, Running      containerstatus.go, phase.go, conditions.go
//	a release does something else                        [Changes], releases.go
//
// # Reading the code
//
// Start with work in worker.go and follow the calls. In the code k is the kubelet,
// c a container by its place in the spec, i an instance of it (one per start), v a
// snapshot of the runtime, and p the goroutine that acts. The methods sleep and
// await take p as long as they say, in milliseconds; k.upTo and k.choose ask the
// Chooser. k.has(RelistOnDemand) asks for a row of the table of changes. Comments
// name the rules that a piece executes by their slugs, such as
// hooks/poststart-blocks-next; package reference has the table. What a kubelet
// with a fault does is under k.pod.Faults (faults.go); skip it at first.
//
// # Running it
//
// [Play] takes a Pod, a version, a [Script] of what its programs do and what is
// done to it, and a [Chooser], which is left with the length of every delay and
// with what is open: [Prompt] for the shortest, [Seed] for any.
//
//	r, err := kubelet.Play(kubelet.Pod{
//		Containers: []kubelet.Container{{Name: "app", PostStart: kubelet.Exec}, {Name: "web"}},
//	}, "v1.37.2", kubelet.Script{
//		Programs: map[string]kubelet.Program{"app": {PostStart: kubelet.Hook{Takes: 5 * time.Second}}},
//	}, kubelet.Prompt())
//
// What it returns has the trace that a recorder would have taken. Printed, it
// tells the run in seconds, with what the worker did:
//
//	0.00   act      apply
//	0.00   status   Pending
//	0.00   kubelet  sync 1: new sandbox; start app, web
//	0.00   status   Pending: app#0 ContainerCreating, web#0 ContainerCreating
//	0.05   log      app#0 / main: begin
//	0.05   log      app#0 / post start hook: begin
//	5.05   log      app#0 / post start hook: end 0
//	5.05   kubelet  sync 1 ends
//	5.05   log      web#0 / main: begin
//	5.05   status   Running: app#0 ready, web#0 ready
//
// The examples have more. [Run] leaves everything to the Chooser.
//
// # What it is for
//
// It judges the judge: every trace that it writes, package reference has to
// accept. It is written from the same rules and shares no code with the model
// there. Where the model reasons back from what was observed, this one acts. The
// file clock.go lets time pass: goroutines and processes are plain functions that
// sleep and wait; runtime.go is the container runtime, apiserver.go the API
// server, record.go the recorder. What the programs do comes from script.go or
// chance.go. Package explore tries every schedule of a tiny Pod, package search
// looks for runs that the model refuses.
//
// Left out on purpose: speed; ephemeral containers; whatever needs two Pods; and
// what no trace can show.
package kubelet
