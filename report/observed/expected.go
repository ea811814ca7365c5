package observed

import (
	"slices"

	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/rules"
)

// expectation is a row of the table of expected differences: what kubelets with a trait show and others
// do not, in which cases. It holds for every two kubelets of which one has the trait, and says just as much
// that those of which both have it, or neither, do not differ in this.
type expectation struct {
	trait trait
	// also are further traits that decide together with it; see when.
	also []trait
	// when says by the trait, and by those of also, whether a kubelet shows it; nil where it is
	// just those that have the trait.
	when func(has ...bool) bool
	// sometimes: a kubelet that shows it does not in every run. In so many runs that none shows it, it
	// is missing all the same; see often.
	sometimes bool
	// shows has by case the features that are seen, see [Feature].
	shows map[string]string
}

// without is for what kubelets show that do not have the trait.
func without(has ...bool) bool { return !has[0] }

// neither is for what kubelets show that have none of the traits.
func neither(has ...bool) bool { return !slices.Contains(has, true) }

// often is in how many runs something has to show at least once that shows sometimes, which is in about half of
// them or more.
const often = 8

// sandboxBefore begins the question whether the sandbox is shown before something else comes, where it is at all.
const sandboxBefore = "condition PodReadyToStartContainers True < "

// oneSync: a sync stops both containers before it starts either again.
const oneSync = " if first#0 / pre stop hook: begin < second#1 / main: begin and second#0 / pre stop hook: begin < first#1 / main: begin"

var expectations = []expectation{
	{
		trait: change(kubelet.ReadyToStartCondition, rules.Sandbox, rules.GateSandboxCondition),
		shows: map[string]string{
			"hooks/poststart-blocks":       "condition PodReadyToStartContainers True if phase Running",
			"terminate/natural-completion": "condition PodReadyToStartContainers True if phase Succeeded",
			"init/serial":                  "condition PodReadyToStartContainers True if phase Running",
		},
	},
	{
		trait: change(kubelet.SandboxShownAtOnce, rules.Sandbox, ""),
		shows: map[string]string{
			"hooks/poststart-blocks":           sandboxBefore + "container1#0 / post start hook: end 0",
			"hooks/poststart-blocks-reversed":  sandboxBefore + "container1#0 / post start hook: end 0",
			"hooks/poststart-delete-during":    sandboxBefore + "first#0 / post start hook: end 0",
			"hooks/poststart-serial":           sandboxBefore + "second#0 / post start hook: end 0",
			"article/hook-sleeps":              sandboxBefore + "nginx#0 / post start hook: end 0",
			"article/own-health-check":         sandboxBefore + "app#0 / post start hook: end 0",
			"article/sidecar-ready-before-app": sandboxBefore + "sidecar#0 / post start hook: end 0",
			"article/three-hooks":              sandboxBefore + "nginx#0 / post start hook: end 0",
			"terminate/forced-during-hook":     "condition PodReadyToStartContainers True if did delete",
		},
	},
	{
		trait: other(">=1.36", "The logs of init containers are kept when their containers are removed for a new sandbox, so that their restartCount goes on. Before: It begins again with 0.",
			"pkg/kubelet/kuberuntime/kuberuntime_container.go (purgeInitContainers, calcRestartCountByLogDir)"),
		// That the new instance is shown at all takes an update while it runs, or after it.
		shows: map[string]string{
			"node/sandbox-stopped-during-init": "slow#1 shown running if slow#1 / main: end 0",
			"node/sandbox-stopped":             "two#1 shown terminated if two#1 / main: end 0",
			"node/sandbox-stopped-sidecar":     "one#1 shown terminated if one#1 / main: end 0",
		},
	},
	{
		trait: change(kubelet.StartupProbeStops, rules.StartupStops, ""),
		when:  without,
		// It takes a tick between the success and the status that shows it.
		sometimes: true,
		shows: map[string]string{
			"sidecar/startup-gates-next": "proxy#0 / startup probe: end 0 >= 2",
		},
	},
	{
		trait: change(kubelet.PendingAgain, rules.Phase, ""),
		// Where a regular container was to be started once more in the sandbox that died, it waits, and the
		// Pod is Pending for that.
		shows: map[string]string{
			"node/sandbox-stopped":         "phase Pending >= 2 if one#1 shown running and not main#1 shown waiting and not other#1 shown waiting and not main#0 shown waiting >= 2 and not other#0 shown waiting >= 2",
			"node/sandbox-stopped-sidecar": "phase Pending >= 2 if one#1 / main: end 0 and not main#1 shown waiting and not main#0 shown waiting >= 2",
		},
	},
	{
		trait: change(kubelet.KeptOverRestart, rules.KeptOver, ""),
		when:  without,
		shows: map[string]string{
			"node/kubelet-restart": "starts#0 / startup probe: end 0 >= 2 and proxy#0 / startup probe: end 0 >= 2 if did restart kubelet",
		},
	},
	{
		trait: change(kubelet.SidecarProbesStop, rules.ProbesStop, ""),
		also:  []trait{fault(rules.ProbesCancelled)},
		when:  neither,
		// The probe fails, so it runs once, and that may be as the stop begins.
		sometimes: true,
		shows: map[string]string{
			"sidecar/probes-during-termination": "proxy#0 / liveness probe while stopping if proxy#0 / main: signal TERM",
		},
	},
	{
		trait: change(kubelet.ParallelKills, rules.KillsSerial, ""),
		shows: map[string]string{
			"probes/kills-of-one-sync": "first#0 / pre stop hook: begin < second#0 / pre stop hook: end 0 and second#0 / pre stop hook: begin < first#0 / pre stop hook: end 0" + oneSync,
		},
	},
	{
		trait: fault(rules.ProbesCancelled),
		when:  without,
		shows: map[string]string{
			"probes/during-termination":         "main#0 / readiness probe while stopping >= 3 if main#0 / main: signal TERM",
			"sidecar/probes-during-termination": "proxy#0 / readiness probe while stopping >= 3 if proxy#0 / main: signal TERM",
		},
	},
	{
		trait: fault(rules.SidecarUnprobed),
		// A sync that comes early enough makes new probe workers before anything shows.
		sometimes: true,
		shows: map[string]string{
			"sidecar/crash-before-started-never": "proxy#1 shown ready < proxy#1 / startup probe: end 0",
		},
	},
	{
		trait: fault(rules.DeadSidecarAwaited),
		shows: map[string]string{
			"sidecar/dead-not-waited-for":        "delete to TERM of early#0 > 20",
			"sidecar/deleted-while-initializing": "delete to TERM of early#0 > 20",
		},
	},
	{
		// The others go another way for Pods without sidecars.
		trait: faultIn(rules.InitSkipped, "1.29 or >=1.33"),
		shows: map[string]string{
			"node/created-before-new-sandbox": "main#1 / main: begin < two#1 / main: begin",
		},
	},
	{
		trait:     fault(rules.StartedInherited),
		sometimes: true,
		shows: map[string]string{
			"probes/startup-gates-restart": "main#1 shown started < main#1 / startup probe: end 0",
		},
	},
}

