package newcase

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/fixtures/image"
	"github.com/podorder/podorder/reference/trace"
)

// Where the shared log is in every container.
const (
	logFolder = "/var/log/podorder"
	logFile   = logFolder + "/" + fixtures.DefaultFile
)

// firstPort is the first port at which a recorder answers. Every listener has one of its own, so that no two containers, and
// no two probes that only open a connection, take each other's.
const firstPort = 20000

// leastTimeout is what a probe has at least, in seconds: on a busy machine a process may take longer than the
// default to start.
const leastTimeout = 5

// maker makes recorders of the containers of one Pod.
type maker struct {
	pod   *corev1.Pod
	told  told
	port  int32
	acts  map[who][]setting // what each actor does
	there []who             // those that were made, in order
	notes []string          // what was changed beside the program
	quick bool              // a probe had less time than it gets here
}

// recorders makes a recorder of every container of a Pod.
func recorders(pod *corev1.Pod, t told) (*maker, error) {
	m := &maker{pod: pod, told: t, port: firstPort, acts: map[who][]setting{}}
	for i := range pod.Spec.InitContainers {
		if err := m.container(&pod.Spec.InitContainers[i], true); err != nil {
			return nil, err
		}
	}
	for i := range pod.Spec.Containers {
		if err := m.container(&pod.Spec.Containers[i], false); err != nil {
			return nil, err
		}
	}
	pod.Spec.Volumes = []corev1.Volume{{Name: fixtures.DefaultVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	no := false
	pod.Spec.AutomountServiceAccountToken = &no
	if slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c corev1.Container) bool {
		return c.Lifecycle != nil && c.Lifecycle.StopSignal != nil
	}) {
		pod.Spec.OS = &corev1.PodOS{Name: corev1.Linux} // the API server takes no signal without it
	}
	if m.quick {
		m.note("every probe may take %d s", leastTimeout)
	}
	pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	pod.ObjectMeta = metav1.ObjectMeta{Name: nameOf(pod)}
	pod.Status = corev1.PodStatus{}
	return m, t.others(m.there)
}

// nameOf is the name of the Pod, as the name of a folder may be.
func nameOf(pod *corev1.Pod) string {
	name := pod.Name
	if name == "" {
		name = pod.GenerateName
	}
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	if len(words) == 0 {
		return "pod"
	}
	return strings.Join(words, "-")
}

// isSidecar reports whether an init container is one.
func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// again reports whether a regular container is started again when it has ended with 0.
func again(pod *corev1.Pod, c *corev1.Container) bool {
	policy := pod.Spec.RestartPolicy
	if c.RestartPolicy != nil {
		policy = corev1.RestartPolicy(*c.RestartPolicy)
	}
	return policy == "" || policy == corev1.RestartPolicyAlways || len(c.RestartPolicyRules) > 0
}

// usual is what the main process of a container does where nothing was told.
func (m *maker) usual(c *corev1.Container, init bool) []setting {
	switch {
	case init && !isSidecar(c):
		return []setting{{"ticks", "2"}, {"every", "500ms"}, {"idle", "0s"}}
	case !init && !again(m.pod, c):
		return []setting{{"ticks", "4"}, {"every", "500ms"}, {"idle", "0s"}}
	}
	return []setting{{"idle", forever}}
}

func (m *maker) container(c *corev1.Container, init bool) error {
	main, err := m.does(c.Name, trace.Main, mainProcess, m.usual(c, init)...)
	if err != nil {
		return err
	}
	l := listeners{maker: m}
	if err := m.hooks(c, &l); err != nil {
		return err
	}
	for _, p := range []struct {
		actor trace.Actor
		*corev1.Probe
	}{{trace.StartupProbe, c.StartupProbe}, {trace.ReadinessProbe, c.ReadinessProbe}, {trace.LivenessProbe, c.LivenessProbe}} {
		if p.Probe == nil {
			continue
		}
		if err := m.probe(c.Name, p.actor, p.Probe, &l); err != nil {
			return err
		}
	}
	c.Image, c.ImagePullPolicy = image.RecorderRef, corev1.PullIfNotPresent
	c.Command = append(command(c.Name, trace.Main, main), l.flags()...)
	c.VolumeMounts = []corev1.VolumeMount{{Name: fixtures.DefaultVolume, MountPath: logFolder}}
	return nil
}

// does notes what an actor does.
func (m *maker) does(container string, actor trace.Actor, is kind, usual ...setting) ([]setting, error) {
	w := who{container, actor}
	all, err := m.told.of(w, is, usual...)
	m.acts[w] = all
	m.there = append(m.there, w)
	return all, err
}

func (m *maker) note(format string, args ...any) {
	m.notes = append(m.notes, fmt.Sprintf(format, args...))
}

// hook is what a hook does where nothing was told.
var hook = []setting{{"ticks", "2"}, {"every", "250ms"}}

