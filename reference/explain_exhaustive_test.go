package reference_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/kubelet/explore"
)

// tinyPods are Pods of which every run can be tried.
func tinyPods() map[string]kubelet.Pod {
	never, always := corev1.RestartPolicyNever, corev1.RestartPolicyAlways
	probe := &kubelet.Probe{}
	plain := func(name string) kubelet.Container { return kubelet.Container{Name: name} }
	hooked := kubelet.Container{Name: "h", PostStart: kubelet.Exec}
	stopped := kubelet.Container{Name: "p", PreStop: kubelet.Exec}
	probed := kubelet.Container{Name: "r", Startup: probe, Readiness: probe, Liveness: probe}
	proxy := kubelet.Container{Name: "proxy", Sidecar: true}
	drained := kubelet.Container{Name: "proxy", Sidecar: true, PreStop: kubelet.Exec}
	gate := kubelet.Container{Name: "gate", Sidecar: true, Startup: probe}
	warm := kubelet.Container{Name: "warm", Sidecar: true, PostStart: kubelet.Exec}
	seen := kubelet.Container{Name: "seen", Sidecar: true, Readiness: probe}
	pod := func(policy corev1.RestartPolicy, containers ...kubelet.Container) kubelet.Pod {
		p := kubelet.Pod{Policy: policy, Grace: 30, Containers: containers}
		for c := range p.Containers {
			p.Containers[c].Exits = policy != always
		}
		return p
	}
	with := func(p kubelet.Pod, init ...kubelet.Container) kubelet.Pod {
		p.Init = init
		return p
	}
	return map[string]kubelet.Pod{
		"one":                             pod(always, plain("a")),
		"two":                             pod(always, plain("a"), plain("b")),
		"two that end":                    pod(never, plain("a"), plain("b")),
		"a hook":                          pod(always, hooked, plain("b")),
		"a hook, last":                    pod(never, plain("b"), hooked),
		"a preStop hook":                  pod(always, stopped, plain("b")),
		"a preStop hook of one that ends": pod(never, stopped),
		"probes":                          pod(always, probed),
		"probes of one that ends":         pod(never, probed),
		"a hook and probes":               pod(always, hooked, kubelet.Container{Name: "r", Readiness: probe}),
		"init":                            with(pod(always, plain("a")), plain("i")),
		"init of one that ends":           with(pod(never, plain("a")), plain("i")),
		"two init containers":             with(pod(always, plain("a")), plain("i"), plain("j")),
		"a sidecar":                       with(pod(always, plain("a")), proxy),
		"a sidecar of a Job":              with(pod(never, plain("a")), proxy),
		"a sidecar with a preStop hook":   with(pod(always, plain("a")), drained),
		"the same, of a Job":              with(pod(never, plain("a")), drained),
		"a sidecar that gates":            with(pod(always, plain("a")), gate),
		"a sidecar with a hook":           with(pod(never, plain("a")), warm),
		"a sidecar that is probed":        with(pod(always, plain("a")), seen),
		"a sidecar, then init":            with(pod(always, plain("a")), drained, plain("i")),
		"a gate, then init":               with(pod(never, plain("a")), gate, plain("i")),
		"init, then a sidecar":            with(pod(always, plain("a")), plain("i"), drained),
		"two sidecars":                    with(pod(always, plain("a")), proxy, gate),
		"two sidecars and a probe":        with(pod(always, kubelet.Container{Name: "r", Readiness: probe}), proxy, plain("i")),
		"a hook and a sidecar":            with(pod(always, hooked), proxy),
	}
}

// For Pods small enough the printed order is compared with every run of the explorer, which
// shares no code with the judge: a pair of the order is in no run the other way round,
// and a pair that is not in it is in some run the one way and in some run the other.
func TestExplainIsWhatCanHappen(t *testing.T) {
	asked := 0
	for _, version := range []string{"v1.28.5", "v1.29.6", "v1.34.4", "v1.36.3", "v1.37.2", "v1.38.0-beta.0"} {
		for name, p := range tinyPods() {
			if slices.ContainsFunc(p.Init, func(c kubelet.Container) bool { return c.Sidecar }) && version == "v1.28.5" {
				continue
			}
			t.Run(version+" "+name, func(t *testing.T) { asked += compareWithRuns(t, version, p) })
		}
	}
	assert.Assert(t, asked > 5000, "%d pairs were compared", asked)
}

// The same for Pods that are drawn.
func TestExplainOfDrawnPods(t *testing.T) {
	asked := 0
	r := rand.New(rand.NewPCG(11, 18))
	for range drawnPods {
		version := kubelet.Versions()[r.IntN(len(kubelet.Versions()))]
		p := drawTiny(version, r)
		t.Run(version, func(t *testing.T) {
			if asked += compareWithRuns(t, version, p); t.Failed() {
				text, err := yaml.Marshal(p.Manifest().Spec)
				t.Logf("%s\n%v", text, err)
			}
		})
	}
	assert.Assert(t, asked > 500, "%d pairs were compared", asked)
}

// drawnPods is how many Pods are drawn.
const drawnPods = 25

