package reference

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/manifest"
)

// ParsePod reads a manifest that holds exactly one v1 Pod, as YAML or JSON.
// A field that a Pod does not have is an error. It is [manifest.Pod].
func ParsePod(text []byte) (*corev1.Pod, error) { return manifest.Pod(text) }