func (m *maker) hooks(c *corev1.Container, l *listeners) error {
	if c.Lifecycle == nil {
		return nil
	}
	for _, h := range []struct {
		actor trace.Actor
		*corev1.LifecycleHandler
	}{{trace.PostStart, c.Lifecycle.PostStart}, {trace.PreStop, c.Lifecycle.PreStop}} {
		if h.LifecycleHandler == nil || h.Sleep != nil { // the kubelet itself sleeps
			continue
		}
		if h.HTTPGet != nil && h.actor == trace.PreStop {
			all, err := m.does(c.Name, h.actor, hookRequest, hook...)
			if err != nil {
				return err
			}
			h.HTTPGet = l.request(h.HTTPGet.Scheme, h.actor, all)
			continue
		}
		if h.Exec == nil {
			m.note("the postStart hook of %s runs a command: a request could come before anybody answers", c.Name)
		}
		all, err := m.does(c.Name, h.actor, hookCommand, hook...)
		if err != nil {
			return err
		}
		*h.LifecycleHandler = corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: command(c.Name, h.actor, all)}}
	}
	return nil
}

func (m *maker) probe(container string, actor trace.Actor, p *corev1.Probe, l *listeners) error {
	if p.TimeoutSeconds < leastTimeout {
		p.TimeoutSeconds = leastTimeout
		m.quick = true
	}
	is := probeRequest
	switch {
	case p.Exec != nil:
		is = probeCommand
	case p.TCPSocket != nil:
		is = probeConnection
	case p.HTTPGet == nil && p.GRPC == nil:
		return fmt.Errorf("container %s: its %s has no exec, httpGet, tcpSocket or grpc", container, actor)
	}
	all, err := m.does(container, actor, is)
	if err != nil {
		return err
	}
	switch {
	case p.Exec != nil:
		p.Exec = &corev1.ExecAction{Command: command(container, actor, all)}
	case p.HTTPGet != nil:
		p.HTTPGet = l.request(p.HTTPGet.Scheme, actor, all)
	case p.GRPC != nil:
		service := subcommand(actor) + query(actor, all)
		if len(service) >= 128 {
			return errors.New(container + "/" + string(actor) + ": a gRPC probe takes fewer settings: its recorder reads names of services of up to 127 bytes")
		}
		p.GRPC = &corev1.GRPCAction{Port: l.at("grpc", ""), Service: &service}
	default:
		port := l.port // where nobody answers, if it is to fail
		if number(all, "exit") == 0 {
			port = l.at("tcp", subcommand(actor))
		} else {
			l.port++
		}
		p.TCPSocket = &corev1.TCPSocketAction{Port: intstr.FromInt32(port)}
	}
	return nil
}

// listeners are where the recorder of a container answers.
type listeners struct {
	*maker
	all []listener
}

type listener struct {
	kind, actor string // the actor of a connection that brings no request
	port        int32
}

// at returns the port of a listener, which is made if there is none of the kind yet.
func (l *listeners) at(kind, actor string) int32 {
	for _, x := range l.all {
		if x.kind == kind && x.actor == actor {
			return x.port
		}
	}
	l.all = append(l.all, listener{kind, actor, l.port})
	l.port++
	return l.port - 1
}

// request is a request to the recorder of the container.
func (l *listeners) request(scheme corev1.URIScheme, actor trace.Actor, all []setting) *corev1.HTTPGetAction {
	kind := "http"
	if scheme == corev1.URISchemeHTTPS {
		kind = "https"
	}
	return &corev1.HTTPGetAction{Path: path.Join("/", subcommand(actor)) + query(actor, all), Port: intstr.FromInt32(l.at(kind, "")), Scheme: scheme}
}

func (l *listeners) flags() (out []string) {
	for _, x := range l.all {
		address := fmt.Sprintf("%s=:%d", x.kind, x.port)
		if x.actor != "" {
			address += "," + x.actor
		}
		out = append(out, "-listen", address)
	}
	return out
}

// subcommand is the name of an actor in commands and requests.
func subcommand(a trace.Actor) string { return strings.ReplaceAll(string(a), " ", "-") }

// command is how the recorder is called as an actor.
func command(container string, a trace.Actor, all []setting) []string {
	out := []string{"recorder", subcommand(a), "-container", container, "-log", logFile}
	for _, s := range all {
		out = append(out, "-"+s.key, s.value)
	}
	return out
}

// query are the settings of an actor that is a request.
func query(a trace.Actor, all []setting) string {
	var words []string
	for _, s := range all {
		switch {
		case s.key != "exit":
			words = append(words, s.key+"="+url.QueryEscape(s.value))
		case s.value == "0":
		case a == trace.PostStart || a == trace.PreStop:
			words = append(words, "drop=true") // any answer would be a success
		default:
			words = append(words, "status=503")
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "?" + strings.Join(words, "&")
}
