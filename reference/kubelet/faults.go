package kubelet

import (
	"slices"

	"github.com/podorder/podorder/reference/trace"
)

// Faults makes the kubelet wrong on purpose. No correct kubelet has any; some
// releases have carried one. Without them nobody would know that a judge finds
// faults.
type Faults struct {
	// HookInBackground: a postStart hook is not waited for.
	HookInBackground bool
	// Sleepless: a hook that sleeps returns at once.
	Sleepless bool
	// Impatient: the first failure of a liveness or startup probe counts for all.
	Impatient bool
	// RestartsBackwards: what is due again in one sync is started from the last
	// container to the first.
	RestartsBackwards bool
	// StartedInherited: an instance that is restarted within one sync inherits
	// "started" from the one before it (kubernetes/kubernetes#141155).
	StartedInherited bool
	// FrozenReadiness: exec probes fail once the Pod is deleted
	// (kubernetes/kubernetes#140881).
	FrozenReadiness bool
	// WaitsForDead: at termination a sidecar waits for a later one that does
	// not run (kubernetes/kubernetes#125880).
	WaitsForDead bool
	// ForgetsSidecar: in a Pod with policy Never a restarted sidecar is not
	// probed, until a sync finds no other worker to give up at
	// (kubernetes/kubernetes#132826). It is Workerless too.
	ForgetsSidecar bool
	// Workerless: a container that has no probe worker counts as one that has no
	// probe. It has none in the first status of a restarted kubelet
	// (kubernetes/kubernetes#142305), and none once its Pod has failed.
	Workerless bool
	// StuckWithoutSandbox: a Pod with policy Never that has lost its sandbox keeps the
	// phase that it has, where a container was never started or its own policy would have
	// it started again (kubernetes/kubernetes#118321).
	StuckWithoutSandbox bool
	// Omits is what the kubelet never does of that which it has to do.
	Omits Duty
}

// reorder is RestartsBackwards.
func (f Faults) reorder(starts []int, v snapshot) {
	if f.RestartsBackwards && !slices.ContainsFunc(starts, func(c int) bool { return v.newest[c] == nil }) {
		slices.Reverse(starts)
	}
}

// waitForDead is WaitsForDead, for the first so many containers.
func (f Faults) waitForDead(t *turns, inits int) {
	if f.WaitsForDead {
		clear(t.stopped[:inits])
	}
}

// lacksWorker reports whether a container counts as one without a probe, as it has no worker
// for it.
func (k *kubelet) lacksWorker(c int, kind trace.Actor) bool {
	f := k.pod.Faults
	return (f.Workerless || f.ForgetsSidecar) && k.probeWorkers[workerKey{c, kind}] == nil
}
