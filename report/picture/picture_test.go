package picture

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/kubelet/search"
	"github.com/podorder/podorder/reference/trace"
)

// Every line, update, Event, act and gap of a trace is in its picture, once, with what it says.
func TestEveryEntryIsDrawn(t *testing.T) {
	check := func(t *testing.T, name string, pod *corev1.Pod, tr *trace.Trace) {
		t.Helper()
		p := Of(pod, tr, reference.Verdict{})
		byID := map[string]element{}
		for _, e := range elements(t, p.SVG(p.Axis())) {
			if e.ID == "" {
				continue
			}
			_, twice := byID[e.ID]
			assert.Check(t, !twice, "%s: %s is there twice", name, e.ID)
			byID[e.ID] = e
		}
		for i := range tr.Entries {
			e := &tr.Entries[i]
			got, ok := byID[fmt.Sprintf("line-%d", e.Line)]
			assert.Check(t, ok, "%s: line %d is not in the picture", name, e.Line)
			assert.Check(t, is.Contains(got.Title, says(e)), "%s: line %d", name, e.Line)
		}
		assert.Check(t, is.Len(byID, len(tr.Entries)), name)
	}
	for _, path := range stored(t) {
		tr := readTrace(t, path)
		check(t, path, tr.Admitted(), tr)
	}
	for seed := range uint64(44) {
		version := kubelet.Versions()[int(seed)%len(kubelet.Versions())]
		pod := search.AnyPod(version, kubelet.Seed(seed))
		tr := kubelet.Run(pod, version, kubelet.Seed(seed+1000))
		for i := range tr.Entries {
			tr.Entries[i].Line = i + 2
		}
		check(t, fmt.Sprint("run ", seed), tr.Admitted(), tr)
	}
}

// says is what the title of an entry has at least.
func says(e *trace.Entry) string {
	switch {
	case e.Log != nil:
		_, text, _ := strings.Cut(*e.Log, ": ")
		return text
	case e.Event != nil:
		return e.Event.Reason
	case e.Did != nil:
		return e.Did.Name
	case e.Gap != nil:
		return e.Gap.Why
	}
	return e.Type
}

// What lies before stands further left, and the lines of the log keep their order.
func TestOrder(t *testing.T) {
	for _, path := range stored(t) {
		tr := readTrace(t, path)
		p := Of(tr.Admitted(), tr, reference.Verdict{})
		a := p.Axis()
		byLine := map[int]float64{}
		last := -1.0
		for _, m := range p.all {
			x := a.X(m.at)
			assert.Check(t, x >= last && x >= 0 && x <= a.Width(), "%s: line %d at %v after %v", path, m.line, x, last)
			last = x
			byLine[m.line] = m.at
		}
		at := -1e9
		for i := range tr.Entries {
			if e := &tr.Entries[i]; e.Log != nil {
				assert.Check(t, byLine[e.Line] >= at, "%s: line %d", path, e.Line)
				at = byLine[e.Line]
			}
		}
	}
}

// The refused line and the one that forbids it stand out, and the rule is told in its sentence.
func TestViolation(t *testing.T) {
	p, v := judged(t, readTrace(t, testdata("background-hook", "poststart-blocks", "trace.jsonl")))
	assert.Equal(t, v.Outcome, reference.Violation)
	all := elements(t, p.SVG(p.Axis()))
	for _, words := range []string{
		"hooks/poststart-blocks on kubelet v1.37.2: violation",
		"hooks/poststart-blocks-next (MUST): The next container is not started before the postStart hook of the one before it has ended.",
		v.Reason, fmt.Sprintf("line %d is not allowed here", v.Line), fmt.Sprintf("line %d", v.Because[0].Line), "delete (5 s)", "apply",
	} {
		assert.Check(t, said(all, words), words)
	}
	poles, rings := classed(all, "no"), 0
	for _, e := range poles {
		if strings.HasPrefix(e.Class, "ring") {
			rings++
		}
	}
	assert.Check(t, is.Len(poles, 2), "a pole and a ring")
	assert.Check(t, is.Equal(rings, 1))
	assert.Check(t, is.Len(classed(all, "why"), 2))
}

