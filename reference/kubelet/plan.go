package kubelet

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// plan computes what a sync is to do, from the snapshot alone.
func (k *kubelet) plan(v snapshot) plan {
	lost := v.sandbox < 0 || !v.ready
	switch {
	case conditionIs(k.cached, corev1.AllContainersRestarting):
		if lost { // a sandbox first, and nothing in it; the next sync removes what there was
			return plan{killPod: v.sandbox >= 0, sandbox: true}
		}
		return plan{reset: k.planReset(v)}
	case lost:
		return k.planSandbox(v)
	}
	// Regular containers are looked at once everything before them is done.
	//
	// init/before-regular
	a, initialized := k.planInit(v)
	if a.killPod || !initialized {
		return a
	}
	keep := 0
	for c := len(k.pod.Init); c < len(k.specs); c++ {
		i := v.newest[c]
		switch {
		case i == nil:
			a.starts = append(a.starts, c)
		case !i.running:
			if k.restarts(c, i.exit) {
				a.starts = append(a.starts, c)
			}
		// One that runs is not started beside itself: it is killed before.
		//
		// start/one-instance-at-a-time, terminate/cause, restart/image-changed
		case i.image != k.images[c]:
			a.addKill(c, "", true) // whatever the policy says
		case k.results.of(trace.LivenessProbe, i) == failure:
			a.addKill(c, "liveness", k.restartsAfterKill(c))
		case k.results.of(trace.StartupProbe, i) == failure:
			a.addKill(c, "startup", k.restartsAfterKill(c))
		default:
			keep++
		}
	}
	regular := false
	for _, c := range a.starts {
		regular = regular || k.isRegular(c)
	}
	if keep == 0 && !regular { // the Pod is finished: what is left are sidecars
		return plan{killPod: true}
	}
	return a
}

// planInit decides about init containers and sidecars, and whether regular
// containers may be looked at.
func (k *kubelet) planInit(v snapshot) (a plan, initialized bool) {
	if len(k.pod.Init) == 0 {
		return plan{}, true
	}
	// Once a regular container has been started, the init containers are done for
	// good, in this sandbox.
	//
	// init/not-again
	for c := len(k.pod.Init); c < len(k.specs); c++ {
		i := v.newest[c]
		if i == nil {
			continue
		}
		if i.running || k.has(InitPerSandbox) && i.sandbox == v.sandbox {
			initialized = true
		}
	}
	// The frontier is the last entry that has been begun; all before it are done.
	frontier := -1
	for c := range k.pod.Init {
		if v.newest[c] != nil {
			frontier = c
		}
	}
	if frontier < 0 && !initialized {
		return plan{starts: []int{0}}, false
	}
	for c := range k.pod.Init {
		atFrontier := !initialized && c == frontier
		switch {
		case k.isSidecar(c):
			k.planSidecar(&a, v.newest[c], c, atFrontier, &initialized)
		case atFrontier && !v.newest[c].running:
			if dead := k.planInitContainer(&a, v.newest[c], c, &initialized); dead {
				return plan{killPod: true}, false
			}
		}
	}
	return a, initialized
}

// planInitContainer decides about the init container at the frontier, which has
// ended. It returns true where the Pod ends with it. Those before it are not run
// again.
//
// init/serial, init/failure-blocks, init/not-again
func (k *kubelet) planInitContainer(a *plan, i *instance, c int, initialized *bool) (dead bool) {
	switch {
	case i.exit == 0:
		k.startNext(a, c, initialized)
	case k.restarts(c, i.exit):
		a.starts = append(a.starts, c)
	default:
		return true
	}
	return false
}

// planSidecar decides about a sidecar: one that has ended is always started
// again, and one at the frontier lets the next entry start when it runs and its
// startup probe, if any, has succeeded. As its postStart hook is part of the
// sync that started it, that has ended by then; where it failed, the sidecar has
// been killed and does not run.
//
// sidecar/started-before-next, sidecar/hook-failure-holds
func (k *kubelet) planSidecar(a *plan, i *instance, c int, atFrontier bool, initialized *bool) {
	startup := k.specs[c].Startup
	switch {
	case i == nil:
		if *initialized {
			a.starts = append(a.starts, c)
		}
	case !i.running:
		a.starts = append(a.starts, c)
	case startup != nil && k.results.of(trace.StartupProbe, i) == failure:
		a.addKill(c, "startup", true)
	default:
		started := startup == nil || k.results.of(trace.StartupProbe, i) == success
		if k.results.of(trace.LivenessProbe, i) == failure {
			a.addKill(c, "liveness", true)
		} else if i.image != k.images[c] && k.has(SidecarImageChange) && started {
			a.addKill(c, "", true)
		}
		// Its readiness and liveness do not matter here.
		//
		// sidecar/readiness-holds-nothing
		if atFrontier && started {
			k.startNext(a, c, initialized)
		}
	}
}

// startNext lets start what follows the init entry c: the next entry, or after
// the last one all regular containers.
func (k *kubelet) startNext(a *plan, c int, initialized *bool) {
	if c == len(k.pod.Init)-1 {
		*initialized = true
		return
	}
	a.starts = append(a.starts, c+1)
}
