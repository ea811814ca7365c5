package kubelet

import (
	"fmt"

	"github.com/podorder/podorder/reference/trace"
)

// event records an Event about a container, or about the Pod if c is -1. It reports
// whether that was lost.
func (k *kubelet) event(c int, kind, reason, message string) (lost bool) {
	path := ""
	if c >= 0 {
		path = k.path(c)
	}
	return k.rec.event(path, kind, reason, message)
}

// failed records that a container could not be started. The first such Event is not
// lost: its status may be merged with the next one, or be hidden by a forced deletion,
// and the judge never assumes what befalls a Pod from outside.
func (k *kubelet) failed(c int, message string) {
	if k.rec.counts[eventKey{"Failed", message, k.path(c)}] == nil {
		k.rec.told(k.path(c), "Warning", "Failed", message)
		return
	}
	k.event(c, "Warning", "Failed", message)
}

// backoff is an entry of a back-off list, R67.
type backoff struct{ delay, last int }

// entry is what an entry for restarts is found by: the container as it is defined.
type entry struct{ c, image int }

const (
	firstDelay = 10_000
	mostDelay  = 300_000
	forgotten  = 600_000 // R67: since the last attempt
)

// blocks tells whether an attempt has to wait, and for how long; since is when
// the last one failed.
func blocks(b *backoff, now, since int) (left int, waits bool) {
	if b == nil || since-b.last > forgotten || now-since >= b.delay {
		return 0, false
	}
	return b.delay - (now - since), true
}

// next makes the entry after another attempt.
func (b *backoff) next(now, since int) *backoff {
	if b == nil || since-b.last > forgotten {
		return &backoff{firstDelay, now}
	}
	return &backoff{min(2*b.delay, mostDelay), now}
}

// startContainer goes through the stages of a start, R15, and returns when the
// postStart hook has. The reason for a failure is kept for the next status,
// R6 (10).
func (k *kubelet) startContainer(p *proc, c int, v view) *syncError {
	reason, left := k.tryStart(p, c, v)
	k.fails(c, reason)
	if reason == "" {
		return nil
	}
	return &syncError{left}
}

// tryStart returns the reason of a failure, and the time left where it is a
// crash-loop back-off.
func (k *kubelet) tryStart(p *proc, c int, v view) (reason string, left int) {
	name := k.all[c].Name
	// R11: the newest instance that the snapshot shows as exited counts.
	if old := v.exited[c]; old != nil {
		key := entry{c, k.images[c]}
		if left, waits := blocks(k.backoffs[key], k.now, old.finished); waits {
			k.event(c, "Warning", "BackOff", fmt.Sprintf("Back-off restarting failed container %s in pod simulated", name))
			return "CrashLoopBackOff", left
		}
		k.backoffs[key] = k.backoffs[key].next(k.now, old.finished)
	}
	if reason := k.pull(p, c); reason != "" {
		return reason, -1
	}
	p.sleep(k.upTo(80))
	if k.now < k.noCreate[c] && k.v.Minor%2 == 0 { // two of the reasons of R34
		k.failed(c, `Error: configmap "settings" not found`)
		return "CreateContainerConfigError", -1
	}
	if k.now < k.noCreate[c] || !k.sandboxes[len(k.sandboxes)-1].ready {
		k.failed(c, "Error: failed to create containerd container")
		return "CreateContainerError", -1
	}
	run := k.logs[c] // R72
	if old := v.newest[c]; old != nil {
		run = max(run, old.run+1)
	}
	k.created[c]++ // also where this kubelet does not come to start it
	k.logs[c] = run + 1
	lost := k.event(c, "Normal", "Created", k.v.created(name))
	p.sleep(k.upTo(200))
	i := k.start(c, run)
	i.image = k.images[c]
	if i.never {
		k.failed(c, "Error: failed to start containerd task")
		return "RunContainerError", -1
	}
	p.sleep(k.upTo(30))
	if k.event(c, "Normal", "Started", k.v.started(name)) && lost && k.pod.May.Silent {
		// Nothing else shows an instance that writes nothing, where the trace ends before
		// its status comes.
		k.rec.told(k.path(c), "Normal", "Started", k.v.started(name))
	}
	if k.pod.Faults.HookInBackground {
		k.spawnHere(func(p *proc) { k.postStart(p, i) })
		return "", -1
	}
	return k.postStart(p, i), -1 // R16: blocks
}

