package kubelet

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Manifest returns the Pod as a manifest would give it.
func (p Pod) Manifest() *corev1.Pod {
	p = p.withDefaults()
	grace := int64(p.Grace)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "simulated"}, Spec: corev1.PodSpec{RestartPolicy: p.Policy, TerminationGracePeriodSeconds: &grace}}
	if p.Deadline > 0 {
		deadline := int64(p.Deadline)
		pod.Spec.ActiveDeadlineSeconds = &deadline
	}
	for _, c := range p.Init {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c.manifest())
	}
	for _, c := range p.Containers {
		pod.Spec.Containers = append(pod.Spec.Containers, c.manifest())
	}
	return pod
}

func (c Container) manifest() corev1.Container {
	spec := corev1.Container{
		Name: c.Name, Image: image, RestartPolicy: (*corev1.ContainerRestartPolicy)(c.Policy),
		StartupProbe: c.Startup.manifest("startup"), ReadinessProbe: c.Readiness.manifest("readiness"), LivenessProbe: c.Liveness.manifest("liveness"),
	}
	if c.Sidecar {
		always := corev1.ContainerRestartPolicyAlways
		spec.RestartPolicy = &always
	}
	for _, r := range c.Rules {
		rule := corev1.ContainerRestartRule{Action: corev1.ContainerRestartRuleActionRestart, ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{int32(r.Code)}}}
		if r.Not {
			rule.ExitCodes.Operator = corev1.ContainerRestartRuleOnExitCodesOpNotIn
		}
		if r.All {
			rule.Action = corev1.ContainerRestartRuleActionRestartAllContainers
		}
		spec.RestartPolicyRules = append(spec.RestartPolicyRules, rule)
	}
	if c.PostStart == None && c.PreStop == None {
		return spec
	}
	spec.Lifecycle = &corev1.Lifecycle{PostStart: c.PostStart.manifest("post-start-hook", c.Seconds), PreStop: c.PreStop.manifest("pre-stop-hook", c.Seconds)}
	return spec
}

func (h Handler) manifest(path string, seconds int) *corev1.LifecycleHandler {
	switch h {
	case Exec:
		return &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"recorder", path}}}
	case HTTP:
		return &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/" + path, Port: intstr.FromInt32(8080)}}
	case Sleep:
		return &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: int64(seconds)}}
	}
	return nil
}

func (p *Probe) manifest(kind string) *corev1.Probe {
	if p == nil {
		return nil
	}
	d := p.WithDefaults()
	probe := &corev1.Probe{PeriodSeconds: int32(d.Period), InitialDelaySeconds: int32(d.Delay), TimeoutSeconds: 1, SuccessThreshold: int32(d.Successes), FailureThreshold: int32(d.Failures)}
	probe.Exec = &corev1.ExecAction{Command: []string{"recorder", kind + "-probe"}}
	if d.HTTP {
		probe.Exec, probe.HTTPGet = nil, &corev1.HTTPGetAction{Path: "/" + kind + "-probe", Port: intstr.FromInt32(8080)}
	}
	if d.Grace > 0 {
		grace := int64(d.Grace)
		probe.TerminationGracePeriodSeconds = &grace
	}
	return probe
}
