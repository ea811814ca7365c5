package reference

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// plan is what the model keeps of a Pod: the fields that bear on order.
type plan struct {
	policy corev1.RestartPolicy
	grace  int64 // seconds
	// containers are the init containers and sidecars in their order, then
	// the regular containers in theirs, then the ephemeral ones.
	containers []spec
	index      map[string]int
	// inits and regulars count the first two kinds.
	inits, regulars int
	// gates are the feature gates that the Pod needs, each with the field that
	// needs it.
	gates map[string]string
	// hostNetwork: the Pod has the address of its node.
	hostNetwork bool
}

// role says how the kubelet treats a container.
type role uint8

const (
	regular       role = iota
	initContainer      // runs to its end before the next one starts
	sidecar            // an init container with restartPolicy Always
	ephemeral
)

func (r role) String() string {
	return [...]string{"regular container", "init container", "sidecar", "ephemeral container"}[r]
}

// spec is one container.
type spec struct {
	name string
	role role
	// policy holds for this container: its own, else that of the Pod.
	policy corev1.RestartPolicy
	rules  []corev1.ContainerRestartRule

	postStart, preStop           bool
	startup, readiness, liveness probe
	// sleepStart and sleepStop are how long a hook sleeps that does nothing
	// else; 0 where it is of another kind.
	sleepStart, sleepStop time.Duration
	// stop is the signal that stops it, without its SIG prefix.
	stop string
}

// probe is what the model keeps of a probe.
type probe struct {
	declared bool
	network  bool  // asked over the network, not by a process in the container
	fixed    bool  // over the network at an address that outlives the sandbox of the Pod
	delay    int32 // initialDelaySeconds
	period   int32 // seconds
	timeout  int32 // seconds
	success  int32 // successThreshold
	failures int32 // failureThreshold
	grace    int64 // terminationGracePeriodSeconds of the probe, else of the Pod
}

// has reports whether the container declares the actor.
func (s spec) has(a trace.Actor) bool {
	switch a {
	case trace.Main:
		return true
	case trace.PostStart:
		return s.postStart
	case trace.PreStop:
		return s.preStop
	case trace.StartupProbe:
		return s.startup.declared
	case trace.ReadinessProbe:
		return s.readiness.declared
	case trace.LivenessProbe:
		return s.liveness.declared
	}
	return false
}

// probe returns the probe that an actor is; the zero value where it is none.
func (s *spec) probe(a trace.Actor) probe {
	switch a {
	case trace.StartupProbe:
		return s.startup
	case trace.ReadinessProbe:
		return s.readiness
	case trace.LivenessProbe:
		return s.liveness
	}
	return probe{}
}

// isRegular reports whether container i is a regular one.
func (p *plan) isRegular(i int) bool { return i >= p.inits && i < p.inits+p.regulars }

// The fields that cannot bear on the order of a Pod's containers: what is run,
// where, with which rights and resources. A field that is in neither list, nor
// read by newPlan, makes the Pod unmodelled; a test compares both lists with
// the types, so that a field of a newer API is unmodelled until someone looks
// at it.
var (
	irrelevantInPod = []string{
		"Volumes", "DNSPolicy", "NodeSelector", "ServiceAccountName", "DeprecatedServiceAccount", "AutomountServiceAccountToken",
		"NodeName", "HostIPC", "SecurityContext", "ImagePullSecrets", "Hostname", "Subdomain", "Affinity", "SchedulerName",
		"Tolerations", "HostAliases", "PriorityClassName", "Priority", "DNSConfig", "RuntimeClassName", "EnableServiceLinks",
		"PreemptionPolicy", "Overhead", "TopologySpreadConstraints", "SetHostnameAsFQDN", "OS", "HostUsers", "SchedulingGates",
		"ResourceClaims", "Resources", "HostnameOverride", "SchedulingGroup",
	}
	irrelevantInContainer = []string{
		"Image", "Command", "Args", "WorkingDir", "Ports", "EnvFrom", "Env", "Resources", "ResizePolicy", "VolumeMounts",
		"VolumeDevices", "TerminationMessagePath", "TerminationMessagePolicy", "ImagePullPolicy", "SecurityContext",
		"Stdin", "StdinOnce", "TTY",
	}
	modelledInContainer = []string{"Name", "StartupProbe", "ReadinessProbe", "LivenessProbe", "RestartPolicy", "RestartPolicyRules"}
	modelledInPod       = []string{
		"InitContainers", "Containers", "EphemeralContainers", "RestartPolicy", "TerminationGracePeriodSeconds", "ActiveDeadlineSeconds", "ReadinessGates", "HostNetwork",
	}
)

// The fields that are in neither.
var (
	otherInPod       = fieldsApart(reflect.TypeFor[corev1.PodSpec](), irrelevantInPod, modelledInPod)
	otherInContainer = fieldsApart(reflect.TypeFor[corev1.Container](), irrelevantInContainer, modelledInContainer)
)

