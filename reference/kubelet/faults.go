package kubelet

import "slices"

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
	// probed (kubernetes/kubernetes#132826).
	ForgetsSidecar bool
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
	if !f.WaitsForDead {
		return
	}
	for c := range inits {
		for d := c + 1; d < inits; d++ {
			t.before[c] = append(t.before[c], d)
		}
		t.stopped[c] = false
	}
}
