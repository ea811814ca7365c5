package main

import "github.com/podorder/podorder/reference/rules"

// entry is a row of the track record: something that kubelets of some releases do wrong, or differently,
// with the cases that show it on a release that does and on one that does not.
type entry struct {
	// issue is the upstream number; empty where nobody has reported it.
	issue string
	// says is what the wrong ones do, as a sentence.
	says string
	// cases are those that show it. Each is run on all kubelets of the row.
	cases []string
	// wrong and right are kubelets. Without a right one it is not corrected in any release.
	wrong, right []string
	// fault is the known fault that the judge has to name for the wrong ones, and for those alone;
	// empty where the model allows both, since it is a difference between releases.
	fault string
	// shows is what the wrong ones show and the right ones do not, by case; see [observed.Feature].
	// With rightly it is the other way round.
	shows   map[string]string
	rightly bool
	// sometimes: the wrong ones do not show it in every run. One run is enough, of any case.
	sometimes bool
	// unseen says why no kubelet shows it, with what the recordings have instead: what stands
	// in shows is then asked of all kubelets, and is so on none.
	unseen string
}

// all are the eleven kubelets that the record is about.
var all = []string{"v1.28.5", "v1.29.6", "v1.30.14", "v1.31.14", "v1.32.13", "v1.33.13", "v1.34.4", "v1.35.4", "v1.36.3", "v1.37.2", "v1.38.0-beta.0"}