// A known fault names each of its lines; what is overdue names since when.
func TestOtherVerdicts(t *testing.T) {
	tr := readTrace(t, testdata("background-hook", "poststart-blocks", "trace.jsonl"))
	p := Of(tr.Admitted(), tr, reference.Verdict{
		Outcome: reference.Known, Rule: "probes/startup-gates", Issue: "kubernetes/kubernetes#141155", Line: 30,
		Deviations: []reference.Deviation{{Name: "started-inherited", Issue: "kubernetes/kubernetes#141155", Lines: []int{30, 33}}},
	})
	all := elements(t, p.SVG(p.Axis()))
	assert.Check(t, said(all, "line 30 is known: kubernetes/kubernetes#141155"))
	assert.Check(t, said(all, "line 33"))
	p = Of(tr.Admitted(), tr, reference.Verdict{
		Outcome: reference.Violation, Line: 40, Overdue: &reference.Overdue{After: "main ended", What: "it starts again", Since: 25, Within: "10 s"},
	})
	all = elements(t, p.SVG(p.Axis()))
	assert.Check(t, said(all, "line 25 since then due: it starts again"))
	assert.Check(t, said(all, "line 40 is not allowed here"))
}

// Successes and failures are told apart by their shape.
func TestProbes(t *testing.T) {
	lines := []string{
		"2026-01-02T03:04:05.1Z: app#0 / main: begin",
		"2026-01-02T03:04:06.1Z: app#0 / startup probe: end 1",
		"2026-01-02T03:04:07.1Z: app#0 / startup probe: end 0",
		"2026-01-02T03:04:07.2Z: app#0 / readiness probe: end 0",
		"2026-01-02T03:04:08.1Z: app#0 / main: signal TERM from outside",
		"2026-01-02T03:04:08.2Z: app#0 / main: end 3",
	}
	all := elements(t, alone(t, lines...))
	assert.Check(t, is.Len(classed(all, "ok"), 3)) // one is in the legend
	assert.Check(t, is.Len(classed(all, "fail"), 2))
	assert.Check(t, shape(classed(all, "ok")[0]) != shape(classed(all, "fail")[0]))
	for _, words := range []string{"startup", "readiness", "TERM", "exit 3", "app", "Pod web on kubelet v1.37.2, by its log alone"} {
		assert.Check(t, said(all, words), words)
	}
	assert.Check(t, !said(all, "as the updates showed it"), "there were none")
}

// shape is a path without its place.
func shape(e element) string { return regexp.MustCompile(`^M\S+ [0-9.]+`).ReplaceAllString(e.D, "") }

// alone is the picture of a log alone.
func alone(t *testing.T, lines ...string) string {
	t.Helper()
	tr, err := trace.ReadLog(strings.NewReader(strings.Join(lines, "\n")), "v1.37.2")
	assert.NilError(t, err)
	pod := &corev1.Pod{}
	pod.Name = "web"
	pod.Spec.Containers = []corev1.Container{{Name: "app"}}
	p := Of(pod, tr, reference.Verdict{})
	return p.SVG(p.Axis())
}

// Stamps of whole seconds give no two lines the same place, and the picture says what it did.
func TestWholeSeconds(t *testing.T) {
	all := elements(t, alone(t,
		"Thu Dec 21 10:40:51 UTC 2023: app / main",
		"Thu Dec 21 10:40:51 UTC 2023: app / post start hook",
		"Thu Dec 21 10:40:51 UTC 2023: app / main",
		"Thu Dec 21 10:40:52 UTC 2023: app / main",
	))
	seen := map[string]bool{}
	for n := 1; n <= 4; n++ {
		i := slices.IndexFunc(all, func(e element) bool { return e.ID == fmt.Sprintf("line-%d", n) })
		assert.Assert(t, i >= 0)
		x, _, _ := strings.Cut(all[i].D, " ")
		assert.Check(t, !seen[x], "line %d", n)
		seen[x] = true
	}
	assert.Check(t, said(all, "Stamps of whole seconds"))
}

// A line that cannot be read, and one of a container that the Pod does not have, are drawn as well.
func TestOddLines(t *testing.T) {
	all := elements(t, alone(t, "2026-01-02T03:04:05.1Z: app / main: begin", "<hello>", "2026-01-02T03:04:05.2Z: other / main: begin"))
	assert.Check(t, said(all, "not in the Pod"))
	i := slices.IndexFunc(all, func(e element) bool { return e.ID == "line-2" })
	assert.Assert(t, i >= 0)
	assert.Check(t, is.Contains(all[i].Title, "cannot be read: <hello>"))
	for _, lines := range [][]string{{}, {"<hello>"}} {
		elements(t, alone(t, lines...)) // is well-formed
	}
}

