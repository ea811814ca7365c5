package kubelet

import "strings"

// sync is one sync of the Pod. Its order is: the status, which describes the
// world before this sync; then volumes and probe workers; then the containers.
// So what a sync does shows in the status of the next one, all of it at once.
//
// status/between-syncs, status/whole-sync-at-once
func (k *kubelet) sync(p *proc, v snapshot) *syncError {
	k.syncs++
	k.generateStatus(p, v)
	if terminal(k.cached.Phase) {
		k.finished = true
		return nil
	}
	if !k.volumes { // waiting for them is all that a deletion cuts short
		if p.awaitUntil(k.now+k.upTo(300), func() bool { return k.deleted }) {
			return &syncError{-1}
		}
		k.volumes = true
	}
	k.startProbeWorkers()
	err, acted := k.syncContainers(p, v)
	if acted && err == nil && k.has(RelistOnDemand) {
		k.relistNow = true
	}
	return err
}

// syncContainers computes what is to be done from the snapshot alone, and does
// it: it kills, then sees to the sandbox, then starts. It reports whether it did
// anything.
func (k *kubelet) syncContainers(p *proc, v snapshot) (err *syncError, acted bool) {
	a := k.plan(v)
	if text := a.text(k); text != "" {
		number := k.syncs
		k.note("sync %d: %s", number, text)
		defer func() { k.note("sync %d ends", number) }()
	}
	if len(a.reset) > 0 {
		k.removeAll(p, a.reset)
		k.wake = true // the starts come with the next sync, at once
		return nil, true
	}
	acted = a.killPod || len(a.kill) > 0 || len(a.starts) > 0
	if a.killPod {
		k.killPod(p, v, k.pod.Grace)
		if !a.sandbox {
			return nil, true
		}
	} else {
		k.killSome(p, a.kill)
	}
	if a.sandbox {
		k.createSandbox(p, v)
	}
	k.pod.Faults.reorder(a.starts, v)
	// All starts are serial, in the order of the spec. One ends when the postStart
	// hook of the container has.
	//
	// start/listed-order, start/when-due, restart/when-due, hooks/poststart-blocks-next
	for _, c := range a.starts {
		if k.omitsStart(c, v) {
			continue
		}
		failed := k.startContainer(p, c, v)
		err = err.and(failed)
		// An init container that cannot be started ends the sync.
		//
		// init/failure-blocks
		if failed != nil && k.isInit(c) {
			return err, acted
		}
		// After any other one the sync goes on.
		//
		// start/error-does-not-stop-next
	}
	return err, acted
}

// plan is what a sync is going to do.
type plan struct {
	killPod bool        // everything, and the sandbox
	sandbox bool        // a new one is created
	kill    []toKill    // single containers
	starts  []int       // init containers and sidecars, then regular containers: the order of the spec
	reset   []*instance // what RestartAllContainers removes, in order
}

// toKill is a container to be killed, and why: the name of a probe, or "" where
// its definition has changed.
type toKill struct {
	c     int
	probe string
}

// addKill plans to kill a container, and to start it again if restart is set:
// in the same sync, after the kill.
func (a *plan) addKill(c int, probe string, restart bool) {
	a.kill = append(a.kill, toKill{c, probe})
	if restart {
		a.starts = append(a.starts, c)
	}
}

// text says what the plan is, as "kill app; start app, web"; "" if nothing.
func (a *plan) text(k *kubelet) string {
	var parts []string
	if len(a.reset) > 0 {
		parts = append(parts, "remove all containers")
	}
	if a.killPod {
		parts = append(parts, "kill the Pod")
	}
	for _, v := range a.kill {
		why := "its image was changed"
		if v.probe != "" {
			why = "its " + v.probe + " probe failed"
		}
		parts = append(parts, "kill "+k.specs[v.c].Name+", "+why)
	}
	if a.sandbox {
		parts = append(parts, "new sandbox")
	}
	if len(a.starts) > 0 {
		parts = append(parts, "start "+k.names(a.starts))
	}
	return strings.Join(parts, "; ")
}
