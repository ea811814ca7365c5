package kubelet

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// Pod is what is run. The zero value of everything optional is its absence.
type Pod struct {
	// Init holds init containers and sidecars in the order of the spec.
	Init       []Container
	Containers []Container
	Policy     corev1.RestartPolicy // Always if empty
	Grace      int                  // terminationGracePeriodSeconds; 30 if 0
	Deadline   int                  // activeDeadlineSeconds; none if 0

	// Seconds, May and Faults are for [Run]: how long it lasts at most (12 if 0),
	// what may be done to the Pod, and what the kubelet does wrong.
	Seconds int
	May     May
	Faults  Faults
}

// Container is one container of any kind.
type Container struct {
	Name    string
	Sidecar bool // a restartable init container; for Pod.Init only

	PostStart, PreStop           Handler
	Seconds                      int // of a sleep hook
	Startup, Readiness, Liveness *Probe

	Policy *corev1.RestartPolicy // the container's own
	Rules  []Rule

	// The rest is for [Run]: what the Chooser may let go wrong. That is a failing
	// or a hanging postStart hook, a failing startup or liveness probe, a main
	// process that exits, one that does so without its last line, one that does
	// not end on TERM, an image that is not there at first, a container that
	// cannot be created, or started, at first. The main process of an init
	// container exits always; with Exits it may fail.
	HookFails, HookHangs, StartupFails, LivenessFails, Exits, Crashes, Deaf, NoImage, NoCreate, NoStart bool
	// Slow: a probe that is run in the container may run out of its time, which is a
	// second, before it has written anything, or before it ends, whatever it wrote.
	Slow bool
}

// Handler is how a hook is run.
type Handler int

// The kinds of handler. None is no hook.
const (
	None Handler = iota
	Exec
	HTTP
	Sleep
)

// Probe is one probe. Zero fields stand for: a period of 1 second, thresholds
// of 1, no delay.
type Probe struct {
	HTTP                bool // over the network; else exec
	Period, Delay       int  // seconds
	Successes, Failures int
	Grace               int // seconds; 0: that of the Pod
}

// Rule is a restart rule: on an exit with the code, or with any other if Not is
// set, the container is restarted, or with All the whole Pod.
type Rule struct {
	Code int
	Not  bool
	All  bool
}

// May says what the Chooser may let happen to a Pod, at any moment. It may
// delete the Pod always.
type May struct {
	ForceDelete    bool // deletion with a grace period of 0
	DeleteAgain    bool // a second deletion with a shorter grace period
	Evict          bool // by the kubelet
	RestartKubelet bool
	StopSandbox    bool
	// Patch: the image of a container is changed at the API.
	Patch bool
	// LatePhase: a terminal phase is held back until everything has stopped, so
	// that ended containers are shown beside the phase before it.
	LatePhase bool
	// Silent: a container may end before anything in it has written a line. Its
	// number goes to the next one then, unless it had taken it already.
	Silent bool
}

// All lists init containers and sidecars, then regular containers: the order of
// the spec.
func (p Pod) All() []Container { return slices.Concat(p.Init, p.Containers) }

func (p Pod) withDefaults() Pod {
	if p.Policy == "" {
		p.Policy = corev1.RestartPolicyAlways
	}
	if p.Grace == 0 {
		p.Grace = 30
	}
	return p
}

// check reports why the API server of a release would not take the Pod, or would
// drop some of it.
func (p Pod) check(r Release) error {
	if len(p.Containers) == 0 {
		return fmt.Errorf("the Pod has no regular container; give it at least one")
	}
	seen := map[string]bool{}
	for c, spec := range p.All() {
		if seen[spec.Name] {
			return fmt.Errorf("the Pod has two containers %q; give each a name of its own", spec.Name)
		}
		seen[spec.Name] = true
		lifecycle := spec.PostStart != None || spec.PreStop != None || spec.Startup != nil || spec.Readiness != nil || spec.Liveness != nil
		switch {
		case spec.Sidecar && c >= len(p.Init):
			return fmt.Errorf("container %q is a sidecar; put it into Init", spec.Name)
		case spec.Sidecar && !r.Has(Sidecars):
			return fmt.Errorf("container %q is a sidecar, which %v does not know", spec.Name, r)
		case lifecycle && c < len(p.Init) && !spec.Sidecar:
			return fmt.Errorf("init container %q has a hook or a probe, and only sidecars and regular containers may", spec.Name)
		}
		for _, h := range []Handler{spec.PostStart, spec.PreStop} {
			switch {
			case h == Sleep && !r.Has(SleepHook):
				return fmt.Errorf("container %q has a hook that sleeps, which %v does not know", spec.Name, r)
			case h == Sleep && spec.Seconds == 0 && !r.Has(SleepZero):
				return fmt.Errorf("container %q has a hook that sleeps for 0 seconds, which %v refuses", spec.Name, r)
			}
		}
	}
	return nil
}

// WithDefaults returns the probe with its zero fields filled in.
func (p *Probe) WithDefaults() Probe {
	d := *p
	d.Period, d.Successes, d.Failures = max(d.Period, 1), max(d.Successes, 1), max(d.Failures, 1)
	return d
}

// probe returns one of its probes, nil if it has none of the kind.
func (c Container) probe(kind trace.Actor) *Probe {
	switch kind {
	case trace.StartupProbe:
		return c.Startup
	case trace.ReadinessProbe:
		return c.Readiness
	}
	return c.Liveness
}

// A container is known by its place in the spec, init containers and sidecars
// first.

func (n *node) isInit(c int) bool    { return c < len(n.pod.Init) && !n.specs[c].Sidecar }
func (n *node) isSidecar(c int) bool { return c < len(n.pod.Init) && n.specs[c].Sidecar }
func (n *node) isRegular(c int) bool { return c >= len(n.pod.Init) }

func (n *node) byName(name string) int {
	return slices.IndexFunc(n.specs, func(c Container) bool { return c.Name == name })
}

const image = "podorder/recorder:1"

// imageOf is the image after some changes.
func imageOf(changes int) string { return fmt.Sprintf("podorder/recorder:%d", 1+changes) }
