package kubelet

import (
	"fmt"

	"github.com/podorder/podorder/reference/trace"
)

// This file is the container runtime, which does what the kubelet asks of it.

// instance is one container that was created: the run-th of spec container c.
type instance struct {
	id      string
	c, run  int
	number  int // the one of its lines; -1 until it has taken it
	sandbox int
	image   int // how often it had been changed

	running             bool // else exited
	exit                int
	startedAt, finished int

	procs        []*proc // its PID namespace; the first is PID 1
	serving      bool    // PID 1 answers HTTP
	term         bool    // TERM was sent, at most once
	oom          bool    // it ran out of memory, which its status says
	neverStarted bool    // it could not be started
}

// sandbox is a Pod sandbox.
type sandbox struct{ ready bool }

// snapshot is what the runtime tells at one moment.
type snapshot struct {
	at        int
	all       []*instance // copies, in the order of their creation
	newest    []*instance // per container; nil if there is none
	before    []*instance // the one before the newest
	exited    []*instance // the newest one that has exited
	sandbox   int         // the newest one, -1 if there is none
	ready     bool        // the newest sandbox is ready
	sandboxes []sandbox
}

// look lists the runtime's containers.
func (n *node) look() snapshot {
	v := n.emptySnapshot()
	for _, i := range n.instances {
		v.add(i)
	}
	return v
}

// emptySnapshot has the sandboxes, and no container.
func (n *node) emptySnapshot() snapshot {
	v := snapshot{at: n.now, newest: make([]*instance, len(n.specs)), before: make([]*instance, len(n.specs)), exited: make([]*instance, len(n.specs)), sandbox: len(n.sandboxes) - 1}
	v.sandboxes = append(v.sandboxes, n.sandboxes...)
	v.ready = v.sandbox >= 0 && n.sandboxes[v.sandbox].ready
	return v
}

// add takes the next container, in the order of their creation, as it is now.
func (v *snapshot) add(i *instance) {
	copied := *i
	v.all = append(v.all, &copied)
	v.before[i.c], v.newest[i.c] = v.newest[i.c], &copied
	if !i.running {
		v.exited[i.c] = &copied
	}
}

// inspect asks for each container of a list, one after another: what is in the list has one
// time, and what is known of each container may be later. One that was removed meanwhile is
// left out.
//
// status/one-snapshot
func (k *kubelet) inspect(p *proc, list snapshot) snapshot {
	v := k.emptySnapshot()
	v.at, v.sandbox, v.ready, v.sandboxes = list.at, list.sandbox, list.ready, list.sandboxes
	for _, i := range list.all {
		if k.inspection > 0 {
			p.sleep(k.upTo(k.inspection))
		}
		if now := k.byID(i.id); now != nil {
			v.add(now)
		}
	}
	return v
}

// alive lists the containers of a snapshot that run.
func (v snapshot) alive() []int {
	var list []int
	for c, i := range v.newest {
		if i != nil && i.running {
			list = append(list, c)
		}
	}
	return list
}

// current is the instance that is there for a copy; nil once it has been removed.
func (n *node) current(i *instance) *instance {
	if i == nil {
		return nil
	}
	return n.byID(i.id)
}

// byID is the container of an ID; nil if there is none any more.
func (n *node) byID(id string) *instance {
	for _, i := range n.instances {
		if i.id == id {
			return i
		}
	}
	return nil
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

// start starts a container that was created. Its main process runs when it
// returns, and may write its first line at any time from then on. One that
// cannot be started is there all the same.
func (n *node) start(c, run int) *instance {
	i := &instance{id: fmt.Sprintf("simulated://%s-%d", n.specs[c].Name, n.created[c]), c: c, run: run, number: -1, sandbox: len(n.sandboxes) - 1, running: true, exit: -1, startedAt: n.now}
	n.instances = append(n.instances, i)
	if n.now < n.noStart[c] {
		i.running, i.neverStarted, i.exit, i.finished = false, true, 128, n.now
		return i
	}
	i.procs = append(i.procs, n.spawn(func(p *proc) { n.main(p, i) }))
	return i
}

// dies ends a container: with PID 1, everything in its PID namespace ends.
func (n *node) dies(i *instance, code int) {
	if !i.running {
		return
	}
	if !n.pod.May.Silent || n.oneIn(4) {
		n.number(i)
	}
	i.running, i.serving, i.exit, i.finished = false, false, code, n.now
	for _, p := range i.procs {
		p.kill()
	}
}

// process is something that runs in a container for the kubelet: an exec'd
// process, or a request that PID 1 answers.
type process struct {
	over   bool // it has ended, or died with the container
	code   int  // 0 is success
	proc   *proc
	native bool // it runs in the kubelet, not in the container
}

// exec runs a hook or a probe in a container; f is its part in there and
// returns its exit code. With a container that is dead it fails.
func (n *node) exec(i *instance, f func(p *proc) int) *process {
	x := &process{code: 137}
	if i == nil || !i.running {
		x.over = true
		return x
	}
	inside := n.spawn(func(p *proc) {
		code := f(p)
		x.code, x.over = code, true
	})
	x.proc = inside
	i.procs = append(i.procs, inside)
	return x
}

// request is the same over the network: it fails at once while nobody listens.
func (n *node) request(i *instance, f func(p *proc) int) *process {
	if i == nil || !i.serving {
		return &process{over: true, code: 1}
	}
	return n.exec(i, f)
}

// ended reports whether the kubelet can know that a process has ended: its own
// end or that of its container.
func (x *process) ended(i *instance) bool {
	return x.over || !x.native && !i.running
}

// stop sends TERM, once, and KILL when the time is up. It returns when the
// container has stopped.
//
// terminate/grace-period
func (n *node) stop(p *proc, i *instance, seconds int) {
	if i == nil || !i.running {
		return
	}
	i.term = true
	if n.omits(Kills) {
		p.await(func() bool { return !i.running })
	}
	if !p.awaitUntil(n.now+1000*seconds, func() bool { return !i.running }) {
		n.dies(i, 137)
	}
	p.sleep(n.upTo(150))
}

// stopSandbox kills what is left in the newest sandbox, at once.
func (n *node) stopSandbox(p *proc) {
	for _, i := range n.instances {
		if i.running {
			n.dies(i, 137)
		}
	}
	p.sleep(n.upTo(400))
	if len(n.sandboxes) > 0 {
		n.sandboxes[len(n.sandboxes)-1].ready = false
	}
}

// The lines that processes write to the shared log.

var (
	begin   = trace.Mark{Kind: trace.Begin, N: -1}
	sigterm = trace.Mark{Kind: trace.Signal, N: -1, Signal: "TERM"}
)

func tick(n int) trace.Mark   { return trace.Mark{Kind: trace.Tick, N: n} }
func end(code int) trace.Mark { return trace.Mark{Kind: trace.End, N: code} }

func (n *node) line(i *instance, a trace.Actor, m trace.Mark) {
	n.number(i)
	n.rec.line(n.specs[i.c].Name, i.number, a, m)
}

// number has an instance take the lowest number that none of its container has,
// as the first process in it does.
func (n *node) number(i *instance) {
	if i.number < 0 {
		i.number = n.numbers[i.c]
		n.numbers[i.c]++
	}
}
