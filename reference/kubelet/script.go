package kubelet

import (
	"fmt"
	"slices"
	"time"

	"github.com/podorder/podorder/reference/trace"
)

// Script says what happens in a run: what the programs in the containers do,
// and what is done to the Pod.
type Script struct {
	// Programs are found by the name of their container. One that is not named
	// is the zero Program.
	Programs map[string]Program
	Acts     []Act
	// Lasts is how long the run lasts at most; a minute if 0.
	Lasts time.Duration
}

// Program is what the processes in each instance of a container do. Those of
// the zero Program write their first line at once; the hooks and probes succeed;
// the main process runs until it gets TERM, and ends with 0 then. That of an
// init container ends at once.
type Program struct {
	// Starts is how long the main process takes to its first line.
	Starts time.Duration
	// Runs is how long it runs then, before it exits by itself with ExitCode. If
	// 0, that of an init container exits at once, any other does not.
	Runs     time.Duration
	ExitCode int
	// Stops is how long it takes to exit after TERM, which it may ignore.
	Stops       time.Duration
	IgnoresTerm bool

	PostStart, PreStop Hook
	// These tell whether a probe succeeds, by how long ago the main process was
	// started: [After], [Until]. A nil one always does.
	Startup, Readiness, Liveness func(age time.Duration) bool
}

// Hook is what the process of a hook does.
type Hook struct {
	Takes    time.Duration
	ExitCode int
	Hangs    bool // it never ends
}

// After is a probe that succeeds once its container is so old.
func After(age time.Duration) func(age time.Duration) bool {
	return func(is time.Duration) bool { return is >= age }
}

// Until is a probe that fails once its container is so old.
func Until(age time.Duration) func(age time.Duration) bool {
	return func(is time.Duration) bool { return is < age }
}

// Act is something that is done to the Pod, or to its node, at some time after
// the Pod was created.
type Act struct {
	at        time.Duration
	container string // that it is done to, if any
	do        func(n *node, p *proc)
}

// Delete deletes the Pod with a grace period in seconds. With 0, which is a
// forced deletion, its object is gone at once.
func Delete(at time.Duration, grace int) Act {
	return Act{at: at, do: func(n *node, p *proc) { n.delete(p, grace) }}
}

// Evict has the kubelet evict the Pod, with a grace period in seconds.
func Evict(at time.Duration, grace int) Act {
	return Act{at: at, do: func(n *node, _ *proc) { n.evict(func() int { return grace }) }}
}

// RestartKubelet stops the kubelet and starts it again. The containers run on.
func RestartKubelet(at time.Duration) Act {
	return Act{at: at, do: func(n *node, p *proc) { n.restartKubelet(p) }}
}

// StopSandbox takes the sandbox from the kubelet, as a reboot does.
func StopSandbox(at time.Duration) Act {
	return Act{at: at, do: func(n *node, p *proc) { n.loseSandbox(p) }}
}

// ChangeImage gives a container another image.
func ChangeImage(at time.Duration, container string) Act {
	return Act{at: at, container: container, do: func(n *node, p *proc) { n.changeImage(p, n.byName(container)) }}
}

// check reports what of the script does not fit the Pod.
func (s Script) check(p Pod) error {
	index := map[string]int{}
	var names []string
	for c, spec := range p.All() {
		index[spec.Name] = c
		names = append(names, spec.Name)
	}
	for name := range s.Programs {
		if !slices.Contains(names, name) {
			return fmt.Errorf("the script has a program for container %q, and the Pod has only %q", name, names)
		}
	}
	for _, a := range s.Acts {
		switch {
		case a.do == nil:
			return fmt.Errorf("the script has an empty act; take one from a function such as Delete")
		case a.container == "":
		case !slices.Contains(names, a.container):
			return fmt.Errorf("the script acts on container %q, and the Pod has only %q", a.container, names)
		case index[a.container] < len(p.Init) && !p.Init[index[a.container]].Sidecar:
			return fmt.Errorf("the script changes the image of %q, and that of an init container stays as it is here", a.container)
		}
	}
	return nil
}

// lasts is how long the run lasts, in milliseconds.
func (s Script) lasts() int {
	if s.Lasts == 0 {
		return 60000
	}
	return milliseconds(s.Lasts)
}

func milliseconds(d time.Duration) int { return int(d / time.Millisecond) }

// scripted lets a script say what happens.
type scripted struct {
	*node
	Script
}

func (n scripted) program(c int) Program { return n.Programs[n.specs[c].Name] }

func (n scripted) main(p *proc, i *instance) {
	does := n.program(i.c)
	p.sleep(milliseconds(does.Starts))
	n.line(i, trace.Main, begin)
	i.serving = true
	exit := never
	if does.Runs > 0 || n.isInit(i.c) {
		exit = n.now + milliseconds(does.Runs)
	}
	code := does.ExitCode
	if p.awaitUntil(exit, func() bool { return i.term }) {
		n.line(i, trace.Main, sigterm)
		if does.IgnoresTerm {
			p.sleep(exit - n.now)
		} else {
			p.sleep(milliseconds(does.Stops))
			code = 0
		}
	}
	n.line(i, trace.Main, end(code))
	n.dies(i, code)
}

func (n scripted) hook(i *instance, a trace.Actor) func(p *proc) int {
	does := n.program(i.c).PostStart
	if a == trace.PreStop {
		does = n.program(i.c).PreStop
	}
	return func(p *proc) int {
		n.line(i, a, begin)
		if does.Hangs {
			p.await(func() bool { return false })
		}
		p.sleep(milliseconds(does.Takes))
		n.line(i, a, end(does.ExitCode))
		return does.ExitCode
	}
}

func (n scripted) check(c int, kind trace.Actor) check {
	does := n.program(c)
	succeeds := map[trace.Actor]func(time.Duration) bool{trace.StartupProbe: does.Startup, trace.ReadinessProbe: does.Readiness, trace.LivenessProbe: does.Liveness}[kind]
	return func(i *instance) (process func(p *proc) int, timesOut bool) {
		return func(*proc) int {
			code := 0
			if succeeds != nil && !succeeds(time.Duration(n.now-i.startedAt)*time.Millisecond) {
				code = 1
			}
			n.line(i, kind, end(code))
			return code
		}, false
	}
}

func (n scripted) act() {
	for _, a := range n.Acts {
		n.spawn(func(p *proc) {
			p.sleep(milliseconds(a.at))
			a.do(n.node, p)
		})
	}
}
