package kubelet

import (
	"fmt"

	"github.com/podorder/podorder/reference/trace"
)

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

	procs   []*proc // its PID namespace; the first is PID 1
	serving bool    // PID 1 answers HTTP
	closed  bool    // PID 1 has written its last line
	term    bool    // TERM was sent, R83: at most once
	oom     bool    // it ran out of memory, which its status says
	never   bool    // it could not be started
}

// sandbox is a Pod sandbox.
type sandbox struct{ ready bool }

// node is one node with one Pod on it.
type node struct {
	*world
	rec *recorder
	v   Release
	pod Pod
	all []Container // init containers and sidecars, then regular containers

	instances []*instance
	sandboxes []sandbox
	volumes   bool  // the Pod's volumes are mounted
	created   []int // how many instances of each container were created
	logs      []int // the number of the next one by the log files that are there
	numbers   []int // how many of them have taken a number
	// noImage, noCreate and noStart hold until when the image of a container is missing
	// and until when it cannot be created, or started.
	noImage, noCreate, noStart []int

	api     *api
	kubelet *kubelet
}

func (n *node) isInit(c int) bool { return c < len(n.pod.Init) && !n.all[c].Sidecar }
func (n *node) isSidecar(c int) bool {
	return c < len(n.pod.Init) && n.all[c].Sidecar
}
func (n *node) isRegular(c int) bool { return c >= len(n.pod.Init) }

func (n *node) path(c int) string {
	if n.isRegular(c) {
		return "spec.containers{" + n.all[c].Name + "}"
	}
	return "spec.initContainers{" + n.all[c].Name + "}"
}

// view is what the runtime tells at one moment.
type view struct {
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
func (n *node) look() view {
	v := view{at: n.now, newest: make([]*instance, len(n.all)), before: make([]*instance, len(n.all)), exited: make([]*instance, len(n.all)), sandbox: len(n.sandboxes) - 1}
	v.sandboxes = append(v.sandboxes, n.sandboxes...)
	v.ready = v.sandbox >= 0 && n.sandboxes[v.sandbox].ready
	for _, i := range n.instances {
		copied := *i
		v.all = append(v.all, &copied)
		v.before[i.c], v.newest[i.c] = v.newest[i.c], &copied
		if !i.running {
			v.exited[i.c] = &copied
		}
	}
	return v
}

// differs tells whether a relist has something to say: R2, anything but a
// container that was removed.
func (v view) differs(w view) bool {
	if v.sandbox != w.sandbox || v.ready != w.ready {
		return true
	}
	for c := range w.newest {
		a, b := v.newest[c], w.newest[c]
		if b != nil && (a == nil || a.id != b.id || a.running != b.running) {
			return true
		}
	}
	return false
}

// live is the instance behind a copy; nil once it has been removed.
func (n *node) live(i *instance) *instance {
	for _, have := range n.instances {
		if i != nil && have.id == i.id {
			return have
		}
	}
	return nil
}

// start starts a container that was created; see never of instance.
func (n *node) start(c, run int) *instance {
	i := &instance{id: fmt.Sprintf("simulated://%s-%d", n.all[c].Name, n.created[c]), c: c, run: run, number: -1, sandbox: len(n.sandboxes) - 1, running: true, exit: -1, startedAt: n.now}
	n.instances = append(n.instances, i)
	if n.now < n.noStart[c] { // R34
		i.running, i.never, i.exit, i.finished = false, true, 128, n.now
		return i
	}
	i.procs = append(i.procs, n.spawn(func(p *proc) { n.main(p, i) }))
	return i
}

// dies ends a container: with PID 1, everything in its PID namespace ends, R18.
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

func (n *node) line(i *instance, a trace.Actor, m trace.Mark) {
	n.number(i)
	n.rec.line(n.all[i.c].Name, i.number, a, m)
}

// number has an instance take the lowest number that none of its container has,
// as the first process in it does.
func (n *node) number(i *instance) {
	if i.number < 0 {
		i.number = n.numbers[i.c]
		n.numbers[i.c]++
	}
}

var begin = trace.Mark{Kind: trace.Begin, N: -1}

func tick(n int) trace.Mark   { return trace.Mark{Kind: trace.Tick, N: n} }
func end(code int) trace.Mark { return trace.Mark{Kind: trace.End, N: code} }

// firstLine is how long a process takes from its start to its first line, at
// most; on a busy machine more than a second was measured.
func (n *node) firstLine() int { return n.upTo([]int{10, 400, 1500}[n.choose(3)]) }

// main is PID 1 of a container.
func (n *node) main(p *proc, i *instance) {
	c := n.all[i.c]
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
	// R76: TERM may come before the process has set its trap, and is lost then.
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
			if n.oneIn(8) { // R82: it dies of the signal, and tells nothing
				n.dies(i, 143)
				return
			}
			if !n.oneIn(4) { // else it ends without telling why
				n.line(i, trace.Main, trace.Mark{Kind: trace.Signal, N: -1, Signal: "TERM"})
			}
			if c.Deaf {
				continue // R82: only KILL ends it
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
	if c.Crashes && n.oneIn(2) { // R82: out of memory, without a last line
		i.oom = true
		n.dies(i, 137)
		return
	}
	n.line(i, trace.Main, end(code))
	i.closed = true
	p.sleep(n.upTo(20)) // an end line is written before the process exits
	n.dies(i, code)
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

// request is the same over the network: it fails at once while nobody listens,
// R19.
func (n *node) request(i *instance, f func(p *proc) int) *process {
	if i == nil || !i.serving {
		return &process{over: true, code: 1}
	}
	return n.exec(i, f)
}

// ended tells whether the kubelet can know that a process has ended: its own
// end or that of its container.
func (x *process) ended(i *instance) bool {
	return x.over || !x.native && !i.running
}

// terminate sends TERM, once, and KILL when the time is up. It returns when the
// container has stopped.
func (n *node) terminate(p *proc, i *instance, seconds int) {
	if i == nil || !i.running {
		return
	}
	i.term = true
	if !p.awaitUntil(n.now+1000*seconds, func() bool { return !i.running }) {
		n.dies(i, 137)
	}
	p.sleep(n.upTo(150))
}

// stopSandbox kills what is left in the newest sandbox, at once: R86.
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
