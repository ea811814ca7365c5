package kubelet

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Pod is what is run, and what may befall it. The zero value of everything
// optional is its absence.
type Pod struct {
	// Init holds init containers and sidecars in the order of the spec.
	Init       []Container
	Containers []Container
	Policy     corev1.RestartPolicy
	Grace      int // seconds

	// Seconds is how long the run lasts at most; 12 if 0.
	Seconds int
	// May lists what may happen to the Pod beside its own life. Deletion may
	// happen always, and at any moment.
	May May
	// Faults makes the kubelet wrong on purpose.
	Faults Faults
}

// May says what else the Chooser may let happen, at any moment.
type May struct {
	ForceDelete    bool // deletion with a grace period of 0
	DeleteAgain    bool // a second deletion with a shorter grace period
	Evict          bool // by the kubelet
	RestartKubelet bool
	StopSandbox    bool
	// Patch: the image of a container is changed at the API.
	Patch bool
	// LatePhase: a terminal phase is held back until everything has stopped, so
	// that ended containers are shown beside the phase before it, R84.
	LatePhase bool
	// Silent: a container may end before anything in it has written a line. Its
	// number goes to the next one then, unless it had taken it already.
	Silent bool
}

// Faults are regressions that releases carried. None belongs to a correct
// kubelet.
type Faults struct {
	// HookInBackground: a postStart hook is not waited for.
	HookInBackground bool
	// Sleepless: a hook that sleeps returns at once.
	Sleepless bool
	// Impatient: the first failure of a liveness or startup probe counts for all.
	Impatient bool
	// RestartsBackwards: what is due again in one sync is started from the last
	// container to the first.
	RestartsBackwards bool
	// StartedInherited: an instance that is restarted within one sync inherits
	// "started" from the one before it (table of differences, row 15).
	StartedInherited bool
	// FrozenReadiness: exec probes fail once the Pod is deleted (row 13).
	FrozenReadiness bool
	// WaitsForDead: at termination a sidecar waits for a later one that does
	// not run (v1.29.6).
	WaitsForDead bool
	// ForgetsSidecar: in a Pod with policy Never a restarted sidecar is not
	// probed (row 12).
	ForgetsSidecar bool
}

// Handler is how a hook or probe is run.
type Handler int

// The kinds of handler. None is no hook.
const (
	None Handler = iota
	Exec
	HTTP
	Sleep // hooks only
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

// Container is one container of any kind and what its processes do.
type Container struct {
	Name    string
	Sidecar bool // a restartable init container; for Pod.Init only

	PostStart, PreStop           Handler
	Seconds                      int // of a sleep hook
	Startup, Readiness, Liveness *Probe

	Policy *corev1.RestartPolicy // the container's own
	Rules  []Rule

	// What the Chooser may let go wrong: a failing or a hanging postStart hook,
	// a failing startup or liveness probe, a main process that exits, one that
	// does so without its last line, one that does not end on TERM, an image
	// that is not there at first, a container that cannot be created, or started, at first.
	// An init container exits always; with Exits it may fail.
	HookFails, HookHangs, StartupFails, LivenessFails, Exits, Crashes, Deaf, NoImage, NoCreate, NoStart bool
	// Slow: a probe that is run in the container may run out of its time, which is a
	// second, before it has written anything, or before it ends, whatever it wrote.
	Slow bool
}

const image = "podorder/recorder:1"

// imageOf is the image after some patches.
func imageOf(patches int) string { return fmt.Sprintf("podorder/recorder:%d", 1+patches) }

// Manifest returns the Pod as a manifest would give it.
func (p Pod) Manifest() *corev1.Pod {
	grace := int64(p.Grace)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "simulated"}, Spec: corev1.PodSpec{RestartPolicy: p.Policy, TerminationGracePeriodSeconds: &grace}}
	for _, c := range p.Init {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c.manifest())
	}
	for _, c := range p.Containers {
		pod.Spec.Containers = append(pod.Spec.Containers, c.manifest())
	}
	return pod
}

func (c Container) manifest() corev1.Container {
	spec := corev1.Container{
		Name: c.Name, Image: image, RestartPolicy: (*corev1.ContainerRestartPolicy)(c.Policy),
		StartupProbe: c.Startup.manifest("startup"), ReadinessProbe: c.Readiness.manifest("readiness"), LivenessProbe: c.Liveness.manifest("liveness"),
	}
	if c.Sidecar {
		always := corev1.ContainerRestartPolicyAlways
		spec.RestartPolicy = &always
	}
	for _, r := range c.Rules {
		rule := corev1.ContainerRestartRule{Action: corev1.ContainerRestartRuleActionRestart, ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{int32(r.Code)}}}
		if r.Not {
			rule.ExitCodes.Operator = corev1.ContainerRestartRuleOnExitCodesOpNotIn
		}
		if r.All {
			rule.Action = corev1.ContainerRestartRuleActionRestartAllContainers
		}
		spec.RestartPolicyRules = append(spec.RestartPolicyRules, rule)
	}
	if c.PostStart == None && c.PreStop == None {
		return spec
	}
	spec.Lifecycle = &corev1.Lifecycle{PostStart: c.PostStart.manifest("post-start-hook", c.Seconds), PreStop: c.PreStop.manifest("pre-stop-hook", c.Seconds)}
	return spec
}

func (h Handler) manifest(path string, seconds int) *corev1.LifecycleHandler {
	switch h {
	case Exec:
		return &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"recorder", path}}}
	case HTTP:
		return &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/" + path, Port: intstr.FromInt32(8080)}}
	case Sleep:
		return &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: int64(seconds)}}
	}
	return nil
}

func (p *Probe) manifest(kind string) *corev1.Probe {
	if p == nil {
		return nil
	}
	d := p.WithDefaults()
	probe := &corev1.Probe{PeriodSeconds: int32(d.Period), InitialDelaySeconds: int32(d.Delay), TimeoutSeconds: 1, SuccessThreshold: int32(d.Successes), FailureThreshold: int32(d.Failures)}
	probe.Exec = &corev1.ExecAction{Command: []string{"recorder", kind + "-probe"}}
	if d.HTTP {
		probe.Exec, probe.HTTPGet = nil, &corev1.HTTPGetAction{Path: "/" + kind + "-probe", Port: intstr.FromInt32(8080)}
	}
	if d.Grace > 0 {
		grace := int64(d.Grace)
		probe.TerminationGracePeriodSeconds = &grace
	}
	return probe
}

// WithDefaults returns the probe with its zero fields filled in.
func (p *Probe) WithDefaults() Probe {
	d := *p
	d.Period, d.Successes, d.Failures = max(d.Period, 1), max(d.Successes, 1), max(d.Failures, 1)
	return d
}

// All lists init containers and sidecars, then regular containers: the order of
// the spec.
func (p Pod) All() []Container { return slices.Concat(p.Init, p.Containers) }
