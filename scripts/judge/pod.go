package main

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/podorder/podorder/reference/trace"
)

// podOf returns the Pod that a trace was recorded of, as the API server had
// accepted it: that of its first Pod object. It is nil if there is none.
func podOf(t *trace.Trace) *corev1.Pod {
	for _, e := range t.Entries {
		if e.Pod != nil {
			return e.Pod
		}
	}
	return nil
}

// changes names what differs between two Pods of what is run and of what bears on
// its order, in the words of the API. What the API server fills in is no
// difference, nor is an image, which may be renamed for a cluster.
func changes(was, is *corev1.Pod) []string {
	var list []string
	differs := func(field string, a, b any) {
		if !equality.Semantic.DeepEqual(a, b) {
			list = append(list, field)
		}
	}
	differs("spec.restartPolicy", cmp.Or(was.Spec.RestartPolicy, corev1.RestartPolicyAlways), cmp.Or(is.Spec.RestartPolicy, corev1.RestartPolicyAlways))
	grace, deadline := int64(corev1.DefaultTerminationGracePeriodSeconds), int64(0)
	differs("spec.terminationGracePeriodSeconds", or(was.Spec.TerminationGracePeriodSeconds, grace), or(is.Spec.TerminationGracePeriodSeconds, grace))
	differs("spec.activeDeadlineSeconds", or(was.Spec.ActiveDeadlineSeconds, deadline), or(is.Spec.ActiveDeadlineSeconds, deadline))
	for _, of := range []struct {
		field   string
		was, is []corev1.Container
	}{
		{"spec.initContainers", was.Spec.InitContainers, is.Spec.InitContainers},
		{"spec.containers", was.Spec.Containers, is.Spec.Containers},
	} {
		if !slices.EqualFunc(of.was, of.is, func(a, b corev1.Container) bool { return a.Name == b.Name }) {
			list = append(list, of.field)
			continue
		}
		for i := range of.was {
			a, b, at := of.was[i].DeepCopy(), of.is[i].DeepCopy(), fmt.Sprintf("%s[%d].", of.field, i)
			differs(at+"command", a.Command, b.Command)
			differs(at+"args", a.Args, b.Args)
			differs(at+"env", env(a.Env), env(b.Env))
			differs(at+"restartPolicy", a.RestartPolicy, b.RestartPolicy)
			differs(at+"restartPolicyRules", a.RestartPolicyRules, b.RestartPolicyRules)
			differs(at+"lifecycle", hooks(a.Lifecycle), hooks(b.Lifecycle))
			differs(at+"startupProbe", probe(a.StartupProbe), probe(b.StartupProbe))
			differs(at+"readinessProbe", probe(a.ReadinessProbe), probe(b.ReadinessProbe))
			differs(at+"livenessProbe", probe(a.LivenessProbe), probe(b.LivenessProbe))
		}
	}
	return list
}

// or is what a pointer points to, else what stands for nothing.
func or[T any](p *T, nothing T) T {
	if p == nil {
		return nothing
	}
	return *p
}

// hooks fills in what the API server does (pkg/apis/core/v1/defaults.go).
func hooks(l *corev1.Lifecycle) *corev1.Lifecycle {
	if l == nil || *l == (corev1.Lifecycle{}) {
		return nil
	}
	for _, h := range []*corev1.LifecycleHandler{l.PostStart, l.PreStop} {
		if h != nil {
			get(h.HTTPGet)
		}
	}
	return l
}

// probe does the same for a probe.
func probe(p *corev1.Probe) *corev1.Probe {
	if p == nil {
		return nil
	}
	p.TimeoutSeconds = cmp.Or(p.TimeoutSeconds, 1)
	p.PeriodSeconds = cmp.Or(p.PeriodSeconds, 10)
	p.SuccessThreshold = cmp.Or(p.SuccessThreshold, 1)
	p.FailureThreshold = cmp.Or(p.FailureThreshold, 3)
	get(p.HTTPGet)
	if p.GRPC != nil && p.GRPC.Service == nil {
		p.GRPC.Service = new(string)
	}
	return p
}

// env does the same for environment variables.
func env(list []corev1.EnvVar) []corev1.EnvVar {
	for i := range list {
		if from := list[i].ValueFrom; from != nil && from.FieldRef != nil {
			from.FieldRef.APIVersion = cmp.Or(from.FieldRef.APIVersion, "v1")
		}
	}
	return list
}

func get(h *corev1.HTTPGetAction) {
	if h != nil {
		h.Path, h.Scheme = cmp.Or(h.Path, "/"), cmp.Or(h.Scheme, corev1.URISchemeHTTP)
	}
}
