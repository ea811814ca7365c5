package observed_test

import (
	"fmt"
	"testing"

	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/report/observed"

	"gotest.tools/v3/assert"
)

func kubelets(t testing.TB, names ...string) (list []observed.Kubelet) {
	t.Helper()
	for _, name := range names {
		model, err := rules.ParseKubelet(name)
		assert.NilError(t, err)
		list = append(list, observed.Kubelet{Name: name, Model: model})
	}
	return list
}

// behaviour has events one second apart.
func behaviour(names ...string) (b observed.Behaviour) {
	for i, name := range names {
		b.Events = append(b.Events, observed.Event{Name: name, At: float64(10 * i), Count: 1})
	}
	return b
}

func times(n int, r observed.Run) (runs []observed.Run) {
	for range n {
		runs = append(runs, r)
	}
	return runs
}

func run(id, kubelet, outcome string, b observed.Behaviour) observed.Run {
	return observed.Run{Case: id, Kubelet: kubelet, Outcome: outcome, Behaviour: b}
}

// text is a list of differences, one a line.
func text(list []observed.Difference) (lines []string) {
	for _, d := range list {
		lines = append(lines, fmt.Sprintf("%s %s %s>%s %s: %s | %s", d.State, d.Case, d.Older, d.Newer, d.What, d.OnOlder, d.OnNewer))
	}
	return lines
}

func TestVerdicts(t *testing.T) {
	known := run("probes/x", "v1.36.3", "known", observed.Behaviour{})
	known.Deviations = []string{rules.StartedInherited.Name()}
	late := known
	late.Kubelet = "v1.38.0-beta.0" // which does not have the fault
	refused := run("probes/x", "v1.37.2", "violation", observed.Behaviour{})
	refused.Rule = rules.BlocksNext
	for name, c := range map[string]struct {
		runs []observed.Run
		want []string
	}{
		"a known fault of one of them": {
			[]observed.Run{run("probes/x", "v1.34.4", "pass", observed.Behaviour{}), known},
			[]string{"expected probes/x v1.34.4>v1.36.3 known fault started-inherited: no | yes"},
		},
		"a fault of both that shows on one": {
			[]observed.Run{known, run("probes/x", "v1.37.2", "pass", observed.Behaviour{})}, nil,
		},
		"a violation on one": {
			[]observed.Run{run("probes/x", "v1.36.3", "pass", observed.Behaviour{}), refused, refused},
			[]string{"unexpected probes/x v1.36.3>v1.37.2 violation hooks/poststart-blocks-next: no | in all 2 runs"},
		},
		"the same violation on both": {
			[]observed.Run{refused, {Case: "probes/x", Kubelet: "v1.38.0-beta.0", Outcome: "violation", Rule: rules.BlocksNext}}, nil,
		},
		"an inconclusive run is no verdict": {
			[]observed.Run{run("probes/x", "v1.36.3", "inconclusive", observed.Behaviour{}), refused}, nil,
		},
		"the next one that was judged is the neighbour": {
			[]observed.Run{run("probes/x", "v1.34.4", "pass", observed.Behaviour{}), run("probes/x", "v1.36.3", "inconclusive", observed.Behaviour{}), refused},
			[]string{"unexpected probes/x v1.34.4>v1.37.2 violation hooks/poststart-blocks-next: no | yes"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := observed.Compare(kubelets(t, "v1.34.4", "v1.36.3", "v1.37.2", "v1.38.0-beta.0"), c.runs)
			assert.DeepEqual(t, text(got), c.want)
		})
	}
}

