package reference

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/rules"
)

// Kubelet is the version of a kubelet, its feature gates, and what the model
// knows of it.
type Kubelet = rules.Kubelet

// ParseKubelet reads a version such as v1.37.2.
func ParseKubelet(version string) (Kubelet, error) { return rules.ParseKubelet(version) }

// UnmodelledFields names the fields of a Pod that the model does not understand
// ("spec.hostPID"), sorted. None means that the Pod can be judged.
func UnmodelledFields(pod *corev1.Pod) []string {
	_, left := podspec.New(pod)
	return left
}

// SpecFieldBears reports whether a field of a Pod's spec, by its JSON name ("dnsPolicy"), may bear
// on the order of its containers: the model reads it, or does not know it.
func SpecFieldBears(name string) bool { return podspec.SpecFieldBears(name) }

// ContainerFieldBears is the same for a field of a container.
func ContainerFieldBears(name string) bool { return podspec.ContainerFieldBears(name) }
