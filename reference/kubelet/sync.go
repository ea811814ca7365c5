package kubelet

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// sync is one sync of the Pod, in the order of R6.
func (k *kubelet) sync(p *proc, v view) *syncError {
	k.generate(p, v) // R6 (1): the world before this sync
	if terminal(k.cached.Phase) {
		k.finished = true // R6 (2)
		return nil
	}
	if !k.volumes { // R6 (6); the only part that a deletion cuts short, R5
		if p.awaitUntil(k.now+k.upTo(300), func() bool { return k.deleted }) {
			return &syncError{-1}
		}
		k.volumes = true
	}
	k.startProbes() // R6 (8)
	err, acted := k.syncRuntime(p, v)
	if acted && err == nil && k.v.Has(RelistOnDemand) {
		k.relistNow = true // R3
	}
	return err
}

// plan is what a sync is going to do: R7 (1).
type plan struct {
	killPod, sandbox bool
	kill             []victim
	starts           []int       // init containers and sidecars, then regular containers: spec order
	reset            []*instance // R73: what to remove, in order
}

// victim is a container to be killed, and why: the name of a probe, or "" where
// its definition has changed.
type victim struct {
	c     int
	probe string
}

// syncRuntime is the runtime sync, R7. It reports whether it did anything.
func (k *kubelet) syncRuntime(p *proc, v view) (err *syncError, acted bool) {
	a := k.plan(v)
	if len(a.reset) > 0 {
		k.removeAll(p, a.reset)
		k.wake = true // R73: requeued at once
		return nil, true
	}
	acted = a.killPod || len(a.kill) > 0 || len(a.starts) > 0
	if a.killPod { // R7 (2)
		k.killPod(p, v, k.pod.Grace)
		if !a.sandbox {
			return nil, true
		}
	} else {
		k.killThem(p, a.kill) // R7 (3)
	}
	if a.sandbox { // R7 (4)
		p.sleep(k.between(50, 350))
		k.sandboxes = append(k.sandboxes, sandbox{ready: true})
		if v.sandbox >= 0 {
			k.event(-1, "Normal", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.")
			k.purgeInit()
		}
		if k.v.Has(SandboxShownAtOnce) {
			k.sandboxReady() // R39
		}
	}
	if k.pod.Faults.RestartsBackwards && !slices.ContainsFunc(a.starts, func(c int) bool { return v.newest[c] == nil }) {
		slices.Reverse(a.starts)
	}
	for _, c := range a.starts { // R7 (6), (7); R8: serial, in spec order
		failed := k.startContainer(p, c, v)
		err = err.and(failed)
		if failed != nil && k.isInit(c) {
			return err, acted // R10
		}
	}
	return err, acted
}

// plan computes what is to be done from the snapshot alone, R7 (1), R14.
func (k *kubelet) plan(v view) plan {
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
	a, initialised := k.planInit(v)
	if a.killPod || !initialised {
		return a
	}
	keep := 0
	for c := len(k.pod.Init); c < len(k.all); c++ {
		i := v.newest[c]
		switch {
		case i == nil: // R12
			a.starts = append(a.starts, c)
		case !i.running:
			if k.restarts(c, i.exit) { // R69
				a.starts = append(a.starts, c)
			}
		case i.image != k.images[c]:
			a.killed(c, "", true) // R12: whatever the policy says
		case k.liveness[i.id] == failure:
			a.killed(c, "liveness", k.survivesProbes(c)) // R52
		case k.startup[i.id] == failure:
			a.killed(c, "startup", k.survivesProbes(c))
		default:
			keep++
		}
	}
	regular := false
	for _, c := range a.starts {
		regular = regular || k.isRegular(c)
	}
	if keep == 0 && !regular { // R74
		return plan{killPod: true}
	}
	return a
}

func (a *plan) killed(c int, probe string, again bool) {
	a.kill = append(a.kill, victim{c, probe})
	if again {
		a.starts = append(a.starts, c)
	}
}

// planSandbox is the plan where there is no sandbox, or none that is ready: R64.
func (k *kubelet) planSandbox(v view) plan {
	a := plan{killPod: v.sandbox >= 0, sandbox: true}
	had := false
	for _, i := range v.newest {
		had = had || i != nil
	}
	if k.pod.Policy == corev1.RestartPolicyNever && v.sandbox >= 0 && had {
		a.sandbox = false // a Pod with policy Never is not rebuilt
		return a
	}
	for c := len(k.pod.Init); c < len(k.all); c++ {
		// What has succeeded is not run again where the policy says so.
		if i := v.newest[c]; i == nil || i.running || k.restarts(c, i.exit) {
			a.starts = append(a.starts, c)
		}
	}
	switch {
	case len(a.starts) == 0:
		a.sandbox = false
	case len(k.pod.Init) > 0:
		a.starts = []int{0} // everything begins with init entry 0
	}
	return a
}

// planInit decides about init containers and sidecars, and whether regular
// containers may be looked at: R59 to R64.
func (k *kubelet) planInit(v view) (a plan, initialised bool) {
	if len(k.pod.Init) == 0 {
		return plan{}, true
	}
	for c := len(k.pod.Init); c < len(k.all); c++ { // R64
		i := v.newest[c]
		if i == nil {
			continue
		}
		if i.running || k.v.Has(InitPerSandbox) && i.sandbox == v.sandbox {
			initialised = true
		}
	}
	// The frontier is the last entry that has been begun; all before it are done.
	frontier := -1
	for c := range k.pod.Init {
		if v.newest[c] != nil {
			frontier = c
		}
	}
	if frontier < 0 && !initialised {
		return plan{starts: []int{0}}, false
	}
	for c := range k.pod.Init {
		i := v.newest[c]
		last := !initialised && c == frontier
		if k.isInit(c) {
			if !last || i.running {
				continue // R59: one at a time
			}
			switch {
			case i.exit == 0:
				k.release(&a, c, &initialised)
			case k.restarts(c, i.exit):
				a.starts = append(a.starts, c) // R62: earlier ones are not run again
			default:
				return plan{killPod: true}, false // R62
			}
			continue
		}
		switch {
		case i == nil:
			if initialised {
				a.starts = append(a.starts, c) // R63
			}
		case !i.running:
			a.starts = append(a.starts, c) // R63: always restarted
		case k.all[c].Startup != nil && k.startup[i.id] == failure:
			a.killed(c, "startup", true)
		default:
			if k.liveness[i.id] == failure {
				a.killed(c, "liveness", true)
			} else if i.image != k.images[c] && k.v.Has(SidecarImageChange) && (k.all[c].Startup == nil || k.startup[i.id] == success) {
				a.killed(c, "", true)
			}
			if last && (k.all[c].Startup == nil || k.startup[i.id] == success) {
				k.release(&a, c, &initialised) // R60: its liveness does not matter
			}
		}
	}
	return a, initialised
}

// release lets come what follows init entry c.
func (k *kubelet) release(a *plan, c int, initialised *bool) {
	if c == len(k.pod.Init)-1 {
		*initialised = true // R61
		return
	}
	a.starts = append(a.starts, c+1)
}

// restarts tells whether a container is started again after an exit, R69, R71.
func (k *kubelet) restarts(c, code int) bool {
	if k.isSidecar(c) {
		return true
	}
	if k.v.Has(RestartRules) {
		for _, r := range k.all[c].Rules {
			if (code == r.Code) != r.Not { // the first match wins
				return true
			}
		}
	}
	switch k.policy(c) {
	case corev1.RestartPolicyAlways:
		return true
	case corev1.RestartPolicyOnFailure:
		return code != 0
	}
	return false
}

// policy is the container's own, else the Pod's; an init container of a Pod
// with policy Always is restarted when it fails, R62.
func (k *kubelet) policy(c int) corev1.RestartPolicy {
	policy := k.pod.Policy
	if own := k.all[c].Policy; own != nil && k.v.Has(RestartRules) {
		policy = *own
	}
	return policy
}

// survivesProbes tells whether a container that is killed for a probe is
// started again: the rules are not looked at, R71.
func (k *kubelet) survivesProbes(c int) bool {
	return k.isSidecar(c) || k.policy(c) != corev1.RestartPolicyNever
}

// killThem kills what a probe or a change has condemned, R13, R52: one after the other in
// any order, from 1.38 all at once. Sidecars have no order here.
func (k *kubelet) killThem(p *proc, list []victim) {
	one := func(p *proc, v victim) {
		c := k.all[v.c]
		word, grace := "", k.pod.Grace
		if k.survivesProbes(v.c) {
			word = ", will be restarted"
		}
		probe := c.Liveness
		if v.probe == "startup" {
			probe = c.Startup
		}
		if probe != nil && probe.Grace > 0 {
			grace = probe.Grace
		}
		message := fmt.Sprintf("Container %s failed %s probe%s", c.Name, v.probe, word)
		if v.probe == "" {
			message, grace = fmt.Sprintf("Container %s definition changed, will be restarted", c.Name), k.pod.Grace
		}
		k.killContainer(p, k.newest(v.c), message, grace, nil)
	}
	if !k.v.Has(ParallelKills) {
		for len(list) > 0 {
			n := k.choose(len(list))
			one(p, list[n])
			list = append(append([]victim{}, list[:n]...), list[n+1:]...)
		}
		return
	}
	left := len(list)
	for _, v := range list {
		k.spawnHere(func(p *proc) {
			one(p, v)
			left--
		})
	}
	p.await(func() bool { return left == 0 })
}

// newest is the newest instance of a container.
func (n *node) newest(c int) *instance {
	var i *instance
	for _, have := range n.instances {
		if have.c == c {
			i = have
		}
	}
	return i
}

// purgeInit removes the instances of init containers and sidecars, and their logs, R64.
func (k *kubelet) purgeInit() {
	k.remove(func(i *instance) bool { return !k.isRegular(i.c) })
	for c := range k.pod.Init {
		k.logs[c] = 0
	}
}

func (k *kubelet) remove(which func(i *instance) bool) {
	k.instances = slices.DeleteFunc(k.instances, func(i *instance) bool { return !i.running && which(i) })
}

// couldRestartAll tells whether a rule of the Pod restarts all its containers.
func (k *kubelet) couldRestartAll() bool {
	return k.v.Has(RestartAllContainers) && slices.ContainsFunc(k.all, func(c Container) bool {
		return slices.ContainsFunc(c.Rules, func(r Rule) bool { return r.All })
	})
}

// planReset lists the instances that RestartAllContainers removes, R73: of other
// regular containers, of other init containers and sidecars, then those that asked
// for it, in the same order.
func (k *kubelet) planReset(v view) []*instance {
	var sources, targets, initSources, initTargets []*instance
	for c := range k.all {
		from, to := &sources, &targets
		if !k.isRegular(c) {
			from, to = &initSources, &initTargets
		}
		for _, i := range v.all {
			switch {
			case i.c != c:
			case !i.running && k.asksForAll(c, i.exit):
				*from = append(*from, i)
			default:
				*to = append(*to, i)
			}
		}
	}
	return slices.Concat(targets, initTargets, sources, initSources)
}

// removeAll stops and removes them: no preStop, grace 0, no back-off afterwards. Their
// logs stay, and so do the reasons why one could not be started.
func (k *kubelet) removeAll(p *proc, list []*instance) {
	for _, old := range list {
		i := k.live(old)
		if i == nil {
			continue
		}
		if old.running {
			k.killContainer(p, i, "killing", 0, nil)
		}
		p.sleep(k.upTo(50))
		k.remove(func(have *instance) bool { return have == i })
	}
}
