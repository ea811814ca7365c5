package podspec

import (
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// SpecFieldBears reports whether a field of a Pod's spec, by its JSON name ("dnsPolicy"), may bear
// on the order of its containers: the model reads it, or does not know it.
func SpecFieldBears(name string) bool {
	return bears(reflect.TypeFor[corev1.PodSpec](), irrelevantInPod, name)
}

// ContainerFieldBears is the same for a field of a container.
func ContainerFieldBears(name string) bool {
	return bears(reflect.TypeFor[corev1.Container](), irrelevantInContainer, name)
}

func bears(of reflect.Type, irrelevant []string, name string) bool {
	for _, field := range reflect.VisibleFields(of) {
		if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag == name {
			return !slices.Contains(irrelevant, field.Name)
		}
	}
	return true
}