// What the table says of hooks/poststart-blocks.
func TestExpected(t *testing.T) {
	const id, sandbox, hook = "hooks/poststart-blocks", "condition PodReadyToStartContainers True", "container1#0 / post start hook: end 0"
	early, late := behaviour(sandbox, hook, "phase Running"), behaviour(hook, sandbox, "phase Running")
	question := sandbox + " < " + hook
	for name, c := range map[string]struct {
		older, newer string
		runs         []observed.Run
		want         []string
	}{
		"as the table says": {
			"v1.35.4", "v1.36.3", []observed.Run{run(id, "v1.35.4", "pass", late), run(id, "v1.36.3", "pass", early)},
			[]string{"expected " + id + " v1.35.4>v1.36.3 " + question + ": no | yes"},
		},
		"it does not show": {
			"v1.35.4", "v1.36.3", []observed.Run{run(id, "v1.35.4", "pass", late), run(id, "v1.36.3", "pass", late)},
			[]string{"missing " + id + " v1.35.4>v1.36.3 " + question + ": no | no"},
		},
		"it does not show in one run": {
			"v1.35.4", "v1.36.3", []observed.Run{run(id, "v1.35.4", "pass", late), run(id, "v1.36.3", "pass", early), run(id, "v1.36.3", "pass", late)},
			[]string{"missing " + id + " v1.35.4>v1.36.3 " + question + ": no | in 1 of 2 runs"},
		},
		"its case did not run": {
			"v1.35.4", "v1.36.3", []observed.Run{run(id, "v1.35.4", "pass", late), run(id, "v1.36.3", "inconclusive", late)}, nil,
		},
		"nothing is to differ, and does not": {
			"v1.36.3", "v1.37.2", []observed.Run{run(id, "v1.36.3", "pass", early), run(id, "v1.37.2", "pass", early)}, nil,
		},
		"nothing is to differ, but does": {
			"v1.36.3", "v1.37.2", []observed.Run{run(id, "v1.36.3", "pass", early), run(id, "v1.37.2", "pass", late)},
			[]string{"unexpected " + id + " v1.36.3>v1.37.2 " + question + ": yes | no"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := observed.Compare(kubelets(t, c.older, c.newer), c.runs)
			assert.DeepEqual(t, text(got), c.want)
			for _, d := range got {
				assert.Equal(t, d.Because != nil, d.State != observed.Unexpected)
			}
		})
	}
}

// What shows sometimes has to show in one of eight runs.
func TestExpectedSometimes(t *testing.T) {
	const id, feature = "sidecar/startup-gates-next", "proxy#0 / startup probe: end 0 >= 2"
	once, twice := behaviour("proxy#0 / startup probe: end 0"), behaviour("proxy#0 / startup probe: end 0")
	twice.Events[0].Count = 2
	newer := times(1, run(id, "v1.32.13", "pass", once))
	for name, c := range map[string]struct {
		older []observed.Run
		want  []string
	}{
		"it shows once":  {append(times(7, run(id, "v1.31.14", "pass", once)), run(id, "v1.31.14", "pass", twice)), []string{"expected " + id + " v1.31.14>v1.32.13 " + feature + ": in 1 of 8 runs | no"}},
		"never in seven": {times(7, run(id, "v1.31.14", "pass", once)), nil},
		"never in eight": {times(8, run(id, "v1.31.14", "pass", once)), []string{"missing " + id + " v1.31.14>v1.32.13 " + feature + ": in none of 8 runs | no"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := observed.Compare(kubelets(t, "v1.31.14", "v1.32.13"), append(c.older, newer...))
			assert.DeepEqual(t, text(got), c.want)
		})
	}
}

// What the model leaves open counts with enough evidence in both directions, and not before.
func TestOpen(t *testing.T) {
	ab, ba := behaviour("a / main: begin", "b / main: begin"), behaviour("b / main: begin", "a / main: begin")
	older, newer := "v1.36.3", "v1.37.2"
	order := "unexpected x/y v1.36.3>v1.37.2 a / main: begin before b / main: begin: in all 12 runs | in none of 12 runs"
	for name, c := range map[string]struct {
		runs [][]observed.Run
		want []string
	}{
		"twelve each":        {[][]observed.Run{times(12, run("x/y", older, "pass", ab)), times(12, run("x/y", newer, "pass", ba))}, []string{order}},
		"eleven each":        {[][]observed.Run{times(11, run("x/y", older, "pass", ab)), times(11, run("x/y", newer, "pass", ba))}, nil},
		"one against many":   {[][]observed.Run{times(1, run("x/y", older, "pass", ab)), times(40, run("x/y", newer, "pass", ba))}, nil},
		"some on both sides": {[][]observed.Run{times(12, run("x/y", older, "pass", ab)), times(6, run("x/y", newer, "pass", ba)), times(6, run("x/y", newer, "pass", ab))}, nil},
		"what lies beyond counts where all is alike": {
			[][]observed.Run{times(20, run("x/y", "v1.35.4", "pass", ab)), times(6, run("x/y", older, "pass", ab)), times(8, run("x/y", newer, "pass", ba))},
			[]string{"unexpected x/y v1.36.3>v1.37.2 a / main: begin before b / main: begin: in all 6 runs | in none of 8 runs"},
		},
		"and not where it is not": {
			[][]observed.Run{times(1, run("x/y", "v1.35.4", "pass", ba)), times(6, run("x/y", older, "pass", ab)), times(8, run("x/y", newer, "pass", ba))}, nil,
		},
		"what never came": {
			[][]observed.Run{times(12, run("x/y", older, "pass", ab)), times(12, run("x/y", newer, "pass", behaviour("a / main: begin")))},
			[]string{"unexpected x/y v1.36.3>v1.37.2 b / main: begin: in all 12 runs | in none of 12 runs"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var runs []observed.Run
			for _, list := range c.runs {
				runs = append(runs, list...)
			}
			got := observed.Compare(kubelets(t, "v1.35.4", older, newer), runs)
			assert.DeepEqual(t, text(got), c.want)
		})
	}
}

