package kubelet

import (
	"github.com/podorder/podorder/reference/trace"
)

// terminatePod is the terminating call, R75: a status, then everything is
// killed, then a status again.
func (k *kubelet) terminatePod(p *proc) {
	k.terminating = true
	v := *k.snapshot
	k.generate(p, v) // R75: may still show Ready
	k.stopLiveness = true
	k.killPod(p, v, k.effectiveGrace()) // R5: what comes meanwhile does not shorten it
	k.over = true
	k.generate(p, k.look()) // R84: everything turns terminated here
}

// terminatedPod is the terminated call: the final phase, and the end of the
// object.
func (k *kubelet) terminatedPod(p *proc) {
	k.terminated = true
	k.generate(p, *k.snapshot)
	p.sleep(k.upTo(300)) // the volumes are unmounted
	k.fillIn()
	p.await(func() bool { return k.deleted })
	p.sleep(k.upTo(500))
	p.await(func() bool { return !k.dirty })
	k.api.remove()
}

// effectiveGrace is G in seconds, R79.
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
		if k.evictGrace == 0 && !k.v.Has(ZeroGraceIsOne) {
			g = k.pod.Grace
		}
	}
	if k.forced && k.v.Has(ZeroGraceIsOne) && k.oneIn(2) {
		g = 1
	}
	return max(g, 1)
}

// killPod kills all containers that the snapshot shows running, concurrently,
// R76, then the sandbox with whatever is left, R86.
func (k *kubelet) killPod(p *proc, v view, grace int) {
	alive := v.alive()
	turn := k.order(v)
	left := len(alive)
	for _, c := range alive {
		i := k.live(v.newest[c])
		k.spawnHere(func(p *proc) {
			p.sleep(k.upTo(20))
			k.killContainer(p, i, "Stopping container "+k.all[c].Name, grace, turn)
			turn.stopped[c] = true
			left--
		})
	}
	p.await(func() bool { return left == 0 })
	k.stopSandbox(p)
}

// turns is the order in which sidecars are stopped: each waits until all
// regular containers and the next later sidecar have been stopped, R81. One
// that did not run counts as stopped.
type turns struct {
	stopped []bool
	before  [][]int
}

func (k *kubelet) order(v view) *turns {
	t := &turns{stopped: make([]bool, len(k.all)), before: make([][]int, len(k.all))}
	if k.orphan { // who is told of no Pod has no order
		return t
	}
	later := -1
	for c := len(k.all) - 1; c >= 0; c-- {
		t.stopped[c] = !v.runs(c)
		if !k.isSidecar(c) {
			continue
		}
		for r := len(k.pod.Init); r < len(k.all); r++ {
			t.before[c] = append(t.before[c], r)
		}
		if later >= 0 {
			t.before[c] = append(t.before[c], later)
		}
		later = c
	}
	if k.pod.Faults.WaitsForDead {
		for c := range k.pod.Init {
			for d := c + 1; d < len(k.pod.Init); d++ {
				t.before[c] = append(t.before[c], d)
			}
			t.stopped[c] = false
		}
	}
	return t
}

func (t *turns) mine(c int) bool {
	for _, b := range t.before[c] {
		if !t.stopped[b] {
			return false
		}
	}
	return true
}

// leastGrace is what a container always gets between TERM and KILL, in seconds.
const leastGrace = 2

// killContainer kills one container, R76 to R78. The time for it, in seconds,
// is shared by the preStop hook, the wait for its turn, and the process.
func (k *kubelet) killContainer(p *proc, i *instance, message string, grace int, turn *turns) {
	if i == nil {
		return
	}
	k.event(i.c, "Normal", "Killing", message)
	if k.all[i.c].PreStop != None && grace > 0 {
		grace -= k.preStop(p, i, grace)
	}
	if turn != nil && grace > 0 {
		begun := k.now
		p.awaitUntil(begun+1000*grace, func() bool { return turn.mine(i.c) })
		grace -= (k.now - begun) / 1000
	}
	p.sleep(k.upTo(20))
	k.terminate(p, i, max(grace, leastGrace))
}

// preStop runs the hook, no longer than the grace period, and returns how many
// whole seconds it took, R78. A hook that takes longer is abandoned, not
// stopped.
func (k *kubelet) preStop(p *proc, i *instance, grace int) int {
	begun := k.now
	x := k.hook(p, i, trace.PreStop)
	failed := func() {
		if x.code != 0 {
			k.event(i.c, "Warning", "FailedPreStopHook", "PreStopHook failed") // R80
		}
	}
	if p.awaitUntil(begun+1000*grace, func() bool { return x.ended(i) }) {
		failed()
		return min((k.now-begun)/1000, grace)
	}
	k.spawnHere(func(p *proc) { // R80: told late
		p.await(func() bool { return x.ended(i) })
		failed()
	})
	return grace
}
