package kubelet

import (
	"fmt"

	"github.com/podorder/podorder/reference/trace"
)

// leastGrace is what a container always gets between TERM and KILL, in seconds.
const leastGrace = 2

// killContainer kills one container and returns when it has stopped: the preStop
// hook, then TERM, then KILL where it does not stop. The grace period, in seconds,
// is for all of it: the hook and the wait for its turn use it up before the
// process does, counted in whole seconds; a process gets two seconds at least. A
// hook that takes longer than the grace period does not keep TERM back.
//
// hooks/prestop-runs, terminate/prestop-before-term, terminate/grace-period, terminate/kill-after-term
func (k *kubelet) killContainer(p *proc, i *instance, message string, grace int, turn *turns) {
	if i == nil {
		return
	}
	k.event(i.c, "Normal", "Killing", message)
	if k.specs[i.c].PreStop != None && grace > 0 && !k.omits(PreStopHooks) {
		grace -= k.preStop(p, i, grace)
	}
	if turn != nil && grace > 0 {
		begun := k.now
		p.awaitUntil(begun+1000*grace, func() bool { return turn.of(i.c) })
		grace -= (k.now - begun) / 1000
	}
	p.sleep(k.upTo(20))
	k.stop(p, i, max(grace, leastGrace))
}

// killSome kills, within a sync, the containers that a probe or a change of
// their definition has condemned. Sidecars have no order here.
//
// terminate/cause, probes/failure-stops
func (k *kubelet) killSome(p *proc, list []toKill) {
	// One after the other, in any order, up to 1.37; from 1.38 on at the same time.
	//
	// restart/kills-serial
	if !k.has(ParallelKills) {
		for len(list) > 0 {
			n := k.choose(len(list))
			k.killOne(p, list[n])
			list = append(append([]toKill{}, list[:n]...), list[n+1:]...)
		}
		return
	}
	left := len(list)
	for _, v := range list {
		k.goroutine(func(p *proc) {
			k.killOne(p, v)
			left--
		})
	}
	p.await(func() bool { return left == 0 })
}

// killOne gives it the grace period of the Pod, or that of the probe that
// failed, where it has one.
func (k *kubelet) killOne(p *proc, v toKill) {
	c := k.specs[v.c]
	if v.probe == "" {
		k.killContainer(p, k.newest(v.c), fmt.Sprintf("Container %s definition changed, will be restarted", c.Name), k.pod.Grace, nil)
		return
	}
	word, grace := "", k.pod.Grace
	if k.restartsAfterKill(v.c) {
		word = ", will be restarted"
	}
	probe := c.Liveness
	if v.probe == "startup" {
		probe = c.Startup
	}
	if probe != nil && probe.Grace > 0 {
		grace = probe.Grace
	}
	k.killContainer(p, k.newest(v.c), fmt.Sprintf("Container %s failed %s probe%s", c.Name, v.probe, word), grace, nil)
}

// preStop runs the preStop hook, no longer than the grace period, and returns how
// many whole seconds it took. A hook that takes longer is abandoned, not stopped:
// it goes on until its container ends.
func (k *kubelet) preStop(p *proc, i *instance, grace int) int {
	begun := k.now
	x := k.hook(i, trace.PreStop)
	failed := func() {
		if x.code != 0 {
			k.event(i.c, "Warning", "FailedPreStopHook", "PreStopHook failed")
		}
	}
	if p.awaitUntil(begun+1000*grace, func() bool { return x.ended(i) }) {
		failed()
		return min((k.now-begun)/1000, grace)
	}
	k.note("the preStop hook of %s has used up the grace period", k.specs[i.c].Name)
	k.goroutine(func(p *proc) { // this Event comes late
		p.await(func() bool { return x.ended(i) })
		failed()
	})
	return grace
}
