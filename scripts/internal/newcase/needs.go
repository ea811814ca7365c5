package newcase

import (
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// What a Pod and its containers need of a cluster, by their names in a manifest. It does not bear on
// the order of the containers, or nobody in a namespace of its own provides it. Whatever else a
// Pod has stays, and the model says whether it knows it.
var (
	needsOfPod = []string{
		"volumes", "nodeSelector", "serviceAccountName", "serviceAccount", "automountServiceAccountToken", "nodeName", "hostNetwork",
		"hostPID", "hostIPC", "hostUsers", "securityContext", "imagePullSecrets", "hostname", "subdomain", "affinity", "schedulerName",
		"tolerations", "hostAliases", "priorityClassName", "priority", "dnsPolicy", "dnsConfig", "readinessGates", "runtimeClassName",
		"enableServiceLinks", "preemptionPolicy", "overhead", "topologySpreadConstraints", "setHostnameAsFQDN", "os",
		"schedulingGates", "resourceClaims", "resources", "hostnameOverride", "schedulingGroup", "ephemeralContainers",
	}
	needsOfContainer = []string{
		"workingDir", "ports", "envFrom", "env", "resources", "resizePolicy", "volumeMounts", "volumeDevices", "terminationMessagePath",
		"terminationMessagePolicy", "imagePullPolicy", "securityContext", "stdin", "stdinOnce", "tty",
	}
	// replaced are those for which there is something else in their place.
	replaced = []string{"image", "command", "args"}
	// defaulted are those that any Pod has that went through an API server. Nobody asked for them.
	defaulted = []string{"schedulerName", "dnsPolicy", "enableServiceLinks", "preemptionPolicy", "priority", "serviceAccount", "terminationMessagePath", "terminationMessagePolicy", "imagePullPolicy", "automountServiceAccountToken"}
)

// strip sets fields of a struct to zero and returns the names of those that were not.
func strip(ptr any, names []string) (gone []string) {
	v := reflect.ValueOf(ptr).Elem()
	for _, field := range reflect.VisibleFields(v.Type()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if f := v.FieldByIndex(field.Index); slices.Contains(names, name) && !f.IsZero() {
			f.SetZero()
			gone = append(gone, name)
		}
	}
	return gone
}

// withoutNeeds takes from a Pod what it needs of a cluster, and returns what that was.
func withoutNeeds(pod *corev1.Pod) (gone []string) {
	gone = strip(&pod.Spec, needsOfPod)
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			gone = append(gone, strip(&list[i], needsOfContainer)...)
			strip(&list[i], replaced)
		}
	}
	for name, set := range map[string]bool{"labels": len(pod.Labels) > 0, "annotations": len(pod.Annotations) > 0} {
		if set {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	return slices.DeleteFunc(slices.Compact(gone), func(name string) bool { return slices.Contains(defaulted, name) })
}
