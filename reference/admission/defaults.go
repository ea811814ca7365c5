package admission

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// complete returns the Pod with the defaults of the API where it leaves something out
// (pkg/apis/core/v1/defaults.go, SetDefaults_Pod and those of its parts).
func complete(of *corev1.Pod) *corev1.Pod {
	pod := of.DeepCopy()
	s := &pod.Spec
	s.RestartPolicy = cmp.Or(s.RestartPolicy, corev1.RestartPolicyAlways)
	s.DNSPolicy = cmp.Or(s.DNSPolicy, corev1.DNSClusterFirst)
	s.SchedulerName = cmp.Or(s.SchedulerName, corev1.DefaultSchedulerName)
	s.ServiceAccountName = cmp.Or(s.ServiceAccountName, s.DeprecatedServiceAccount)
	s.DeprecatedServiceAccount = s.ServiceAccountName
	set(&s.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	set(&s.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	set(&s.SecurityContext, corev1.PodSecurityContext{})
	for i := range s.Volumes {
		completeVolume(&s.Volumes[i].VolumeSource)
	}
	for _, list := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for i := range list {
			completeContainer(&list[i], s.HostNetwork)
		}
	}
	return pod
}

// set fills a field in that is left out.
func set[T any](field **T, to T) {
	if *field == nil {
		*field = &to
	}
}

func completeContainer(c *corev1.Container, hostNetwork bool) {
	c.ImagePullPolicy = cmp.Or(c.ImagePullPolicy, pullPolicy(c.Image))
	c.TerminationMessagePath = cmp.Or(c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	c.TerminationMessagePolicy = cmp.Or(c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for name, limit := range c.Resources.Limits {
		if _, there := c.Resources.Requests[name]; !there {
			if c.Resources.Requests == nil {
				c.Resources.Requests = corev1.ResourceList{}
			}
			c.Resources.Requests[name] = limit
		}
	}
	c.ResizePolicy = slices.DeleteFunc(c.ResizePolicy, func(p corev1.ContainerResizePolicy) bool { return p.RestartPolicy == corev1.NotRequired })
	for i := range c.Ports {
		p := &c.Ports[i]
		p.Protocol = cmp.Or(p.Protocol, corev1.ProtocolTCP)
		if hostNetwork {
			p.HostPort = cmp.Or(p.HostPort, p.ContainerPort)
		}
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil && from.FieldRef != nil {
			from.FieldRef.APIVersion = cmp.Or(from.FieldRef.APIVersion, "v1")
		}
	}
	for _, p := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		if p == nil {
			continue
		}
		p.TimeoutSeconds, p.PeriodSeconds = cmp.Or(p.TimeoutSeconds, 1), cmp.Or(p.PeriodSeconds, 10)
		p.SuccessThreshold, p.FailureThreshold = cmp.Or(p.SuccessThreshold, 1), cmp.Or(p.FailureThreshold, 3)
		completeGet(p.HTTPGet)
		if p.GRPC != nil {
			set(&p.GRPC.Service, "")
		}
	}
	if c.Lifecycle != nil && *c.Lifecycle == (corev1.Lifecycle{}) {
		c.Lifecycle = nil
	}
	if c.Lifecycle == nil {
		return
	}
	for _, h := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
		if h != nil {
			completeGet(h.HTTPGet)
		}
	}
}

func completeGet(h *corev1.HTTPGetAction) {
	if h != nil {
		h.Path, h.Scheme = cmp.Or(h.Path, "/"), cmp.Or(h.Scheme, corev1.URISchemeHTTP)
		// Only an API server with the feature gate H2CContainerProbe writes the default.
		if h.Protocol != nil && *h.Protocol == corev1.HTTPProtocolHTTP1 {
			h.Protocol = nil
		}
	}
}

// pullPolicy is Always for the tag latest, which is that of an image without tag and digest.
func pullPolicy(image string) corev1.PullPolicy {
	if strings.Contains(image, "@") {
		return corev1.PullIfNotPresent
	}
	_, tag, tagged := strings.Cut(image[strings.LastIndexByte(image, '/')+1:], ":")
	if !tagged || tag == "latest" {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func completeVolume(v *corev1.VolumeSource) {
	if *v == (corev1.VolumeSource{}) {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	const mode = corev1.ConfigMapVolumeSourceDefaultMode // the same for all four
	var files []corev1.DownwardAPIVolumeFile
	switch {
	case v.HostPath != nil:
		set(&v.HostPath.Type, corev1.HostPathUnset)
	case v.Secret != nil:
		set(&v.Secret.DefaultMode, mode)
	case v.ConfigMap != nil:
		set(&v.ConfigMap.DefaultMode, mode)
	case v.DownwardAPI != nil:
		set(&v.DownwardAPI.DefaultMode, mode)
		files = v.DownwardAPI.Items
	case v.Image != nil:
		v.Image.PullPolicy = cmp.Or(v.Image.PullPolicy, pullPolicy(v.Image.Reference))
	case v.Projected != nil:
		set(&v.Projected.DefaultMode, mode)
		for _, from := range v.Projected.Sources {
			if from.ServiceAccountToken != nil {
				set(&from.ServiceAccountToken.ExpirationSeconds, 3600)
			}
			if from.DownwardAPI != nil {
				files = append(files, from.DownwardAPI.Items...)
			}
		}
	}
	for _, f := range files {
		if f.FieldRef != nil {
			f.FieldRef.APIVersion = cmp.Or(f.FieldRef.APIVersion, "v1")
		}
	}
}

// tokenPath is where the token of the service account is mounted, and tokenVolume how the name of its
// volume begins (plugin/pkg/admission/serviceaccount/admission.go).
const (
	tokenPath   = "/var/run/secrets/kubernetes.io/serviceaccount"
	tokenVolume = "kube-api-access-"
)

// ordinary takes from an admitted Pod what it has from the admission plugins that are on in every API
// server, from the scheduler, from the controller that made it, and from who pins it to a node, and what
// the manifest does not say itself.
func ordinary(admitted, applied *corev1.Pod) {
	got, want := &admitted.Spec, &applied.Spec
	got.NodeName, got.Priority, got.PreemptionPolicy = want.NodeName, want.Priority, want.PreemptionPolicy
	if want.ServiceAccountName == "" && got.ServiceAccountName == "default" {
		got.ServiceAccountName, got.DeprecatedServiceAccount = "", ""
	}
	got.Tolerations = slices.DeleteFunc(got.Tolerations, func(t corev1.Toleration) bool {
		return (t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable) && t.Effect == corev1.TaintEffectNoExecute &&
			!slices.ContainsFunc(want.Tolerations, func(o corev1.Toleration) bool { return o.Key == t.Key })
	})
	got.Volumes = slices.DeleteFunc(got.Volumes, func(v corev1.Volume) bool {
		return strings.HasPrefix(v.Name, tokenVolume) && v.Projected != nil
	})
	for _, list := range [][]corev1.Container{got.InitContainers, got.Containers} {
		for i := range list {
			list[i].VolumeMounts = slices.DeleteFunc(list[i].VolumeMounts, func(m corev1.VolumeMount) bool {
				return strings.HasPrefix(m.Name, tokenVolume) && m.MountPath == tokenPath
			})
		}
	}
	if _, mirror := admitted.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		mirrored(admitted, applied)
	}
	if _, there := want.NodeSelector[corev1.LabelHostname]; !there {
		delete(got.NodeSelector, corev1.LabelHostname)
	}
	controlled := slices.ContainsFunc(admitted.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Controller != nil && *o.Controller })
	if controlled {
		got.Hostname, got.Subdomain = want.Hostname, want.Subdomain // of a StatefulSet, or an indexed Job
	}
	for _, of := range []struct{ got, want map[string]string }{
		{admitted.Labels, applied.Labels}, {admitted.Annotations, applied.Annotations},
	} {
		for key := range of.got {
			domain, _, _ := strings.Cut(key, "/")
			if _, there := of.want[key]; there {
				continue
			}
			if domain == "topology.kubernetes.io" || controlled && (slices.Contains(controllerKeys, key) || slices.Contains(controllerDomains, domain)) {
				delete(of.got, key)
			}
		}
	}
}

// mirrored takes from the mirror of a static Pod what its kubelet gave it (pkg/kubelet/config/common.go,
// applyDefaults, and pkg/kubelet/pod/mirror_client.go, CreateMirrorPod).
func mirrored(admitted, applied *corev1.Pod) {
	got, want := &admitted.Spec, &applied.Spec
	got.Tolerations = slices.DeleteFunc(got.Tolerations, func(t corev1.Toleration) bool {
		return t.Key == "" && t.Operator == corev1.TolerationOpExists && t.Effect == corev1.TaintEffectNoExecute && !slices.Contains(want.Tolerations, t)
	})
	for key := range admitted.Annotations {
		if _, there := applied.Annotations[key]; !there && strings.HasPrefix(key, "kubernetes.io/config.") {
			delete(admitted.Annotations, key)
		}
	}
}

// controllerKeys and controllerDomains are the labels and annotations that the controllers of
// Kubernetes' own workloads give to their Pods.
var (
	controllerKeys    = []string{"pod-template-hash", "pod-template-generation", "controller-revision-hash", "controller-uid", "job-name"}
	controllerDomains = []string{"apps.kubernetes.io", "batch.kubernetes.io", "statefulset.kubernetes.io"}
)
