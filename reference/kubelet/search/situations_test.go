package search_test

import (
	"time"

	"github.com/podorder/podorder/reference/kubelet"
)

// situation is a run in which a duty comes up, with time enough to miss it, however long each
// delay is: a kubelet that leaves the duty out is blamed by one of the rules, always.
type situation struct {
	name   string
	pod    kubelet.Pod
	script kubelet.Script
	rules  []string
}

// long is how long a run lasts in which something is waited for.
const long = 4 * time.Minute

// The containers of the situations: beside the one that it is about, another one lives and is
// probed, so that time is seen to pass.
var (
	beside = kubelet.Container{Name: "beside", Readiness: &kubelet.Probe{Period: 5}}
	deaf   = kubelet.Program{IgnoresTerm: true}
)

// with is a program that does something else as well.
func with(p kubelet.Program, change func(*kubelet.Program)) kubelet.Program {
	change(&p)
	return p
}

// playing is a script of what the programs of containers do.
func playing(programs map[string]kubelet.Program, acts ...kubelet.Act) kubelet.Script {
	return kubelet.Script{Programs: programs, Acts: acts, Lasts: long}
}

// failing are programs of which the probes fail after some seconds, or the postStart hook does.
func failing(p kubelet.Program, what string) kubelet.Program {
	return with(p, func(p *kubelet.Program) {
		switch what {
		case "liveness":
			p.Liveness = kubelet.Until(5 * time.Second)
		case "startup":
			p.Startup = kubelet.Until(0)
		case "hook":
			p.PostStart.ExitCode = 1
		}
	})
}

