package admission_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/admission"
	"github.com/podorder/podorder/reference/trace"
)

// TestRecorded: of what eleven API servers made of a manifest nothing was somebody else's.
func TestRecorded(t *testing.T) {
	seen := 0
	for _, pattern := range []string{"article/*/*.trace.jsonl", "background-hook/*/trace.jsonl"} {
		paths, err := filepath.Glob(filepath.Join("..", "testdata", filepath.FromSlash(pattern)))
		assert.NilError(t, err)
		for _, path := range paths {
			manifest, err := os.ReadFile(filepath.Join(filepath.Dir(path), "pod.yaml"))
			assert.NilError(t, err)
			pod, err := reference.ParsePod(manifest)
			assert.NilError(t, err)
			f, err := os.Open(path)
			assert.NilError(t, err)
			tr, err := trace.Read(f)
			assert.NilError(t, err)
			assert.NilError(t, f.Close())
			assert.Check(t, is.Len(admission.Compare(pod, tr.Admitted()), 0), path)
			seen++
		}
	}
	assert.Assert(t, seen > 20, "only %d traces were found", seen)
}

const manifest = `
apiVersion: v1
kind: Pod
metadata:
  name: p
  labels: {app: p}
spec:
  terminationGracePeriodSeconds: 10
  initContainers:
  - {name: setup, image: "i:1"}
  containers:
  - name: app
    image: i:1
    command: [run]
    env: [{name: A, value: a}]
    lifecycle: {preStop: {exec: {command: [stop]}}}
    readinessProbe: {exec: {command: [ready]}}
    volumeMounts: [{name: log, mountPath: /log}]
  - {name: other, image: i}
  volumes: [{name: log, emptyDir: {}}]
`