// shownBy reports whether a kubelet shows what the row says.
func (e expectation) shownBy(k rules.Kubelet) bool {
	has := []bool{e.trait.of(k)}
	for _, t := range e.also {
		has = append(has, t.of(k))
	}
	if e.when == nil {
		return has[0]
	}
	return e.when(has...)
}

// cause is that of the trait in which two kubelets differ, the first one where there are several.
func (e expectation) cause(older, newer rules.Kubelet) *Cause {
	for _, t := range append([]trait{e.trait}, e.also...) {
		if t.of(older) != t.of(newer) {
			return t.cause()
		}
	}
	return e.trait.cause()
}

// compareExpected asks what the table asks of a case.
func compareExpected(id string, older, newer side) (out []Difference) {
	for _, e := range expectations {
		text, ok := e.shows[id]
		if !ok {
			continue
		}
		f, err := ParseFeature(text)
		if err != nil {
			continue // a test of the table refuses it
		}
		a, b := f.tallyOf(older), f.tallyOf(newer)
		if a.runs() == 0 || b.runs() == 0 {
			continue
		}
		d := Difference{
			Older: older.Name, Newer: newer.Name, Kind: f.kind(), What: f.text,
			OnOlder: of(a.yes, a.runs()), OnNewer: of(b.yes, b.runs()),
		}
		if d.State, ok = e.judge(older.Model, newer.Model, a, b); ok {
			if d.State != Unexpected {
				d.Because = e.cause(older.Model, newer.Model)
			}
			out = append(out, d)
		}
	}
	return out
}

// judge says what the answers of two kubelets are; ok is false where there is no difference, and
// none was to be expected.
func (e expectation) judge(older, newer rules.Kubelet, a, b tally) (s State, ok bool) {
	inOlder, inNewer := e.shownBy(older), e.shownBy(newer)
	asExpected := e.fits(a, inOlder) && e.fits(b, inNewer)
	switch {
	case inOlder == inNewer && asExpected:
		return "", false
	case inOlder == inNewer && (a.yes > 0) == (b.yes > 0) && (a.no > 0) == (b.no > 0):
		return "", false // the same on both, though not as the table says: that shows where the trait begins
	case inOlder == inNewer:
		return Unexpected, true
	case asExpected && a.yes+b.yes == 0: // only where it shows sometimes
		showing := a
		if inNewer {
			showing = b
		}
		return Missing, showing.runs() >= often
	case asExpected:
		return Expected, true
	}
	return Missing, true
}

// fits reports whether the answers of a kubelet are what the row says.
func (e expectation) fits(t tally, shows bool) bool {
	if !shows {
		return t.yes == 0
	}
	return e.sometimes || t.no == 0
}
