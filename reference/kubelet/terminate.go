package kubelet

// terminatePod is the terminating call, the first step of the end of a Pod that
// was deleted or evicted, or is finished: a status, then everything is killed,
// then a status again. A shorter grace period that comes meanwhile does not
// shorten it.
func (k *kubelet) terminatePod(p *proc) {
	k.terminating = true
	v := *k.snapshot
	k.generateStatus(p, v) // may still show it as ready
	k.stopLiveness = true
	grace := k.effectiveGrace()
	k.note("terminate the Pod; grace period %d s", grace)
	k.killPod(p, v, grace)
	k.allStopped = true
	// All containers turn terminated here, also one that ended long before.
	//
	// terminate/shown-together
	k.generateStatus(p, k.look())
}

// terminatedPod is the terminated call, the last one: the final phase, and the
// end of the object. That goes when the containers have stopped and the last
// status has arrived.
//
// terminate/object-goes-last, terminate/object-goes, status/final-before-gone
func (k *kubelet) terminatedPod(p *proc) {
	k.terminated = true
	k.generateStatus(p, *k.snapshot)
	p.sleep(k.upTo(300)) // the volumes are unmounted
	k.fillInStatus()
	p.await(func() bool { return k.deleted })
	p.sleep(k.upTo(500))
	p.await(func() bool { return !k.dirty })
	k.api.remove()
}

// effectiveGrace is the grace period of the whole Pod, in seconds: that of the
// deletion, which an eviction may shorten, and at least one second.
//
// terminate/grace-period
func (k *kubelet) effectiveGrace() int {
	if k.orphan {
		return 1 // pkg/kubelet/kubelet.go, SyncTerminatingRuntimePod
	}
	g := k.pod.Grace
	if k.deleted && !k.forced {
		g = k.grace
	}
	if k.evicted {
		g = min(g, k.evictGrace)
		if k.evictGrace == 0 && !k.has(ZeroGraceIsOne) {
			g = k.pod.Grace
		}
	}
	if k.forced && k.has(ZeroGraceIsOne) && k.oneIn(2) {
		g = 1
	}
	return max(g, 1)
}

// killPod kills all containers that the snapshot shows running, at the same
// time, then the sandbox with whatever is left. The preStop hooks of all begin
// at once; only the TERM of a sidecar waits for its turn.
//
// terminate/stop-concurrent
func (k *kubelet) killPod(p *proc, v snapshot, grace int) {
	alive := v.alive()
	turn := k.stopOrder(v)
	left := len(alive)
	for _, c := range alive {
		i := k.current(v.newest[c])
		k.goroutine(func(p *proc) {
			p.sleep(k.upTo(20))
			k.killContainer(p, i, "Stopping container "+k.specs[c].Name, grace, turn)
			turn.stopped[c] = true
			left--
		})
	}
	p.await(func() bool { return left == 0 })
	k.stopSandbox(p)
}

// turns is the order in which sidecars are stopped.
type turns struct {
	stopped []bool
	before  [][]int // what each waits for
}

// stopOrder has each sidecar wait until all regular containers and the next
// later sidecar have stopped, or the grace period is used up. What does not run
// counts as stopped.
//
// sidecar/stops-last, sidecar/reverse-order, sidecar/stops-in-turn
func (k *kubelet) stopOrder(v snapshot) *turns {
	t := &turns{stopped: make([]bool, len(k.specs)), before: make([][]int, len(k.specs))}
	if k.orphan { // of a Pod that nobody describes no order is known
		return t
	}
	later := -1
	for c := len(k.specs) - 1; c >= 0; c-- {
		t.stopped[c] = v.newest[c] == nil || !v.newest[c].running
		if !k.isSidecar(c) {
			continue
		}
		for r := len(k.pod.Init); r < len(k.specs); r++ {
			t.before[c] = append(t.before[c], r)
		}
		if later >= 0 {
			t.before[c] = append(t.before[c], later)
		}
		later = c
	}
	k.pod.Faults.waitForDead(t, len(k.pod.Init))
	return t
}

// of reports whether it is the turn of a container.
func (t *turns) of(c int) bool {
	for _, b := range t.before[c] {
		if !t.stopped[b] {
			return false
		}
	}
	return true
}