// pull sees to the image.
func (k *kubelet) pull(p *proc, c int) (reason string) {
	if k.now >= k.noImage[c] {
		k.event(c, "Normal", "Pulled", k.v.pulled(image))
		return ""
	}
	if b := k.pulls[c]; b != nil {
		if _, waits := blocks(b, k.now, b.last); waits {
			k.event(c, "Normal", "BackOff", fmt.Sprintf("Back-off pulling image %q", image))
			k.failed(c, "Error: ImagePullBackOff")
			return "ImagePullBackOff"
		}
	}
	k.event(c, "Normal", "Pulling", fmt.Sprintf("Pulling image %q", image))
	p.sleep(k.upTo(500))
	k.event(c, "Warning", "Failed", fmt.Sprintf("Failed to pull image %q: not found", image))
	k.failed(c, "Error: ErrImagePull")
	since := k.now
	if b := k.pulls[c]; b != nil {
		since = b.last
	}
	k.pulls[c] = k.pulls[c].next(k.now, since)
	return "ErrImagePull"
}

// postStart runs the hook and waits for it, without any time-out, R16.
func (k *kubelet) postStart(p *proc, i *instance) (reason string) {
	if k.all[i.c].PostStart == None {
		return ""
	}
	x := k.hook(p, i, trace.PostStart)
	p.await(func() bool { return x.ended(i) })
	p.sleep(k.upTo(50))
	if x.code == 0 {
		return "" // R15: no event
	}
	// R21, R23
	k.event(i.c, "Warning", "FailedPostStartHook", "PostStartHook failed")
	k.killContainer(p, i, "FailedPostStartHook", k.pod.Grace, nil)
	return "PostStartHookError"
}

// hook begins a hook, R17 to R20.
func (k *kubelet) hook(p *proc, i *instance, a trace.Actor) *process {
	c := k.all[i.c]
	kind := c.PostStart
	if a == trace.PreStop {
		kind = c.PreStop
	}
	if kind == Sleep { // R20: in the kubelet, for its full length
		x := &process{native: true}
		over := k.now + 1000*c.Seconds
		if k.pod.Faults.Sleepless {
			over = k.now
		}
		x.proc = k.spawnHere(func(p *proc) {
			p.sleep(over - k.now)
			x.over = true
		})
		return x
	}
	lag, ticks, every, code := k.firstLine(), k.choose(4), k.between(50, 900), 0
	hangs := false
	if a == trace.PostStart {
		hangs = c.HookHangs && k.oneIn(2)
		if c.HookFails {
			code = k.choose(2)
		}
	} else if k.oneIn(8) {
		code = 1 // R80
	}
	inside := func(p *proc) int {
		p.sleep(lag)
		k.line(i, a, begin)
		for t := 1; t <= ticks; t++ {
			p.sleep(k.between(0, every))
			k.line(i, a, tick(t))
		}
		if hangs { // R24
			p.await(func() bool { return false })
		}
		p.sleep(k.between(0, every))
		k.line(i, a, end(code))
		p.sleep(k.upTo(20))
		return code
	}
	return k.reach(i, kind == HTTP, inside)
}

// reach runs something in a container on behalf of this kubelet. With its end
// the connection breaks, and what ran is abandoned: R26.
func (k *kubelet) reach(i *instance, http bool, inside func(p *proc) int) *process {
	run := k.exec
	if http {
		run = k.request
	}
	x := run(i, inside)
	k.execs = append(k.execs, x)
	return x
}
