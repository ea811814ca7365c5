package kubelet

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// Run lets a correct kubelet of a version ("v1.37.2") run the Pod and returns
// what was recorded, up to where the Pod is gone or the time is up. What its
// processes do and what is done to it is left to the Chooser, as far as the Pod
// allows. [Play] is for those who want to say so themselves.
//
// It panics if the version is none.
func Run(p Pod, version string, choose Chooser) *trace.Trace {
	n := newNode(p, MustParseRelease(version), choose)
	n.surroundings = chance{n}
	n.drawFaults()
	seconds := p.Seconds
	if seconds == 0 {
		seconds = 12
	}
	n.runFor(1000 * seconds)
	return n.rec.trace(n.release)
}

// Play lets a correct kubelet of a version run the Pod, in which happens what
// the script says. The Chooser is left with the delays, and with what is open
// otherwise. There is an error if the version is none, or does not know what the
// Pod asks for, or if the script does not fit the Pod.
func Play(p Pod, version string, s Script, choose Chooser) (*Recording, error) {
	r, err := ParseRelease(version)
	if err != nil {
		return nil, err
	}
	if err := p.check(r); err != nil {
		return nil, err
	}
	if err := s.check(p); err != nil {
		return nil, err
	}
	n := newNode(p, r, choose)
	n.surroundings = scripted{n, s}
	n.runFor(s.lasts())
	return &Recording{n.rec.trace(n.release), n.rec.entries}, nil
}

// surroundings is what the kubelet does not decide: what the processes in the
// containers do, and what is done to the Pod. Chance or a script does.
type surroundings interface {
	// main is the main process of a container, until it ends.
	main(p *proc, i *instance)
	// hook returns what the process of a hook does in a container. Its result
	// is the exit code.
	hook(i *instance, a trace.Actor) func(p *proc) int
	// check returns the same for one run of a probe.
	check(c int, kind trace.Actor) check
	// act brings about what is done to the Pod once it is there.
	act()
}

// check is one run of a probe: what its process does in the instance that it
// gets to, and whether the time-out of the probe cuts that off.
type check func(i *instance) (process func(p *proc) int, timesOut bool)

// runFor lets time pass until the Pod is gone, or so many milliseconds have
// passed.
func (n *node) runFor(ms int) {
	n.spawn(n.apply)
	idle := 0
	n.run(ms, func() bool {
		if !n.api.gone || n.anythingRuns() {
			idle = n.now
			return false
		}
		return n.now > idle+1000 // what is under way still arrives
	})
}

// apply creates the Pod, of which the kubelet of its node hears then.
func (n *node) apply(p *proc) {
	n.rec.did(trace.ActApply, nil)
	p.sleep(n.upTo(20))
	n.api.pod.CreationTimestamp = whole(n.now)
	n.api.pod.Status.Phase = corev1.PodPending
	n.api.changed(trace.Added)
	n.spawn(func(p *proc) {
		p.sleep(n.upTo(200))
		n.kubelet = n.startKubelet(-100000 + n.choose(2)*99000) // up for long, or for a second
	})
	n.act()
}

// Recording is what came of a run.
type Recording struct {
	Trace *trace.Trace
	// steps are the entries of the trace in the order in which they came about,
	// and what the kubelet did meanwhile that nobody can observe.
	steps []entry
}

// String tells the run, a line for each thing that happened: when, in seconds;
// what shows it; and what it was. Beside what the trace has, it tells what the
// worker of the Pod did ("kubelet"). Left out are Events that only say what the
// log says as well.
func (r *Recording) String() string { return timeline(r.steps) }

// Timeline tells a trace, as [Recording.String] does.
func Timeline(tr *trace.Trace) string {
	var steps []entry
	for _, e := range tr.Entries {
		steps = append(steps, entry{Entry: e})
	}
	return timeline(steps)
}
