package podspec

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/podorder/podorder/reference/rules"

	"github.com/podorder/podorder/reference/trace"
	corev1 "k8s.io/api/core/v1"
)

// Pod is what the model keeps of a Pod: the fields that affect order.
type Pod struct {
	Policy corev1.RestartPolicy
	Grace  int64 // seconds
	// Deadline is activeDeadlineSeconds; 0 if it has none.
	Deadline int64
	// containers are the init containers and sidecars in their order, then
	// the regular containers in theirs, then the ephemeral ones.
	Containers []Container
	Index      map[string]int
	// inits and regulars count the first two kinds.
	Inits, Regulars int
	// gates are the feature gates that the Pod needs, each with the field that
	// needs it.
	Gates map[string]string
	// Static: it is the mirror of a static Pod, of which a kubelet that is restarted knows no status.
	Static bool
	// hostNetwork: the Pod has the address of its node.
	hostNetwork bool
	// sharedProcesses: its containers share a process namespace, or have that of the node.
	sharedProcesses bool
}

// Role says how the kubelet treats a container.
type Role uint8

const (
	Regular       Role = iota
	InitContainer      // runs to its end before the next one starts
	Sidecar            // an init container with restartPolicy Always
	Ephemeral
)

func (r Role) String() string {
	return [...]string{"regular container", "init container", "sidecar", "ephemeral container"}[r]
}

// Container is one container.
type Container struct {
	Name string
	Role Role
	// policy holds for this container: its own, else that of the Pod.
	Policy corev1.RestartPolicy
	Rules  []corev1.ContainerRestartRule

	PostStart, PreStop           bool
	Startup, Readiness, Liveness Probe
	// sleepStart and sleepStop are how long a hook sleeps that does nothing
	// else; 0 where it is of another kind.
	SleepStart, SleepStop time.Duration
	// stop is the signal that stops it, without its SIG prefix.
	Stop string
	// PreStopSignals: the command of the preStop hook sends a signal, so it may be who sent
	// one that comes while it runs.
	PreStopSignals bool
	// ResizeRestarts are the resources ("memory") of which a change has the container restarted,
	// by its resizePolicy.
	ResizeRestarts []corev1.ResourceName
	// SharedProcesses: others than the kubelet see the processes of the container, and may
	// signal them. Nothing else of the order follows from that
	// (pkg/kubelet/kuberuntime/util/util.go, PidNamespaceForPod).
	SharedProcesses bool

	// writing says of each actor, in the order of [trace.Actors], whether it writes to the log.
	writing [6]Writing
	// runs and marks are whether it is a process in the container, and whether that logs its begin
	// and its end for sure.
	runs, marks [6]bool
	// branches says of each actor whether its command does one thing or another, so that it may
	// write in some runs only.
	branches [6]bool
}

// Probe is what the model keeps of a probe.
type Probe struct {
	Declared bool
	Network  bool  // asked over the network, not by a process in the container
	Fixed    bool  // over the network at an address that outlives the sandbox of the Pod
	Delay    int32 // initialDelaySeconds
	Period   int32 // seconds
	Timeout  int32 // seconds
	Success  int32 // successThreshold
	Failures int32 // failureThreshold
	Grace    int64 // terminationGracePeriodSeconds of the probe, else of the Pod
}

// Has reports whether the container declares the actor.
func (s Container) Has(a trace.Actor) bool {
	switch a {
	case trace.Main:
		return true
	case trace.PostStart:
		return s.PostStart
	case trace.PreStop:
		return s.PreStop
	case trace.StartupProbe:
		return s.Startup.Declared
	case trace.ReadinessProbe:
		return s.Readiness.Declared
	case trace.LivenessProbe:
		return s.Liveness.Declared
	}
	return false
}

// Probes is how many probes the container declares.
func (s *Container) Probes() (n int) {
	for _, p := range []Probe{s.Startup, s.Readiness, s.Liveness} {
		if p.Declared {
			n++
		}
	}
	return n
}

// Probe returns the probe that an actor is; the zero value where it is none.
func (s *Container) Probe(a trace.Actor) Probe {
	switch a {
	case trace.StartupProbe:
		return s.Startup
	case trace.ReadinessProbe:
		return s.Readiness
	case trace.LivenessProbe:
		return s.Liveness
	}
	return Probe{}
}

