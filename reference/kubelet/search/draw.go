package search

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/kubelet"
)

// AnyPod makes up a Pod of any kind that the kubelet of the version runs, and
// says what may be done to it. All choices are the Chooser's.
func AnyPod(version string, choose kubelet.Chooser) kubelet.Pod {
	v := kubelet.MustParseRelease(version)
	flag := func() bool { return choose(2) == 1 }
	rarely := func() bool { return choose(4) == 3 }
	seldom := func() bool { return choose(12) == 11 }
	hook := func(grace int, c *kubelet.Container) kubelet.Handler {
		switch choose(6) {
		case 1, 2:
			return kubelet.Exec
		case 3:
			return kubelet.HTTP
		case 4:
			if v.Has(kubelet.SleepHook) {
				c.Seconds = 1 + choose(grace)
				if v.Has(kubelet.SleepZero) && rarely() {
					c.Seconds = 0
				}
				return kubelet.Sleep
			}
		}
		return kubelet.None
	}
	probe := func(kind string) *kubelet.Probe {
		if !rarely() {
			return nil
		}
		p := &kubelet.Probe{HTTP: flag(), Period: 1 + choose(2), Failures: 1 + choose(3)}
		if rarely() {
			p.Delay = 1 + choose(2)
		}
		switch {
		case kind == "readiness":
			p.Successes = 1 + choose(2)
		case rarely():
			p.Grace = 1 + choose(3)
		}
		return p
	}
	p := kubelet.Pod{
		Policy: []corev1.RestartPolicy{corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever}[choose(3)],
		Grace:  1 + choose(4),
		May:    kubelet.May{ForceDelete: rarely(), DeleteAgain: rarely(), Evict: rarely(), RestartKubelet: rarely(), StopSandbox: rarely(), Patch: rarely(), LatePhase: flag(), Silent: flag()},
	}
	p.May.Evict = p.May.Evict && !p.May.RestartKubelet // a new kubelet forgets an eviction that is not published
	if seldom() {
		p.Deadline = 1 + choose(20)
	}
	p.Seconds = []int{12, 20, 60}[choose(3)]
	long := rarely() // a grace period that outlasts hooks, probes and back-offs
	if long {
		p.Grace, p.Seconds = 20+choose(60), 200
	}
	container := func(name string) kubelet.Container {
		c := kubelet.Container{Name: name, Exits: flag(), Crashes: rarely(), NoImage: seldom(), NoCreate: seldom(), NoStart: seldom(), Deaf: rarely() || long && rarely()}
		return c
	}
	lively := func(c *kubelet.Container) { // what an init container cannot have
		c.PostStart, c.PreStop = hook(p.Grace, c), hook(p.Grace, c)
		c.Startup, c.Readiness, c.Liveness = probe("startup"), probe("readiness"), probe("liveness")
		c.HookFails, c.HookHangs, c.StartupFails, c.LivenessFails = rarely(), seldom(), rarely(), flag()
		c.Slow = rarely()
	}
	rules := func(c *kubelet.Container, policies ...corev1.RestartPolicy) {
		if !v.Has(kubelet.RestartRules) || !rarely() {
			return
		}
		own := policies[choose(len(policies))]
		c.Policy = &own // the API asks for it beside rules
		for range choose(3) {
			c.Rules = append(c.Rules, kubelet.Rule{Code: choose(3), Not: flag(), All: v.Has(kubelet.RestartAllContainers) && rarely()})
		}
	}
	for i := range choose(4) {
		c := container(fmt.Sprintf("init%d", i+1))
		if v.Has(kubelet.Sidecars) && flag() {
			c.Name, c.Sidecar = fmt.Sprintf("sidecar%d", i+1), true
			lively(&c)
		} else {
			rules(&c, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever) // Always would make it a sidecar
		}
		p.Init = append(p.Init, c)
	}
	for i := range 1 + choose(3) {
		c := container(fmt.Sprintf("container%d", i+1))
		lively(&c)
		rules(&c, corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
		p.Containers = append(p.Containers, c)
	}
	return p
}