// An instance that leaves no last line ends where a status says so, with the code of the status.
func TestEndsByStatus(t *testing.T) {
	found := 0
	for _, path := range stored(t) {
		tr := readTrace(t, path)
		p := Of(tr.Admitted(), tr, reference.Verdict{})
		var killed []*bar
		for _, l := range p.lanes {
			if l.rows[0] == nil {
				continue
			}
			for _, b := range l.rows[0].bars {
				if b.ended && b.code == "137" {
					assert.Check(t, b.shown >= b.to, path)
					if b.shown > b.to && !b.silent {
						killed = append(killed, b)
					}
				}
			}
		}
		if len(killed) == 0 {
			continue
		}
		found++
		open := classed(elements(t, p.Part(p.Axis())), "o")
		assert.Check(t, slices.ContainsFunc(open, func(e element) bool { return strings.HasSuffix(e.Title, "exit code 137; no line of it") }), "%s: %v", path, open)
	}
	assert.Check(t, found > 0, "%d traces with a killed container", found)
}

// An instance that wrote nothing is a bar all the same, where a status shows it.
func TestSilentInstance(t *testing.T) {
	p, _ := judged(t, readTrace(t, testdata("regressions", "silent-instance", "trace.jsonl")))
	open := classed(elements(t, p.SVG(p.Axis())), "o")
	assert.Check(t, slices.ContainsFunc(open, func(e element) bool { return strings.Contains(e.Title, "wrote no line") }), "%v", open)
}

// The strip shows phase, started and ready of each container as the updates had them.
func TestStrip(t *testing.T) {
	p, _ := judged(t, readTrace(t, testdata("background-hook", "poststart-blocks", "trace.jsonl")))
	var got []string
	for _, r := range append([]*statusRow{{"Pod", p.strip.phase}}, p.strip.rows...) {
		text := r.name
		for _, s := range r.stages {
			text += " | " + s.label
		}
		got = append(got, text)
	}
	assert.DeepEqual(t, got, []string{
		"Pod | Pending | Running | Running, terminating (5 s) | Succeeded, terminating (5 s) | Succeeded, terminating (0 s)",
		"container1 | ContainerCreating | started | ready | exit 0",
		"container2 | ContainerCreating | ready | exit 0",
	})
}

// The entries as text are those of the trace, and those that the verdict names say so.
func TestLines(t *testing.T) {
	tr := readTrace(t, testdata("background-hook", "poststart-blocks", "trace.jsonl"))
	p, v := judged(t, tr)
	lines := p.Lines()
	assert.Assert(t, is.Len(lines, len(tr.Entries)))
	flags := map[int]string{}
	for i, l := range lines {
		assert.Check(t, is.Equal(l.N, tr.Entries[i].Line))
		assert.Check(t, is.Contains(l.Text, says(&tr.Entries[i])))
		if l.Flag != "" {
			flags[l.N] = l.Flag
		}
	}
	assert.DeepEqual(t, flags, map[int]string{v.Line: "not allowed here", v.Because[0].Line: "forbids the refused line"})
	assert.Check(t, is.Equal(lines[0].Channel, "act"))
}

// A part of a page has no style and no legend of its own, and the page has both.
func TestPart(t *testing.T) {
	p, _ := judged(t, readTrace(t, testdata("background-hook", "poststart-blocks", "trace.jsonl")))
	part := p.Part(p.Axis())
	assert.Check(t, !strings.Contains(part, "<style>"))
	assert.Check(t, !said(elements(t, part), "probe failed"))
	assert.Check(t, said(elements(t, Legend()), "probe failed"))
	for _, e := range elements(t, Legend()) {
		assert.Check(t, e.ID == "", "a sample is no entry")
	}
}

// Dark mode has a value for each color, and every color that is used is defined.
func TestColors(t *testing.T) {
	light, dark, ok := strings.Cut(CSS, "@media (prefers-color-scheme:dark)")
	assert.Assert(t, ok)
	names := func(css, pattern string) (out []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(css, -1) {
			out = append(out, m[1])
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	defined := names(light, `(--[a-z0-9]+):`)
	for _, used := range names(CSS, `var\((--[a-z0-9]+)\)`) {
		assert.Check(t, slices.Contains(defined, used), used)
	}
	for _, name := range defined {
		if name != "--onready" { // white on blue in both
			assert.Check(t, slices.Contains(names(dark, `(--[a-z0-9]+):`), name), name)
		}
	}
	for _, m := range regexp.MustCompile(`font-size:(\d+)px`).FindAllStringSubmatch(CSS, -1) {
		size, err := strconv.Atoi(m[1])
		assert.NilError(t, err)
		assert.Check(t, size >= 12, "too small to read: %d px", size)
	}
}