// TestCompare makes one change at a time.
func TestCompare(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	five, yes := int64(5), true
	tests := []struct {
		name   string
		change func(p *corev1.Pod)
		want   string
		weight admission.Weight
	}{
		{"nothing", func(*corev1.Pod) {}, "", 0},
		{"what every API server sets", func(p *corev1.Pod) {
			p.UID, p.ResourceVersion, p.Status.Phase = "u", "1", corev1.PodPending
			p.Spec.ServiceAccountName, p.Spec.DeprecatedServiceAccount, p.Spec.NodeName = "default", "default", "n"
			p.Spec.Priority = new(int32)
			p.Spec.EnableServiceLinks = &yes
			p.Spec.DNSPolicy = corev1.DNSClusterFirst
			for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
				p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &five})
			}
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "kube-api-access-x", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}})
			p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "kube-api-access-x", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"})
			p.Spec.Containers[0].ReadinessProbe.PeriodSeconds = 10
			p.Spec.Containers[1].ImagePullPolicy = corev1.PullAlways
		}, "", 0},
		{"the mirror of a static Pod", func(p *corev1.Pod) {
			p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x", "kubernetes.io/config.source": "file"}
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "Node", Controller: &yes}}
			p.Spec.NodeName = "n"
			p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}}
		}, "", 0},
		{"what the harness and a controller set", func(p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "n"}
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", Controller: &yes}}
			p.Labels["statefulset.kubernetes.io/pod-name"], p.Labels["controller-revision-hash"] = "p-0", "x"
			p.Spec.Hostname, p.Spec.Subdomain = "p-0", "s"
		}, "", 0},
		{"a sidecar in front", func(p *corev1.Pod) {
			p.Spec.InitContainers = append([]corev1.Container{{Name: "mesh-proxy", RestartPolicy: &always}}, p.Spec.InitContainers...)
		}, "admission added: initContainers[mesh-proxy]", admission.Order},
		{"a container in front", func(p *corev1.Pod) {
			p.Spec.Containers = append([]corev1.Container{{Name: "agent"}}, p.Spec.Containers...)
		}, "admission added: containers[agent]", admission.Order},
		{"a container of the manifest elsewhere", func(p *corev1.Pod) {
			p.Spec.Containers[0], p.Spec.Containers[1] = p.Spec.Containers[1], p.Spec.Containers[0]
		}, "admission changed: order of containers", admission.Case},
		{"a container less", func(p *corev1.Pod) { p.Spec.Containers = p.Spec.Containers[:1] }, "admission removed: containers[other]", admission.Case},
		{"another command", func(p *corev1.Pod) { p.Spec.Containers[0].Command = []string{"wrap", "run"} }, "admission changed: containers[app].command", admission.Case},
		{"arguments", func(p *corev1.Pod) { p.Spec.Containers[1].Args = []string{"x"} }, "admission added: containers[other].args", admission.Case},
		{"a hook", func(p *corev1.Pod) {
			p.Spec.Containers[0].Lifecycle.PostStart = &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 1}}
		}, "admission added: containers[app].lifecycle.postStart", admission.Case},
		{"another period of a probe", func(p *corev1.Pod) { p.Spec.Containers[0].ReadinessProbe.PeriodSeconds = 5 }, "admission changed: containers[app].readinessProbe.periodSeconds", admission.Case},
		{"a sidecar of what was an init container", func(p *corev1.Pod) { p.Spec.InitContainers[0].RestartPolicy = &always }, "admission added: initContainers[setup].restartPolicy", admission.Case},
		{"another restart policy", func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever }, "admission changed: spec.restartPolicy", admission.Case},
		{"another grace period", func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = &five }, "admission changed: spec.terminationGracePeriodSeconds", admission.Order},
		{"a field that the model does not know", func(p *corev1.Pod) { p.Spec.ShareProcessNamespace = &yes }, "admission added: spec.shareProcessNamespace", admission.Order},
		{"labels and annotations", func(p *corev1.Pod) {
			p.Labels["mesh.example.com/injected"], p.Labels["app"] = "true", "q"
			p.Annotations = map[string]string{"status": "injected"}
		}, "admission added: metadata.labels[mesh.example.com/injected], metadata.annotations.status; changed: metadata.labels.app", admission.Nothing},
		{"variables", func(p *corev1.Pod) {
			p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "HOST", Value: "h"}, {Name: "A", Value: "b"}}
		}, "admission added: containers[app].env[HOST]; changed: containers[app].env[A].value", admission.Nothing},
		{"volumes", func(p *corev1.Pod) {
			p.Spec.Volumes = append([]corev1.Volume{{Name: "certs"}}, p.Spec.Volumes...)
			p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "certs", MountPath: "/certs"})
		}, "admission added: containers[app].volumeMounts[certs], spec.volumes[certs]", admission.Nothing},
		{"a LimitRange", func(p *corev1.Pod) {
			p.Spec.Containers[1].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		}, "admission added: containers[other].resources", admission.Nothing},
		{"another image, and always pulled", func(p *corev1.Pod) {
			p.Spec.Containers[0].Image, p.Spec.Containers[0].ImagePullPolicy = "mirror/i:1", corev1.PullAlways
		}, "admission changed: containers[app].image, containers[app].imagePullPolicy", admission.Nothing},
		{"name servers", func(p *corev1.Pod) {
			p.Spec.DNSPolicy, p.Spec.DNSConfig = corev1.DNSNone, &corev1.PodDNSConfig{Nameservers: []string{"1.1.1.1"}}
		}, "admission added: spec.dnsConfig; changed: spec.dnsPolicy", admission.Nothing},
		{"many labels", func(p *corev1.Pod) {
			for _, key := range strings.Split("abcdefghij", "") {
				p.Labels[key] = key
			}
		}, "admission added: metadata.labels.a, metadata.labels.b, metadata.labels.c, metadata.labels.d, metadata.labels.e, metadata.labels.f, metadata.labels.g, metadata.labels.h, 2 more", admission.Nothing},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want, err := reference.ParsePod([]byte(manifest))
			assert.NilError(t, err)
			got := want.DeepCopy()
			tt.change(got)
			before := got.DeepCopy()
			c := admission.Compare(want, got)
			assert.Equal(t, c.String(), tt.want)
			assert.DeepEqual(t, got, before)
			assert.Check(t, is.Len(c.Of(tt.weight), len(c)), "%v", c)
		})
	}
}

// TestAddedContainers: those of a manifest are never taken for added ones, wherever they stand.
func TestAddedContainers(t *testing.T) {
	cases, err := fixtures.All()
	assert.NilError(t, err)
	for _, c := range cases {
		pod := c.Pod()
		assert.Check(t, is.Len(admission.Compare(pod, pod), 0), c.ID)
		more := c.Pod()
		more.Spec.InitContainers = append([]corev1.Container{{Name: "in-front"}}, more.Spec.InitContainers...)
		more.Spec.Containers = append([]corev1.Container{{Name: "added-first"}}, append(more.Spec.Containers, corev1.Container{Name: "added-last"})...)
		assert.DeepEqual(t, admission.Compare(pod, more).Containers(), []string{"in-front", "added-first", "added-last"})
		assert.DeepEqual(t, admission.Compare(pod, more).List(), []string{"added initContainers[in-front]", "added containers[added-first]", "added containers[added-last]"})
	}
}