// IsRegular reports whether container i is a regular one.
func (p *Pod) IsRegular(i int) bool { return i >= p.Inits && i < p.Inits+p.Regulars }

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
		"Image", "Command", "Args", "WorkingDir", "Ports", "EnvFrom", "Env", "Resources", "VolumeMounts",
		"VolumeDevices", "TerminationMessagePath", "TerminationMessagePolicy", "ImagePullPolicy", "SecurityContext",
		"Stdin", "StdinOnce", "TTY",
	}
	modelledInContainer = []string{"Name", "StartupProbe", "ReadinessProbe", "LivenessProbe", "RestartPolicy", "RestartPolicyRules", "ResizePolicy"}
	modelledInPod       = []string{
		"InitContainers", "Containers", "EphemeralContainers", "RestartPolicy", "TerminationGracePeriodSeconds", "ActiveDeadlineSeconds", "ReadinessGates", "HostNetwork", "HostPID", "ShareProcessNamespace",
	}
)

// The fields that are in neither.
var (
	otherInPod       = fieldsApart(reflect.TypeFor[corev1.PodSpec](), irrelevantInPod, modelledInPod)
	otherInContainer = fieldsApart(reflect.TypeFor[corev1.Container](), irrelevantInContainer, modelledInContainer)
)

// New reads the Pod. The second result names the fields that the model
// does not understand, sorted; the plan is of use only if there are none.
func New(pod *corev1.Pod) (Pod, []string) {
	p := Pod{
		Policy: pod.Spec.RestartPolicy, Grace: corev1.DefaultTerminationGracePeriodSeconds, Index: map[string]int{}, Gates: map[string]string{},
		Inits: len(pod.Spec.InitContainers), Regulars: len(pod.Spec.Containers), hostNetwork: pod.Spec.HostNetwork,
		Containers: make([]Container, 0, len(pod.Spec.InitContainers)+len(pod.Spec.Containers)+len(pod.Spec.EphemeralContainers)),
	}
	if p.Policy == "" {
		p.Policy = corev1.RestartPolicyAlways
	}
	shared := pod.Spec.ShareProcessNamespace
	p.Static = pod.Annotations[corev1.MirrorPodAnnotationKey] != ""
	p.sharedProcesses = pod.Spec.HostPID || shared != nil && *shared
	if g := pod.Spec.TerminationGracePeriodSeconds; g != nil {
		p.Grace = *g
	}
	if d := pod.Spec.ActiveDeadlineSeconds; d != nil {
		p.Deadline = *d
	}
	var left []string
	for i := range pod.Spec.InitContainers {
		left = append(left, p.add(&pod.Spec.InitContainers[i], InitContainer, element("initContainers", i))...)
	}
	for i := range pod.Spec.Containers {
		left = append(left, p.add(&pod.Spec.Containers[i], Regular, element("containers", i))...)
	}
	for i := range pod.Spec.EphemeralContainers {
		c := corev1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		left = append(left, p.add(&c, Ephemeral, element("ephemeralContainers", i))...)
	}
	left = append(left, leftOver("spec", &pod.Spec, otherInPod)...)
	if err := p.setWriting(pod); err != nil {
		left = append(left, fmt.Sprintf("metadata.annotations[%s]: %v", WritesAnnotation, err))
	}
	slices.Sort(left)
	return p, left
}

// add takes a container into the plan and returns the fields of it that the
// model does not understand.
func (p *Pod) add(c *corev1.Container, r Role, at string) []string {
	s := Container{SharedProcesses: p.sharedProcesses, Name: c.Name, Role: r, Policy: p.Policy, Rules: c.RestartPolicyRules, Stop: "TERM"}
	s.Startup, s.Readiness, s.Liveness = p.probe(c.StartupProbe), p.probe(c.ReadinessProbe), p.probe(c.LivenessProbe)
	switch {
	case r == InitContainer && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways:
		// Its policy alone makes it one, whatever rules it has (pkg/api/v1/pod/util.go,
		// IsRestartableInitContainer).
		s.Role, s.Policy = Sidecar, corev1.RestartPolicyAlways
		p.Gates[rules.GateSidecars] = at + ".restartPolicy"
	case c.RestartPolicy != nil:
		s.Policy = corev1.RestartPolicy(*c.RestartPolicy)
		p.Gates[rules.GateRestartRules] = at + ".restartPolicy"
	}
	for _, of := range c.ResizePolicy {
		if of.RestartPolicy == corev1.RestartContainer {
			s.ResizeRestarts = append(s.ResizeRestarts, of.ResourceName)
		}
	}
	for _, rule := range c.RestartPolicyRules {
		if s.Role == Sidecar {
			p.Gates[rules.GateRestartRules] = at + ".restartPolicyRules"
		}
		if RestartsAll(rule) {
			p.Gates[rules.GateRestartAll] = at + ".restartPolicyRules"
		}
	}
	var read []string
	if c.Lifecycle != nil {
		rest := *c.Lifecycle
		s.PostStart, s.PreStop = rest.PostStart != nil, rest.PreStop != nil
		s.SleepStart, s.SleepStop = sleepOf(rest.PostStart), sleepOf(rest.PreStop)
		s.PreStopSignals = signals(rest.PreStop)
		if rest.StopSignal != nil {
			s.Stop = strings.TrimPrefix(string(*rest.StopSignal), "SIG")
			p.Gates[rules.GateStopSignals] = at + ".lifecycle.stopSignal"
		}
		rest.PostStart, rest.PreStop, rest.StopSignal = nil, nil, nil
		if rest == (corev1.Lifecycle{}) {
			read = append(read, "Lifecycle")
		}
	}
	p.Index[c.Name] = len(p.Containers)
	p.Containers = append(p.Containers, s)
	return leftOver(at, c, otherInContainer, read...)
}

