package kubelet

import "github.com/podorder/podorder/reference/trace"

// chance lets the Chooser say what the processes in the containers do, and what
// is done to the Pod, as far as the Pod allows.
type chance struct{ *node }

// drawFaults says until when images are missing, and containers cannot be
// created or started.
func (n *node) drawFaults() {
	for c, spec := range n.specs {
		if spec.NoImage {
			n.noImage[c] = n.upTo(15000)
		}
		if spec.NoCreate {
			n.noCreate[c] = n.upTo(15000)
		}
		if spec.NoStart {
			n.noStart[c] = n.upTo(15000)
		}
	}
}

// firstLine is how long a process takes from its start to its first line, at
// most; on a busy machine more than a second was measured.
func (n chance) firstLine() int { return n.upTo([]int{10, 400, 1500}[n.choose(3)]) }

// main is PID 1 of a container.
func (n chance) main(p *proc, i *instance) {
	c := n.specs[i.c]
	exits := n.isInit(i.c) || c.Exits && n.oneIn(2)
	code := 0
	if c.Exits {
		code = n.choose(3)
	}
	ticks, pause := n.choose(5), n.between(50, 900)
	first := n.now + n.firstLine()
	if n.pod.May.Silent {
		if c.Crashes && n.oneIn(4) {
			p.sleep(n.upTo(first - n.now))
			i.oom = true
			n.dies(i, 137)
			return
		}
		if p.awaitUntil(first, func() bool { return i.term }) && n.oneIn(2) {
			n.dies(i, 2) // of TERM, before it could trap it
			return
		}
	}
	p.sleep(max(first-n.now, 0))
	// TERM may come before the process has set its trap, and is lost then.
	lost := i.term && n.oneIn(2)
	n.line(i, trace.Main, begin)
	i.serving = true
	for t := 1; ; t++ {
		next := n.now + n.between(50, 50+pause)
		if t > ticks && !exits {
			next = never // idle
		}
		if p.awaitUntil(next, func() bool { return i.term && !lost }) {
			lost = true
			p.sleep(n.upTo(100))
			if n.oneIn(8) { // it dies of the signal, and tells nothing
				n.dies(i, 143)
				return
			}
			if !n.oneIn(4) { // else it ends without telling why
				n.line(i, trace.Main, sigterm)
			}
			if c.Deaf {
				continue // only KILL ends it
			}
			code, exits, ticks = n.choose(2)*143, true, 0
			p.sleep(n.upTo(2500))
		}
		if t <= ticks {
			n.line(i, trace.Main, tick(t))
			continue
		}
		if exits {
			break
		}
	}
	if c.Crashes && n.oneIn(2) { // out of memory, without a last line
		i.oom = true
		n.dies(i, 137)
		return
	}
	n.line(i, trace.Main, end(code))
	p.sleep(n.upTo(20)) // an end line is written before the process exits
	n.dies(i, code)
}

// hook is the process of a hook.
func (n chance) hook(i *instance, a trace.Actor) func(p *proc) int {
	c := n.specs[i.c]
	lag, ticks, every, code := n.firstLine(), n.choose(4), n.between(50, 900), 0
	hangs := false
	if a == trace.PostStart {
		hangs = c.HookHangs && n.oneIn(2)
		if c.HookFails {
			code = n.choose(2)
		}
	} else if n.oneIn(8) {
		code = 1
	}
	return func(p *proc) int {
		p.sleep(lag)
		n.line(i, a, begin)
		for t := 1; t <= ticks; t++ {
			p.sleep(n.between(0, every))
			n.line(i, a, tick(t))
		}
		if hangs {
			p.await(func() bool { return false })
		}
		p.sleep(n.between(0, every))
		n.line(i, a, end(code))
		p.sleep(n.upTo(20))
		return code
	}
}

// check is one run of a probe.
func (n chance) check(c int, kind trace.Actor) check {
	spec, code := n.specs[c], 0
	switch kind {
	case trace.ReadinessProbe:
		code = n.choose(2)
	case trace.StartupProbe:
		if spec.StartupFails || n.oneIn(3) {
			code = n.choose(2)
		}
	default:
		if spec.LivenessFails && n.oneIn(2) {
			code = 1
		}
	}
	// The kubelet's main loop has heard of a new instance before its first probe returns.
	lag := n.between(10, 200)
	return func(i *instance) (process func(p *proc) int, timesOut bool) {
		late := spec.Slow && !spec.probe(kind).HTTP && n.oneIn(4)
		return func(p *proc) int {
			if late && n.choose(2) == 0 {
				p.sleep(n.between(1000, 1500))
				return 1
			}
			p.sleep(lag)
			n.line(i, kind, end(code))
			if late {
				p.sleep(n.between(1000, 1500) - lag)
				return 1
			}
			p.sleep(n.upTo(20))
			return code
		}, late
	}
}

// act lets happen to the Pod what may happen to it.
func (n chance) act() {
	most := 6000
	if n.pod.Seconds > 12 && n.oneIn(2) {
		most = 900 * n.pod.Seconds
	}
	happens := func(may bool, what func(p *proc)) {
		if may && n.choose(4) > 0 {
			at := n.upTo(most)
			n.spawn(func(p *proc) {
				p.sleep(at)
				what(p)
			})
		}
	}
	happens(true, func(p *proc) { n.delete(p, 1+n.choose(n.pod.Grace+1)) })
	happens(n.pod.May.ForceDelete, func(p *proc) { n.delete(p, 0) })
	happens(n.pod.May.DeleteAgain, func(p *proc) {
		p.await(func() bool { return n.api.deleted })
		p.sleep(n.upTo(2000))
		n.delete(p, 1)
	})
	happens(n.pod.May.Evict, func(*proc) { n.evict(func() int { return n.choose(n.pod.Grace + 1) }) })
	happens(n.pod.May.RestartKubelet, n.restartKubelet)
	happens(n.pod.May.StopSandbox, n.loseSandbox)
	happens(n.pod.May.Patch, func(p *proc) {
		if c := n.choose(len(n.specs)); !n.isInit(c) {
			n.changeImage(p, c)
		}
	})
}
