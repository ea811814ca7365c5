package reference

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/manifest"
)

// ParsePod reads a manifest that holds exactly one v1 Pod, as YAML or JSON.
// A field that a Pod does not have is an error. It is [manifest.Pod].
func ParsePod(text []byte) (*corev1.Pod, error) { return manifest.Pod(text) }

// ParsePodOf reads the Pod that a manifest holds, alone or as the template of a Deployment, a Job or the like. Where several
// objects hold one, which names the one that is meant, as kind/name. It is [manifest.PodOf].
func ParsePodOf(text []byte, which string) (*corev1.Pod, error) { return manifest.PodOf(text, which) }

// WritesAnnotation is the annotation of a Pod that says who of it writes to the shared log:
// containers ("app"), each with all processes that it declares, and single actors
// ("network/post start hook"), separated by commas. What it does not name writes nothing. A Pod
// without it is judged by its commands: one that names its own lines, or appends to the file in which
// others write, is taken to write.
const WritesAnnotation = podspec.WritesAnnotation

// WithWrites returns the Pod with the annotation in which the list says who writes.
func WithWrites(pod *corev1.Pod, list string) *corev1.Pod {
	pod = pod.DeepCopy()
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[WritesAnnotation] = list
	return pod
}
