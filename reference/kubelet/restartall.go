package kubelet

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// RestartAllContainers takes two syncs: one that finds an exit that asks for it,
// and says so in its status, removes all containers; the next one starts them
// from the first init container on, in the same sandbox, without a back-off.

// couldRestartAll reports whether a rule of the Pod restarts all its containers.
func (k *kubelet) couldRestartAll() bool {
	return k.has(RestartAllContainers) && slices.ContainsFunc(k.specs, func(c Container) bool {
		return slices.ContainsFunc(c.Rules, func(r Rule) bool { return r.All })
	})
}

// asksForAll reports whether an exit with a code restarts all containers: the
// first rule that matches decides.
func (k *kubelet) asksForAll(c, code int) bool {
	rules := k.specs[c].Rules
	first := slices.IndexFunc(rules, func(r Rule) bool { return r.matches(code) })
	return first >= 0 && rules[first].All
}

// allRestart reports whether the restart of all is on its way: a status said so, or
// a container has exited with a code that asks for it (pkg/kubelet/container/helpers.go,
// ShouldAllContainersRestart).
func (k *kubelet) allRestart(v snapshot) bool {
	if !k.has(RestartAllContainers) {
		return false
	}
	if conditionIs(k.previousStatus(), corev1.AllContainersRestarting) {
		return true
	}
	for c := range k.specs {
		i := v.newest[c]
		if i == nil || i.running {
			continue
		}
		old := k.previous(c)
		if k.asksForAll(c, i.exit) || old != nil && old.State.Terminated != nil && k.asksForAll(c, int(old.State.Terminated.ExitCode)) {
			return true
		}
	}
	return false
}

// planReset lists the instances that are removed: of other regular containers, of
// other init containers and sidecars, then those that asked for it, in the same
// order.
func (k *kubelet) planReset(v snapshot) []*instance {
	var sources, targets, initSources, initTargets []*instance
	for c := range k.specs {
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

// removeAll stops and removes them, one after another and without their preStop
// hooks: a grace period of 0 leaves none for them. Their logs stay, and so do the
// reasons why one could not be started.
//
// restart/all-containers, restart/all-come-back
func (k *kubelet) removeAll(p *proc, list []*instance) {
	for _, old := range list {
		i := k.current(old)
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