// An update that comes less than a second after a line may have been made before it.
func TestOrder(t *testing.T) {
	b := observed.Behaviour{Events: []observed.Event{
		{Name: "phase Pending", At: 0.9, Count: 1},
		{Name: "a#0 / main: begin", At: 1, Count: 1}, {Name: "a#0 / main: end 0", At: 1, Count: 1},
		{Name: "a#0 shown running", At: 1.9, Count: 1}, {Name: "a#0 shown ready", At: 1.9, Count: 1}, {Name: "phase Running", At: 2, Count: 1},
	}}
	for pair, want := range map[[2]string]observed.Relation{
		{"a#0 / main: begin", "a#0 / main: end 0"}: observed.Before,
		{"a#0 / main: end 0", "a#0 / main: begin"}: observed.After,
		{"a#0 / main: begin", "a#0 shown running"}: observed.Together,
		{"a#0 / main: begin", "phase Running"}:     observed.Before,
		{"phase Running", "a#0 / main: begin"}:     observed.After,
		{"phase Pending", "a#0 / main: begin"}:     observed.Before,
		{"a#0 / main: end 0", "phase Pending"}:     observed.After,
		{"a#0 shown running", "a#0 shown ready"}:   observed.Together,
		{"a#0 shown ready", "phase Running"}:       observed.Before,
		{"a#0 shown ready", "object gone"}:         observed.OnlyFirst,
		{"object gone", "a#0 shown ready"}:         observed.OnlyLast,
		{"object gone", "deletion shown"}:          observed.Neither,
	} {
		assert.Equal(t, b.Order(pair[0], pair[1]), want, "%v", pair)
	}
}

func TestMerge(t *testing.T) {
	one, two := behaviour("a / main: begin", "b / main: begin"), behaviour("a / main: begin")
	one.Figures = []observed.Figure{{Name: observed.TERMToGone, Value: 1}}
	two.Figures = []observed.Figure{{Name: observed.TERMToGone, Value: 2}}
	two.Events[0].Count, two.Events[0].At = 4, 1
	m := observed.Merge([]observed.Behaviour{one, two})
	assert.DeepEqual(t, m, observed.Merged{
		Runs: 2,
		Events: []observed.Seen{
			{Name: "a / main: begin", Runs: 2, At: observed.Spread{N: 2, Median: 0.5, Max: 1}, Count: observed.Spread{N: 2, Min: 1, Median: 2.5, Max: 4}},
			{Name: "b / main: begin", Runs: 1, At: observed.Spread{N: 1, Min: 10, Median: 10, Max: 10}, Count: observed.Spread{N: 1, Min: 1, Median: 1, Max: 1}},
		},
		Figures: []observed.Spread{{Name: observed.TERMToGone, N: 2, Min: 1, Median: 1.5, Max: 2}},
	})
	assert.Equal(t, m.Figures[0].String(), "1/1.5/2 (n 2)")
}

// A figure is compared over all cases, each of which counts once.
func TestFigures(t *testing.T) {
	var runs []observed.Run
	for i := range 40 {
		id := fmt.Sprintf("x/%d", i)
		for _, k := range []string{"v1.34.4", "v1.35.4", "v1.36.3", "v1.37.2"} {
			b := observed.Behaviour{Figures: []observed.Figure{{Name: observed.HookToReady, Value: 1 + float64(i%7)/10}}}
			if k == "v1.36.3" || k == "v1.37.2" {
				b.Figures[0].Value -= 0.5
			}
			if k == "v1.37.2" {
				b.Figures = append(b.Figures, observed.Figure{Name: observed.TERMToGone, Value: 9})
			} else {
				b.Figures = append(b.Figures, observed.Figure{Name: observed.TERMToGone, Value: 1 + float64(i)/100})
			}
			runs = append(runs, run(id, k, "pass", b))
		}
	}
	got := observed.Compare(kubelets(t, "v1.34.4", "v1.35.4", "v1.36.3", "v1.37.2"), runs)
	assert.DeepEqual(t, text(got), []string{
		"unexpected  v1.36.3>v1.37.2 TERM to object gone: 1/1.19/1.39 (n 40) | 9/9/9 (n 40)",
		"expected  v1.35.4>v1.36.3 hook end to first ready update: 1/1.3/1.6 (n 40) | 0.5/0.8/1.1 (n 40)",
	})
	assert.Equal(t, got[1].Because.Gate, "PLEGOnDemandRelist")
}