// drawTiny draws a Pod of at most three containers.
func drawTiny(version string, r *rand.Rand) kubelet.Pod {
	flag := func(n int) bool { return r.IntN(n) == 0 }
	p := kubelet.Pod{Policy: []corev1.RestartPolicy{corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever}[r.IntN(3)], Grace: 30}
	draw := func(name string, regular bool) kubelet.Container {
		c := kubelet.Container{Name: name, Sidecar: !regular, Exits: regular && p.Policy != corev1.RestartPolicyAlways}
		if flag(6) {
			c.PostStart = kubelet.Exec
		}
		if flag(6) {
			c.PreStop = kubelet.Exec
		}
		for _, probe := range []**kubelet.Probe{&c.Startup, &c.Readiness, &c.Liveness} {
			if flag(8) {
				*probe = &kubelet.Probe{}
			}
		}
		return c
	}
	sidecars := kubelet.MustParseRelease(version).Has(kubelet.Sidecars)
	for i := range r.IntN(3) {
		c := kubelet.Container{Name: string(rune('i' + i))}
		if sidecars && flag(2) {
			c = draw(string(rune('s'+i)), false)
		}
		p.Init = append(p.Init, c)
	}
	for i := range 1 + r.IntN(3-len(p.Init)) {
		p.Containers = append(p.Containers, draw(string(rune('a'+i)), true))
	}
	return p
}

// compareWithRuns returns how many pairs of lines of a tiny Pod it has compared.
func compareWithRuns(t *testing.T, version string, p kubelet.Pod) (asked int) {
	k, err := reference.ParseKubelet(version)
	assert.NilError(t, err)
	o, err := reference.Explain(k, p.Manifest())
	assert.NilError(t, err)
	pairs, follows := o.Pairs(), closure(o.Edges)
	for pair := range pairs {
		assert.Check(t, follows[pair], "%s is neither printed nor follows from what is", pair)
	}
	runs := graphOf(explore.Begin(p, explore.Options{Version: version, Deletion: true, Runs: 1}))
	lines := slices.Sorted(maps.Keys(runs.lines()))
	first := map[string]map[string]bool{} // first[a][b]: some run shows a before b
	for _, a := range lines {
		first[a] = runs.before(a)
	}
	toInit := map[string]bool{} // a signal to an init container, which is none of the order
	for _, c := range p.Init {
		if !c.Sidecar {
			toInit[c.Name+"#0 / main: signal TERM"] = true
		}
	}
	for _, a := range lines {
		for _, b := range lines {
			if a == b || own(a, b) || toInit[a] || toInit[b] {
				continue
			}
			asked++
			x, y := nameOf(a), nameOf(b)
			switch {
			case pairs[x+" < "+y] != "" && first[b][a]:
				t.Errorf("%s < %s by %s, and a run has them the other way round", x, y, pairs[x+" < "+y])
			case pairs[x+" < "+y] == "" && first[a][b] && !first[b][a]:
				t.Errorf("%s < %s in every run, and the order does not say so", x, y)
			}
		}
	}
	return asked
}

// nameOf is the name that an order has for a line.
func nameOf(line string) string {
	name := strings.Replace(line, "#0 / ", " / ", 1)
	if who, mark, _ := strings.Cut(name, ": "); strings.HasSuffix(who, " probe") && mark == "end 0" {
		return who
	}
	return name
}

// own reports whether one process writes both lines.
func own(a, b string) bool {
	x, _, _ := strings.Cut(a, ": ")
	y, _, _ := strings.Cut(b, ": ")
	return x == y
}

// closure are the pairs that follow from the edges and from what each process orders by itself.
func closure(edges []reference.Edge) map[string]bool {
	next := map[string][]string{}
	add := func(a, b string) { next[a] = append(next[a], b) }
	for _, e := range edges {
		add(e.Before, e.After)
	}
	marks := []string{": begin", ": signal TERM", ": end 0"}
	for _, e := range edges {
		for _, x := range []string{e.Before, e.After} {
			who, _, _ := strings.Cut(x, ": ")
			for i, mark := range marks[1:] {
				for _, earlier := range marks[:i+1] {
					add(who+earlier, who+mark)
				}
			}
		}
	}
	pairs := map[string]bool{}
	for a := range next {
		todo, seen := []string{a}, map[string]bool{}
		for len(todo) > 0 {
			x := todo[0]
			todo = todo[1:]
			for _, y := range next[x] {
				if !seen[y] {
					seen[y], todo = true, append(todo, y)
					pairs[a+" < "+y] = true
				}
			}
		}
	}
	return pairs
}

// graph is all runs of a tiny Pod: what may come after what.
type graph struct {
	next []map[string]int // by situation: the situation after each line
	come []map[string]bool
}

func graphOf(begin *explore.Set) *graph {
	g := &graph{}
	known := map[string]int{}
	var visit func(s *explore.Set) int
	visit = func(s *explore.Set) int {
		key := s.Key()
		if i, ok := known[key]; ok {
			return i
		}
		i := len(g.next)
		known[key] = i
		g.next, g.come = append(g.next, map[string]int{}), append(g.come, map[string]bool{})
		for _, line := range s.Lines() {
			to := visit(s.After(line))
			g.next[i][line] = to
			g.come[i][line] = true
			maps.Copy(g.come[i], g.come[to])
		}
		return i
	}
	visit(begin)
	return g
}

// lines are all lines of all runs.
func (g *graph) lines() map[string]bool { return g.come[0] }

// before are the lines that come after line a in some run.
func (g *graph) before(a string) map[string]bool {
	after := map[string]bool{}
	seen := map[int]bool{}
	var visit func(i int)
	visit = func(i int) {
		if seen[i] {
			return
		}
		seen[i] = true
		for line, to := range g.next[i] {
			if line == a {
				maps.Copy(after, g.come[to])
			}
			visit(to)
		}
	}
	visit(0)
	return after
}
