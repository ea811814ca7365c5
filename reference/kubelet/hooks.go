package kubelet

import "github.com/podorder/podorder/reference/trace"

// postStart runs the postStart hook of an instance and waits for it, without any
// time-out: a hook that never ends holds up the worker, and so everything that
// the kubelet does to this Pod. It is called once, by the start of the instance.
// It returns the reason where the start has failed with the hook, "" else.
//
// hooks/poststart-runs, hooks/poststart-blocks-next, hooks/poststart-once, hooks/one-at-a-time
func (k *kubelet) postStart(p *proc, i *instance) (reason string) {
	if k.specs[i.c].PostStart == None || k.omits(PostStartHooks) {
		return ""
	}
	x := k.hook(i, trace.PostStart)
	p.await(func() bool { return x.ended(i) })
	p.sleep(k.upTo(50))
	if x.code == 0 {
		return "" // there is no Event
	}
	// The container is killed like any other, its preStop hook included. The sync
	// goes on after it.
	//
	// hooks/poststart-failure, terminate/cause
	k.event(i.c, "Warning", "FailedPostStartHook", "PostStartHook failed")
	k.killContainer(p, i, "FailedPostStartHook", k.pod.Grace, nil)
	return "PostStartHookError"
}

// hook begins a hook: an exec'd process in the container, a request to it, or a
// sleep in the kubelet itself, which nothing cuts short.
func (k *kubelet) hook(i *instance, a trace.Actor) *process {
	c := k.specs[i.c]
	kind := c.PostStart
	if a == trace.PreStop {
		kind = c.PreStop
	}
	if kind == Sleep {
		x := &process{native: true}
		over := k.now + 1000*c.Seconds
		if k.pod.Faults.Sleepless {
			over = k.now
		}
		x.proc = k.goroutine(func(p *proc) {
			p.sleep(over - k.now)
			x.over = true
		})
		return x
	}
	return k.reach(i, kind == HTTP, k.surroundings.hook(i, a))
}

// reach runs something in a container on behalf of this kubelet. With its end
// the connection breaks, and what ran is abandoned.
func (k *kubelet) reach(i *instance, http bool, inside func(p *proc) int) *process {
	run := k.exec
	if http {
		run = k.request
	}
	x := run(i, inside)
	k.execs = append(k.execs, x)
	return x
}
