package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"
)

// workload is a kind of object that holds a Pod or a Pod template.
type workload struct {
	apiVersion, kind string
	// policies are the restart policies that its template may have: the API server refuses any other
	// (pkg/apis/apps/validation, pkg/apis/batch/validation). Empty where each is good. The first
	// one is the default, but for Jobs, which have none.
	policies  []corev1.RestartPolicy
	noDefault bool
	// template is the path of the template; empty for a Pod, which is none.
	template string
	// read reads an object of this kind, and returns the Pod that it holds. What is unknown are the fields that the
	// kind does not have.
	read func(raw []byte) (pod *corev1.Pod, unknown []error, err error)
}

var (
	always  = []corev1.RestartPolicy{corev1.RestartPolicyAlways}
	toAnEnd = []corev1.RestartPolicy{corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever}
)

var workloads = []workload{
	{"v1", "Pod", nil, false, "", func(raw []byte) (*corev1.Pod, []error, error) {
		pod := new(corev1.Pod)
		unknown, err := kjson.UnmarshalStrict(raw, pod)
		return pod, unknown, err
	}},
	{"v1", "PodTemplate", nil, false, "template", from(func(o *corev1.PodTemplate) *corev1.PodTemplateSpec { return &o.Template })},
	{"v1", "ReplicationController", always, false, "spec.template", from(func(o *corev1.ReplicationController) *corev1.PodTemplateSpec { return o.Spec.Template })},
	{"apps/v1", "Deployment", always, false, "spec.template", from(func(o *appsv1.Deployment) *corev1.PodTemplateSpec { return &o.Spec.Template })},
	{"apps/v1", "ReplicaSet", always, false, "spec.template", from(func(o *appsv1.ReplicaSet) *corev1.PodTemplateSpec { return &o.Spec.Template })},
	{"apps/v1", "StatefulSet", always, false, "spec.template", from(func(o *appsv1.StatefulSet) *corev1.PodTemplateSpec { return &o.Spec.Template })},
	{"apps/v1", "DaemonSet", always, false, "spec.template", from(func(o *appsv1.DaemonSet) *corev1.PodTemplateSpec { return &o.Spec.Template })},
	{"batch/v1", "Job", toAnEnd, true, "spec.template", from(func(o *batchv1.Job) *corev1.PodTemplateSpec { return &o.Spec.Template })},
	{"batch/v1", "CronJob", toAnEnd, true, "spec.jobTemplate.spec.template", from(func(o *batchv1.CronJob) *corev1.PodTemplateSpec { return &o.Spec.JobTemplate.Spec.Template })},
}

// from reads an object and makes the Pod of its template, as the controllers do
// (pkg/controller/controller_utils.go, GetPodFromTemplate).
func from[T any](template func(*T) *corev1.PodTemplateSpec) func([]byte) (*corev1.Pod, []error, error) {
	return func(raw []byte) (*corev1.Pod, []error, error) {
		o, pod := new(T), new(corev1.Pod)
		unknown, err := kjson.UnmarshalStrict(raw, o)
		if t := template(o); err == nil && t != nil {
			pod.ObjectMeta, pod.Spec = t.ObjectMeta, t.Spec
		}
		return pod, unknown, err
	}
}

// builtIn are the groups of the API, present and past, that have such kinds. A custom resource of
// another group is something else, whatever its kind is called.
var builtIn = []string{"", "apps", "batch", "extensions"}

// workloadOf returns the kind that an object is of, if it may hold a Pod. One that is written for
// another version of the API, or for none, is of its kind as well; it is refused when it is read.
func workloadOf(o object) (workload, bool) {
	i := slices.IndexFunc(workloads, func(w workload) bool { return w.kind == o.Kind && slices.Contains(builtIn, o.group()) })
	if i < 0 {
		return workload{}, false
	}
	return workloads[i], true
}

