package reference

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/podorder/podorder/reference/trace"
)

// ParsePod reads a manifest that holds exactly one v1 Pod, as YAML or JSON.
// A field that a Pod does not have is an error.
func ParsePod(manifest []byte) (*corev1.Pod, error) {
	docs := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest)))
	var pod *corev1.Pod
	for {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading the manifest: %w", err)
		}
		raw, err := yaml.ToJSON(doc)
		if err != nil {
			return nil, fmt.Errorf("the manifest is not YAML: %w", err)
		}
		if len(bytes.TrimSpace(raw)) == 0 || string(bytes.TrimSpace(raw)) == "null" {
			continue
		}
		if pod != nil {
			return nil, errors.New("the manifest holds more than one object; give one Pod")
		}
		if pod, err = decodePod(raw); err != nil {
			return nil, err
		}
	}
	if pod == nil {
		return nil, errors.New("the manifest is empty; give one Pod")
	}
	return pod, nil
}

func decodePod(raw []byte) (*corev1.Pod, error) {
	var head struct{ APIVersion, Kind string }
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("the manifest is not an object: %w", err)
	}
	if head.APIVersion != "v1" || head.Kind != "Pod" {
		return nil, fmt.Errorf("the manifest holds apiVersion %q kind %q, not a v1 Pod", head.APIVersion, head.Kind)
	}
	pod := &corev1.Pod{}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(pod); err != nil {
		return nil, fmt.Errorf("the manifest is not a Pod: %w", err)
	}
	if len(pod.Spec.Containers) == 0 {
		return nil, errors.New("the Pod has no containers")
	}
	seen := map[string]bool{}
	for i, c := range pod.Spec.Containers {
		if c.Name == "" || seen[c.Name] {
			return nil, fmt.Errorf("spec.containers[%d].name %q is empty or stands twice", i, c.Name)
		}
		seen[c.Name] = true
	}
	return pod, nil
}

// plan is what the model keeps of a Pod: the fields that bear on order.
type plan struct {
	policy     corev1.RestartPolicy
	grace      int64 // seconds
	containers []spec
	index      map[string]int
}

// spec is one regular container.
type spec struct {
	name      string
	postStart bool
	preStop   bool
	startup   bool
	readiness bool
	liveness  bool
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
		return s.startup
	case trace.ReadinessProbe:
		return s.readiness
	case trace.LivenessProbe:
		return s.liveness
	}
	return false
}

// The fields of a Pod's spec and of its containers that cannot bear on the
// order in which one kubelet starts, hooks, probes and stops the containers:
// what is run, where, with which rights and resources. A field that is not
// named here and not read by newPlan makes the Pod unmodelled. Names are those
// of the Go types.
var (
	irrelevantInPod = []string{
		"Volumes", "DNSPolicy", "NodeSelector", "ServiceAccountName", "DeprecatedServiceAccount", "AutomountServiceAccountToken",
		"NodeName", "HostIPC", "SecurityContext", "ImagePullSecrets", "Hostname", "Subdomain", "Affinity", "SchedulerName",
		"Tolerations", "HostAliases", "PriorityClassName", "Priority", "DNSConfig", "RuntimeClassName", "EnableServiceLinks",
		"PreemptionPolicy", "Overhead", "TopologySpreadConstraints", "SetHostnameAsFQDN", "OS", "HostUsers", "SchedulingGates",
		"ResourceClaims", "Resources", "HostnameOverride",
	}
	irrelevantInContainer = []string{
		"Image", "Command", "Args", "WorkingDir", "Ports", "EnvFrom", "Env", "Resources", "ResizePolicy", "VolumeMounts",
		"VolumeDevices", "TerminationMessagePath", "TerminationMessagePolicy", "ImagePullPolicy", "SecurityContext",
		"Stdin", "StdinOnce", "TTY",
	}
	modelledInContainer = []string{"Name", "StartupProbe", "ReadinessProbe", "LivenessProbe"}
	modelledInPod       = []string{"Containers", "RestartPolicy", "TerminationGracePeriodSeconds"}
)

// newPlan reads the Pod. The second result names the fields that the model
// does not understand, sorted; the plan is of use only if there are none.
func newPlan(pod *corev1.Pod) (plan, []string) {
	p := plan{policy: pod.Spec.RestartPolicy, grace: corev1.DefaultTerminationGracePeriodSeconds, index: map[string]int{}}
	if p.policy == "" {
		p.policy = corev1.RestartPolicyAlways
	}
	if g := pod.Spec.TerminationGracePeriodSeconds; g != nil {
		p.grace = *g
	}
	rest := pod.Spec.DeepCopy()
	var left []string
	for i := range rest.Containers {
		c := &rest.Containers[i]
		p.index[c.Name] = i
		s := spec{name: c.Name, startup: c.StartupProbe != nil, readiness: c.ReadinessProbe != nil, liveness: c.LivenessProbe != nil}
		if c.Lifecycle != nil {
			s.postStart, s.preStop = c.Lifecycle.PostStart != nil, c.Lifecycle.PreStop != nil
			c.Lifecycle.PostStart, c.Lifecycle.PreStop = nil, nil
			if *c.Lifecycle == (corev1.Lifecycle{}) {
				c.Lifecycle = nil
			}
		}
		p.containers = append(p.containers, s)
		clearFields(c, irrelevantInContainer, modelledInContainer)
		left = append(left, leftOver(fmt.Sprintf("spec.containers[%d]", i), *c)...)
	}
	if s := rest.ShareProcessNamespace; s != nil && !*s {
		rest.ShareProcessNamespace = nil
	}
	clearFields(rest, irrelevantInPod, modelledInPod)
	left = append(left, leftOver("spec", *rest)...)
	slices.Sort(left)
	return p, left
}

// UnmodelledFields names the fields of a Pod that the model does not understand
// ("spec.initContainers"), sorted. None means that the Pod can be judged.
func UnmodelledFields(pod *corev1.Pod) []string {
	_, left := newPlan(pod)
	return left
}

func clearFields(ptr any, lists ...[]string) {
	v := reflect.ValueOf(ptr).Elem()
	for _, names := range lists {
		for _, n := range names {
			v.FieldByName(n).SetZero()
		}
	}
}

// leftOver names the fields of a struct that are not zero, by their JSON names.
func leftOver(at string, of any) []string {
	v := reflect.ValueOf(of)
	var left []string
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsZero() && !(f.Kind() == reflect.Slice && f.Len() == 0) {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			left = append(left, at+"."+name)
		}
	}
	return left
}
