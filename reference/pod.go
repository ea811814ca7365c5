package reference

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/manifest"
)

// ParsePod reads a manifest that holds exactly one v1 Pod, as YAML or JSON.
// A field that a Pod does not have is an error. It is [manifest.Pod].
func ParsePod(text []byte) (*corev1.Pod, error) { return manifest.Pod(text) }

// ParsePodOf reads the Pod that a manifest holds, alone or as the template of a Deployment, a Job or the like. Where several
// objects hold one, which names the one that is meant, as kind/name. It is [manifest.PodOf].
func ParsePodOf(text []byte, which string) (*corev1.Pod, error) { return manifest.PodOf(text, which) }
