package kubelet

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// planSandbox is the plan where there is no sandbox yet, or none that is ready
// any more: after a reboot, say. All that is left is killed, and in a new sandbox
// the Pod starts over, with its first init container.
func (k *kubelet) planSandbox(v snapshot) plan {
	a := plan{killPod: v.sandbox >= 0, sandbox: true}
	had := slices.ContainsFunc(v.newest, func(i *instance) bool { return i != nil })
	if k.pod.Policy == corev1.RestartPolicyNever && v.sandbox >= 0 && had {
		a.sandbox = false // a Pod with policy Never does not start over
		return a
	}
	for c := len(k.pod.Init); c < len(k.specs); c++ {
		// What has succeeded is not run again where the policy says so.
		if i := v.newest[c]; i == nil || i.running || k.restarts(c, i.exit) {
			a.starts = append(a.starts, c)
		}
	}
	switch {
	case len(a.starts) == 0:
		a.sandbox = false
	case len(k.pod.Init) > 0:
		a.starts = []int{0}
	}
	return a
}

// createSandbox creates a sandbox. The instances of init containers in the one
// before it are forgotten, so that they run again.
func (k *kubelet) createSandbox(p *proc, v snapshot) {
	p.sleep(k.between(50, 350))
	k.sandboxes = append(k.sandboxes, sandbox{ready: true})
	if v.sandbox >= 0 {
		k.event(-1, "Normal", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.")
		k.purgeInit()
	}
	// Up to 1.35 this shows with the status of the next sync only.
	//
	// status/ready-to-start
	if k.has(SandboxShownAtOnce) {
		k.sandboxReady()
	}
}

// purgeInit removes the instances of init containers and sidecars, and their logs.
func (k *kubelet) purgeInit() {
	k.remove(func(i *instance) bool { return !k.isRegular(i.c) })
	for c := range k.pod.Init {
		k.logs[c] = 0
	}
}

// remove removes instances that have ended from the runtime.
func (k *kubelet) remove(which func(i *instance) bool) {
	k.instances = slices.DeleteFunc(k.instances, func(i *instance) bool { return !i.running && which(i) })
}