// newPlan reads the Pod. The second result names the fields that the model
// does not understand, sorted; the plan is of use only if there are none.
func newPlan(pod *corev1.Pod) (plan, []string) {
	p := plan{
		policy: pod.Spec.RestartPolicy, grace: corev1.DefaultTerminationGracePeriodSeconds, index: map[string]int{}, gates: map[string]string{},
		inits: len(pod.Spec.InitContainers), regulars: len(pod.Spec.Containers), hostNetwork: pod.Spec.HostNetwork,
		containers: make([]spec, 0, len(pod.Spec.InitContainers)+len(pod.Spec.Containers)+len(pod.Spec.EphemeralContainers)),
	}
	if p.policy == "" {
		p.policy = corev1.RestartPolicyAlways
	}
	if g := pod.Spec.TerminationGracePeriodSeconds; g != nil {
		p.grace = *g
	}
	var left []string
	for i := range pod.Spec.InitContainers {
		left = append(left, p.add(&pod.Spec.InitContainers[i], initContainer, element("initContainers", i))...)
	}
	for i := range pod.Spec.Containers {
		left = append(left, p.add(&pod.Spec.Containers[i], regular, element("containers", i))...)
	}
	for i := range pod.Spec.EphemeralContainers {
		c := corev1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		left = append(left, p.add(&c, ephemeral, element("ephemeralContainers", i))...)
	}
	var read []string
	if s := pod.Spec.ShareProcessNamespace; s != nil && !*s {
		read = append(read, "ShareProcessNamespace")
	}
	left = append(left, leftOver("spec", &pod.Spec, otherInPod, read...)...)
	slices.Sort(left)
	return p, left
}

// add takes a container into the plan and returns the fields of it that the
// model does not understand.
func (p *plan) add(c *corev1.Container, r role, at string) []string {
	s := spec{name: c.Name, role: r, policy: p.policy, rules: c.RestartPolicyRules, stop: "TERM"}
	s.startup, s.readiness, s.liveness = p.probe(c.StartupProbe), p.probe(c.ReadinessProbe), p.probe(c.LivenessProbe)
	switch {
	case r == initContainer && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways && len(c.RestartPolicyRules) == 0:
		s.role, s.policy = sidecar, corev1.RestartPolicyAlways
		p.gates[gateSidecars] = at + ".restartPolicy"
	case c.RestartPolicy != nil:
		s.policy = corev1.RestartPolicy(*c.RestartPolicy)
		p.gates[gateRestartRules] = at + ".restartPolicy"
	}
	for _, rule := range c.RestartPolicyRules {
		if restartsAll(rule) {
			p.gates[gateRestartAll] = at + ".restartPolicyRules"
		}
	}
	var read []string
	if c.Lifecycle != nil {
		rest := *c.Lifecycle
		s.postStart, s.preStop = rest.PostStart != nil, rest.PreStop != nil
		s.sleepStart, s.sleepStop = sleepOf(rest.PostStart), sleepOf(rest.PreStop)
		if rest.StopSignal != nil {
			s.stop = strings.TrimPrefix(string(*rest.StopSignal), "SIG")
			p.gates[gateStopSignals] = at + ".lifecycle.stopSignal"
		}
		rest.PostStart, rest.PreStop, rest.StopSignal = nil, nil, nil
		if rest == (corev1.Lifecycle{}) {
			read = append(read, "Lifecycle")
		}
	}
	p.index[c.Name] = len(p.containers)
	p.containers = append(p.containers, s)
	return leftOver(at, c, otherInContainer, read...)
}

// element is the path of container i of a list of the Pod.
func element(list string, i int) string { return "spec." + list + "[" + strconv.Itoa(i) + "]" }

func sleepOf(h *corev1.LifecycleHandler) time.Duration {
	if h == nil || h.Sleep == nil {
		return 0
	}
	return time.Duration(h.Sleep.Seconds) * time.Second
}

// probe reads a probe, with the defaults of the API where the manifest leaves
// something out (pkg/apis/core/v1/defaults.go).
func (p *plan) probe(of *corev1.Probe) probe {
	if of == nil {
		return probe{}
	}
	r := probe{declared: true, network: of.Exec == nil, delay: of.InitialDelaySeconds, period: of.PeriodSeconds, success: of.SuccessThreshold, failures: of.FailureThreshold, grace: p.grace}
	if r.period == 0 {
		r.period = 10
	}
	if r.failures == 0 {
		r.failures = 3
	}
	r.fixed = r.network && p.hostNetwork || of.HTTPGet != nil && of.HTTPGet.Host != "" || of.TCPSocket != nil && of.TCPSocket.Host != ""
	r.success, r.timeout = max(r.success, 1), max(of.TimeoutSeconds, 1)
	if of.TerminationGracePeriodSeconds != nil {
		r.grace = *of.TerminationGracePeriodSeconds
	}
	return r
}

// needs names the fields of the Pod whose feature gate the kubelet has off: it
// never sees them, and which Pod it runs instead is not known.
func (p *plan) needs(k Kubelet) []string {
	var off []string
	for gate, field := range p.gates {
		if !k.Enabled(gate) {
			off = append(off, fmt.Sprintf("%s (feature gate %s is off)", field, gate))
		}
	}
	slices.Sort(off)
	return off
}

// UnmodelledFields names the fields of a Pod that the model does not understand
// ("spec.hostPID"), sorted. None means that the Pod can be judged.
func UnmodelledFields(pod *corev1.Pod) []string {
	_, left := newPlan(pod)
	return left
}

// leftOver names those of the fields that are not zero in the struct at ptr, by their
// JSON names, apart from the ones that were read.
func leftOver(at string, ptr any, fields []reflect.StructField, read ...string) []string {
	v := reflect.ValueOf(ptr).Elem()
	var left []string
	for _, field := range fields {
		if f := v.FieldByIndex(field.Index); f.IsZero() || f.Kind() == reflect.Slice && f.Len() == 0 || slices.Contains(read, field.Name) {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		left = append(left, at+"."+name)
	}
	return left
}

// fieldsApart are the fields of a struct that are in none of the lists.
func fieldsApart(of reflect.Type, lists ...[]string) []reflect.StructField {
	var fields []reflect.StructField
	for _, field := range reflect.VisibleFields(of) {
		if !slices.ContainsFunc(lists, func(list []string) bool { return slices.Contains(list, field.Name) }) {
			fields = append(fields, field)
		}
	}
	return fields
}