// element is the path of container i of a list of the Pod.
func element(list string, i int) string { return "spec." + list + "[" + strconv.Itoa(i) + "]" }

// signals reports whether the command of a hook sends a signal to a process: it names one
// of the programs that do, with another signal than 0, which only asks.
func signals(h *corev1.LifecycleHandler) bool {
	if h == nil || h.Exec == nil {
		return false
	}
	words := strings.FieldsFunc(strings.Join(h.Exec.Command, " "), func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(";&|()'\"`{}", r)
	})
	for i, word := range words {
		switch path.Base(word) {
		case "kill", "pkill", "killall":
			next := append(words[i+1:], "", "")
			if next[0] == "-0" || (next[0] == "-s" || next[0] == "-n") && next[1] == "0" {
				continue
			}
			return true
		}
	}
	return false
}

func sleepOf(h *corev1.LifecycleHandler) time.Duration {
	if h == nil || h.Sleep == nil {
		return 0
	}
	return time.Duration(h.Sleep.Seconds) * time.Second
}

// probe reads a probe, with the defaults of the API where the manifest leaves
// something out (pkg/apis/core/v1/defaults.go).
func (p *Pod) probe(of *corev1.Probe) Probe {
	if of == nil {
		return Probe{}
	}
	r := Probe{Declared: true, Network: of.Exec == nil, Delay: of.InitialDelaySeconds, Period: of.PeriodSeconds, Success: of.SuccessThreshold, Failures: of.FailureThreshold, Grace: p.Grace}
	if r.Period == 0 {
		r.Period = 10
	}
	if r.Failures == 0 {
		r.Failures = 3
	}
	r.Fixed = r.Network && p.hostNetwork || of.HTTPGet != nil && of.HTTPGet.Host != "" || of.TCPSocket != nil && of.TCPSocket.Host != ""
	r.Success, r.Timeout = max(r.Success, 1), max(of.TimeoutSeconds, 1)
	if of.TerminationGracePeriodSeconds != nil {
		r.Grace = *of.TerminationGracePeriodSeconds
	}
	return r
}

// Needs names the fields of the Pod whose feature gate the kubelet has off: it
// never sees them, and which Pod it runs instead is not known.
func (p *Pod) Needs(k rules.Kubelet) []string {
	var off []string
	for gate, field := range p.Gates {
		if !k.Enabled(gate) {
			off = append(off, fmt.Sprintf("%s (feature gate %s is off)", field, gate))
		}
	}
	slices.Sort(off)
	return off
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

func RestartsAll(r corev1.ContainerRestartRule) bool {
	return r.Action == corev1.ContainerRestartRuleActionRestartAllContainers
}

// ruleMatches finds the first restart rule that an exit code matches
// (pkg/api/v1/pod/util.go, ContainerShouldRestart).
func ruleMatches(rules []corev1.ContainerRestartRule, code int32) (corev1.ContainerRestartRule, bool) {
	for _, r := range rules {
		if r.ExitCodes == nil {
			continue
		}
		in := slices.Contains(r.ExitCodes.Values, code)
		if in == (r.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn) {
			return r, true
		}
	}
	return corev1.ContainerRestartRule{}, false
}

// RestartsFor and restartsAllFor report whether a rule of the container has it, or all
// containers, restarted for an exit code.
func (s *Container) RestartsFor(code int32) bool {
	rule, ok := ruleMatches(s.Rules, code)
	return ok && rule.Action == corev1.ContainerRestartRuleActionRestart
}

func (s *Container) RestartsAllFor(code int32) bool {
	rule, ok := ruleMatches(s.Rules, code)
	return ok && RestartsAll(rule)
}

// ThroughWith reports whether the container is not started again after an exit code.
func (s *Container) ThroughWith(code int32) bool {
	return !s.RestartsFor(code) && (s.Policy == corev1.RestartPolicyNever || s.Policy == corev1.RestartPolicyOnFailure && !Failed(code))
}

// Failed reports whether an exit code is that of a failure.
func Failed(code int32) bool { return code != 0 }