// pod reads the Pod that the object holds, with the defaults and the limits of its controller.
func (w workload) pod(o object) (*corev1.Pod, error) {
	if o.APIVersion != w.apiVersion {
		return nil, fmt.Errorf("apiVersion %q; a %s is read as %s, so write that", o.APIVersion, w.kind, w.apiVersion)
	}
	pod, unknown, err := w.read(o.raw)
	switch {
	case err != nil:
		return nil, fmt.Errorf("not a %s of %s: %w", w.kind, w.apiVersion, err)
	case len(unknown) > 0:
		return nil, misplaced(unknown[0], w.kind+" of "+w.apiVersion)
	}
	at := "spec"
	if w.template != "" {
		at = w.template + ".spec"
	}
	if err := containers(pod, at); err != nil {
		return nil, err
	}
	pod.APIVersion, pod.Kind = "v1", "Pod"
	if w.template == "" {
		return pod, nil
	}
	s := &pod.Spec
	if s.RestartPolicy == "" && w.policies != nil && !w.noDefault {
		s.RestartPolicy = w.policies[0]
	}
	switch {
	case len(s.EphemeralContainers) > 0:
		return nil, fmt.Errorf("field %s.ephemeralContainers: a template has none; they are added to a Pod that runs", at)
	case s.RestartPolicy == "" && w.noDefault:
		return nil, fmt.Errorf("field %s.restartPolicy: empty; a %s takes %s", at, w.kind, policies(w.policies))
	case w.policies != nil && !slices.Contains(w.policies, s.RestartPolicy):
		return nil, fmt.Errorf("field %s.restartPolicy: %q; a %s takes only %s", at, s.RestartPolicy, w.kind, policies(w.policies))
	case s.ActiveDeadlineSeconds != nil && slices.Equal(w.policies, always):
		return nil, fmt.Errorf("field %s.activeDeadlineSeconds: a %s does not take it", at, w.kind)
	}
	// The name of the Pod begins with that of the object.
	pod.Name, pod.Namespace = cmp.Or(pod.Name, o.name()), cmp.Or(pod.Namespace, o.Metadata.Namespace)
	return pod, nil
}

func policies(list []corev1.RestartPolicy) string {
	var names []string
	for _, p := range list {
		names = append(names, string(p))
	}
	return strings.Join(names, " or ")
}

// containers checks that a Pod has containers, and that no two of them have the same name; at is the path of its spec.
func containers(pod *corev1.Pod, at string) error {
	if len(pod.Spec.Containers) == 0 {
		return fmt.Errorf("field %s.containers: empty; a Pod has at least one container", at)
	}
	return names(pod, at)
}

// ErrWhich is the error of [PodOf] for a text that does not say which Pod is meant.
var ErrWhich = errors.New("more than one object holds a Pod")

// PodOf returns the Pod that a text holds, which may be that of a template: of a Deployment, StatefulSet, DaemonSet, ReplicaSet,
// Job, CronJob, ReplicationController or PodTemplate. Other objects may stand beside it and are not looked at. Where several
// hold a Pod, which names the one that is meant, as kind/name or namespace/kind/name; otherwise it may be empty.
func PodOf(text []byte, which string) (*corev1.Pod, error) {
	all, err := objects(text)
	switch {
	case err != nil:
		return nil, err
	case len(all) == 0:
		return nil, errors.New("no object; write a v1 Pod here, or an object with a Pod template")
	}
	var meant []object
	for _, o := range all {
		if _, ok := workloadOf(o); ok {
			meant = append(meant, o)
		}
	}
	holders := meant
	if which != "" {
		meant = slices.DeleteFunc(slices.Clone(all), func(o object) bool { return !o.is(which) })
		switch {
		case len(meant) == 0 && len(holders) == 0:
			return nil, fmt.Errorf("no object is %s, and none holds a Pod; there %s", which, areAll(all))
		case len(meant) == 0:
			return nil, fmt.Errorf("no object is %s; those that hold a Pod: %s", which, listed(holders))
		}
	}
	switch {
	case len(meant) == 0:
		return nil, fmt.Errorf("no object holds a Pod or a Pod template; there %s", areAll(all))
	case len(meant) > 1 && which != "":
		return nil, fmt.Errorf("%d objects are %s: %s; name one as namespace/kind/name", len(meant), which, listed(meant))
	case len(meant) > 1:
		return nil, fmt.Errorf("%w: %s; say which one is meant, as kind/name", ErrWhich, listed(meant))
	}
	w, ok := workloadOf(meant[0])
	if !ok {
		return nil, fmt.Errorf("%s holds no Pod; those that do: %s", meant[0], cmp.Or(listed(holders), "none"))
	}
	pod, err := w.pod(meant[0])
	if err != nil && (len(all) > 1 || w.template != "") {
		err = fmt.Errorf("%s: %w", meant[0], err)
	}
	return pod, err
}