var record = []entry{
	{
		issue: "kubernetes/kubernetes#125880", fault: rules.DeadSidecarAwaited.Name(),
		says:  "A sidecar waits for a later one that does not run, and gets TERM only when the grace period is over.",
		cases: []string{"sidecar/dead-not-waited-for", "sidecar/deleted-while-initializing"},
		wrong: []string{"v1.29.6"}, right: []string{"v1.30.14"},
		shows: map[string]string{
			"sidecar/dead-not-waited-for":        "delete to TERM of early#0 > 20",
			"sidecar/deleted-while-initializing": "delete to TERM of early#0 > 20",
		},
	},
	{
		issue: "kubernetes/kubernetes#132826", fault: rules.SidecarUnprobed.Name(), sometimes: true,
		says:  "A restarted sidecar of a Pod with restartPolicy Never is shown as ready before its startup probe has succeeded.",
		cases: []string{"sidecar/crash-before-started-never"},
		wrong: []string{"v1.29.6", "v1.30.14", "v1.31.14", "v1.32.13"}, right: []string{"v1.33.13"},
		shows: map[string]string{"sidecar/crash-before-started-never": "proxy#1 shown ready < proxy#1 / startup probe: end 0"},
	},
	{
		issue: "kubernetes/kubernetes#108537", fault: rules.StaticInitForgotten.Name(), sometimes: true,
		says:  "A kubelet that restarts shows an init container of a static Pod as waiting for good, where it had succeeded and was removed.",
		cases: []string{"static/erased-init"},
		wrong: []string{"v1.33.13", "v1.34.4", "v1.35.4"}, right: []string{"v1.36.3"},
	},
	{
		issue: "kubernetes/kubernetes#126650",
		says:  "While the init containers run again in a new sandbox, the phase stays Running.",
		cases: []string{"node/sandbox-stopped-sidecar"},
		wrong: []string{"v1.31.14"}, right: []string{"v1.32.13"},
		// Where a regular container waits to be started again, the Pod is Pending for that.
		shows:   map[string]string{"node/sandbox-stopped-sidecar": "phase Pending >= 2 if not main#1 shown waiting and not main#0 shown waiting >= 2"},
		rightly: true,
	},
	{
		issue: "kubernetes/kubernetes#100277", sometimes: true,
		says:  "A kubelet that restarts shows ready containers as not ready until they have been probed again.",
		cases: []string{"node/kubelet-restart"},
		wrong: []string{"v1.34.4"}, right: []string{"v1.35.4"},
		shows: map[string]string{"node/kubelet-restart": "reads#0 shown ready >= 2 if did restart kubelet"},
	},
	{
		issue: "kubernetes/kubernetes#134660",
		says:  "PodReadyToStartContainers turns True only with the first containers, hooks included.",
		cases: []string{"hooks/poststart-blocks"},
		wrong: []string{"v1.35.4"}, right: []string{"v1.36.3"},
		shows:   map[string]string{"hooks/poststart-blocks": "condition PodReadyToStartContainers True < container1#0 / post start hook: end 0"},
		rightly: true,
	},
	{
		issue: "kubernetes/kubernetes#140881", fault: rules.ProbesCancelled.Name(),
		says:  "A deletion ends the readiness probes that are commands, and ready stays as it was.",
		cases: []string{"probes/during-termination", "sidecar/probes-during-termination"},
		wrong: []string{"v1.35.4", "v1.36.3"}, right: []string{"v1.34.4", "v1.37.2"},
		shows: map[string]string{
			"probes/during-termination":         "main#0 / readiness probe while stopping >= 3",
			"sidecar/probes-during-termination": "proxy#0 / readiness probe while stopping >= 3",
		},
		rightly: true,
	},
	{
		issue: "kubernetes/kubernetes#137710", fault: rules.InitSkipped.Name(),
		says:  "In a new sandbox an init container is skipped, because a regular container was created in the old one.",
		cases: []string{"node/created-before-new-sandbox"},
		wrong: []string{"v1.29.6", "v1.34.4", "v1.35.4", "v1.36.3"}, right: []string{"v1.37.2"},
		shows: map[string]string{"node/created-before-new-sandbox": "main#1 / main: begin < two#1 / main: begin"},
	},
	{
		issue: "kubernetes/kubernetes#141155", fault: rules.StartedInherited.Name(), sometimes: true,
		says:  "A container that a probe or another image restarts is taken for started, and probed, before its startup probe has succeeded.",
		cases: []string{"probes/startup-gates-restart", "sidecar/startup-then-image-always", "sidecar/startup-then-liveness"},
		wrong: []string{"v1.35.4", "v1.36.3", "v1.37.2"}, right: []string{"v1.34.4", "v1.38.0-beta.0"},
	},
	{
		issue: "kubernetes/kubernetes#141766", sometimes: true,
		says:  "The liveness probe of a sidecar goes on while its Pod is stopped.",
		cases: []string{"sidecar/probes-during-termination"},
		wrong: []string{"v1.34.4", "v1.37.2"}, right: []string{"v1.38.0-beta.0"},
		shows: map[string]string{"sidecar/probes-during-termination": "proxy#0 / liveness probe while stopping"},
	},
	{
		issue: "kubernetes/kubernetes#142305", fault: rules.ShownBeforeWorkers.Name(),
		says:  "A kubelet that restarts shows a container as started whose startup probe has not succeeded.",
		cases: []string{"node/kubelet-restart-starting"},
		wrong: []string{"v1.34.4", "v1.37.2", "v1.38.0-beta.0"},
		shows: map[string]string{"node/kubelet-restart-starting": "main#0 shown started < main#0 / startup probe: end 0"},
	},
	{
		issue: "kubernetes/kubernetes#118321", fault: rules.NeverPodStuck.Name(),
		says:  "A Pod with restartPolicy Never that loses its sandbox never fails, where a container of it could not be created until then.",
		cases: []string{"node/sandbox-stopped-waiting-never"},
		wrong: []string{"v1.34.4", "v1.37.2", "v1.38.0-beta.0"},
		shows: map[string]string{"node/sandbox-stopped-waiting-never": "did delete < phase Failed"},
	},
	{
		fault: rules.ReadyAsPodEnds.Name(), sometimes: true,
		says:  "A container that is not ready is shown as ready because its Pod has failed.",
		cases: []string{"terminate/deadline-unready"},
		wrong: []string{"v1.34.4", "v1.37.2", "v1.38.0-beta.0"},
		shows: map[string]string{"terminate/deadline-unready": "main#0 shown ready"},
	},
	{
		issue: "kubernetes/kubernetes#116032",
		says:  "A deletion does not interrupt a postStart hook, and the next container is still started after it.",
		cases: []string{"hooks/poststart-delete-during"},
		wrong: []string{"v1.28.5", "v1.34.4", "v1.38.0-beta.0"},
		shows: map[string]string{"hooks/poststart-delete-during": "did delete < second#0 / main: begin and second#0 / post start hook: end 0 < first#0 / main: signal TERM"},
	},
	{
		says:   "Three readiness probes that succeed follow each other within two seconds, as in a published log of v1.28.",
		cases:  []string{"article/startup-sequence", "article/startup-sequence-reversed"},
		wrong:  []string{"v1.28.5", "v1.38.0-beta.0"},
		unseen: "a probe that succeeds at once ran once or twice, on every kubelet; the model goes on to allow three",
		shows: map[string]string{
			"article/startup-sequence":          "readiness probes in the first 3 s of container1#0 > 2",
			"article/startup-sequence-reversed": "readiness probes in the first 3 s of container1#0 > 2",
		},
	},
}