// situations are those of each duty.
var situations = map[kubelet.Duty][]situation{
	kubelet.PostStartHooks: {
		{"regular", kubelet.Pod{Containers: []kubelet.Container{{Name: "a", PostStart: kubelet.Exec}, beside}}, playing(nil), []string{"hooks/poststart-runs"}},
		{"sidecar", kubelet.Pod{Init: []kubelet.Container{{Name: "s", Sidecar: true, PostStart: kubelet.Exec}}, Containers: []kubelet.Container{beside}}, playing(nil), []string{"hooks/poststart-runs", "sidecar/started-before-next"}},
		{"restarted", kubelet.Pod{Containers: []kubelet.Container{{Name: "a", PostStart: kubelet.Exec}, beside}}, playing(map[string]kubelet.Program{"a": {Runs: 3 * time.Second, ExitCode: 1}}), []string{"hooks/poststart-runs"}},
	},
	kubelet.PreStopHooks: {
		{"deletion", kubelet.Pod{Containers: []kubelet.Container{{Name: "a", PreStop: kubelet.Exec}, beside}}, playing(nil, kubelet.Delete(10*time.Second, 30)), []string{"hooks/prestop-runs"}},
		{"deletion of a sidecar", kubelet.Pod{Init: []kubelet.Container{{Name: "s", Sidecar: true, PreStop: kubelet.Exec}}, Containers: []kubelet.Container{beside}}, playing(nil, kubelet.Delete(10*time.Second, 30)), []string{"hooks/prestop-runs"}},
		{"failed probe", kubelet.Pod{Containers: []kubelet.Container{{Name: "a", PreStop: kubelet.Exec, Liveness: &kubelet.Probe{}}, beside}}, playing(map[string]kubelet.Program{"a": failing(kubelet.Program{}, "liveness")}), []string{"hooks/prestop-runs"}},
		{"failed hook", kubelet.Pod{Containers: []kubelet.Container{{Name: "a", PostStart: kubelet.Exec, PreStop: kubelet.Exec}, beside}}, playing(map[string]kubelet.Program{"a": failing(kubelet.Program{}, "hook")}), []string{"hooks/prestop-runs"}},
	},
	kubelet.FirstStarts: {
		{"after an init container", kubelet.Pod{Init: []kubelet.Container{{Name: "s", Sidecar: true, Readiness: beside.Readiness}, {Name: "setup"}}, Containers: []kubelet.Container{{Name: "a"}}}, playing(nil), []string{"start/when-due"}},
		{"after a sidecar", kubelet.Pod{Init: []kubelet.Container{{Name: "s", Sidecar: true, Readiness: beside.Readiness}}, Containers: []kubelet.Container{{Name: "a"}}}, playing(nil), []string{"start/when-due"}},
	},
	kubelet.Restarts: {
		{"regular", kubelet.Pod{Containers: []kubelet.Container{{Name: "a"}, beside}}, playing(map[string]kubelet.Program{"a": {Runs: 3 * time.Second, ExitCode: 1}}), []string{"restart/when-due"}},
		{"sidecar", kubelet.Pod{Init: []kubelet.Container{{Name: "s", Sidecar: true}}, Containers: []kubelet.Container{beside}}, playing(map[string]kubelet.Program{"s": {Runs: 3 * time.Second}}), []string{"restart/when-due"}},
		{"init container", kubelet.Pod{Init: []kubelet.Container{{Name: "s", Sidecar: true, Readiness: beside.Readiness}, {Name: "setup"}}, Containers: []kubelet.Container{{Name: "a"}}}, playing(map[string]kubelet.Program{"setup": {Runs: time.Second, ExitCode: 1}}), []string{"restart/when-due"}},
	},
	kubelet.Kills: {
		{"deletion", kubelet.Pod{Grace: 5, Containers: []kubelet.Container{{Name: "a"}, beside}}, playing(map[string]kubelet.Program{"a": deaf, "beside": deaf}, kubelet.Delete(10*time.Second, 5)), []string{"terminate/grace-period"}},
		{"liveness probe", kubelet.Pod{Grace: 5, Containers: []kubelet.Container{{Name: "a", Liveness: &kubelet.Probe{}}, beside}}, playing(map[string]kubelet.Program{"a": failing(deaf, "liveness")}), []string{"terminate/grace-period"}},
		{"grace period of the liveness probe", kubelet.Pod{Grace: 60, Containers: []kubelet.Container{{Name: "a", Liveness: &kubelet.Probe{Grace: 3}}, beside}}, playing(map[string]kubelet.Program{"a": failing(deaf, "liveness")}), []string{"terminate/grace-period"}},
		{"startup probe", kubelet.Pod{Grace: 5, Containers: []kubelet.Container{{Name: "a", Startup: &kubelet.Probe{Failures: 3}}, beside}}, playing(map[string]kubelet.Program{"a": failing(deaf, "startup")}), []string{"terminate/grace-period"}},
		{"postStart hook", kubelet.Pod{Grace: 5, Containers: []kubelet.Container{beside, {Name: "a", PostStart: kubelet.Exec}}, Init: []kubelet.Container{{Name: "s", Sidecar: true, Readiness: beside.Readiness}}}, playing(map[string]kubelet.Program{"a": failing(deaf, "hook")}), []string{"terminate/grace-period"}},
		{"image", kubelet.Pod{Grace: 5, Containers: []kubelet.Container{{Name: "a"}, beside}}, playing(map[string]kubelet.Program{"a": deaf}, kubelet.ChangeImage(10*time.Second, "a")), []string{"terminate/grace-period"}},
		{"restart of all", kubelet.Pod{Grace: 5, Containers: []kubelet.Container{{Name: "a", Rules: []kubelet.Rule{{Code: 3, All: true}}}, {Name: "b"}, beside}}, playing(map[string]kubelet.Program{"a": {Runs: 5 * time.Second, ExitCode: 3}, "b": deaf}), []string{"terminate/grace-period", "restart/all-containers"}},
	},
	kubelet.LivenessProbes: {
		{"regular", kubelet.Pod{Containers: []kubelet.Container{{Name: "a", Liveness: &kubelet.Probe{}, Readiness: &kubelet.Probe{}}}}, playing(nil), []string{"probes/run-periodically"}},
		{"sidecar", kubelet.Pod{Init: []kubelet.Container{{Name: "s", Sidecar: true, Liveness: &kubelet.Probe{}, Readiness: &kubelet.Probe{}}}, Containers: []kubelet.Container{beside}}, playing(nil), []string{"probes/run-periodically"}},
		{"replaced", kubelet.Pod{Grace: 5, Containers: []kubelet.Container{{Name: "a", Liveness: &kubelet.Probe{}, Readiness: &kubelet.Probe{}}}}, playing(nil, kubelet.ChangeImage(5*time.Second, "a")), []string{"probes/after-restart", "probes/run-periodically"}},
	},
	kubelet.ProbeKills: {
		{"liveness", kubelet.Pod{Grace: 5, Containers: []kubelet.Container{{Name: "a", Liveness: &kubelet.Probe{}}, beside}}, playing(map[string]kubelet.Program{"a": failing(kubelet.Program{}, "liveness")}), []string{"probes/failure-stops", "terminate/grace-period"}},
		{"startup", kubelet.Pod{Grace: 5, Containers: []kubelet.Container{{Name: "a", Startup: &kubelet.Probe{Failures: 3}}, beside}}, playing(map[string]kubelet.Program{"a": failing(kubelet.Program{}, "startup")}), []string{"probes/failure-stops", "terminate/grace-period"}},
	},
}
