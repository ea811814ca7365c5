package reference_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/trace"
)

// What the order says of updates is held against runs of the executable kubelet: an update
// never comes before a line that it waits for, and it does come before any other in some run.
func TestExplainedUpdates(t *testing.T) {
	const most = 1000
	compared := 0
	pods := tinyPods()
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		t.Run(name, func(t *testing.T) {
			p, r := pods[name], rand.New(rand.NewPCG(18, 6))
			o := explainRun(t, p)
			pairs := o.Pairs()
			both, first := map[string]bool{}, map[string]bool{}
			open := func() bool { // a pair that the order does not have was not seen the other way round
				for pair := range both {
					if pairs[pair] == "" && !first[pair] {
						return true
					}
				}
				return false
			}
			runs := 0
			for ; runs < 20 || runs < most && open(); runs++ {
				tr := lifeOf(t, p, r)
				lines, updates := seenIn(t, p, tr)
				for a, written := range lines {
					for u, shown := range updates {
						pair := a + " < " + u
						both[pair] = true
						if shown.Add(clocks).Before(written.at) {
							first[pair] = true
						}
					}
				}
				for pair, rule := range pairs {
					a, b, _ := strings.Cut(pair, " < ")
					x, seen := lines[a]
					if y, too := lines[b]; seen && too {
						assert.Check(t, x.n < y.n, "%s by %s\n%s", pair, rule, kubelet.Timeline(tr))
					}
				}
			}
			for pair := range both {
				compared++
				switch {
				case pairs[pair] != "" && first[pair]:
					t.Errorf("%s by %s, and a run has them the other way round", pair, pairs[pair])
				case pairs[pair] == "" && !first[pair]:
					t.Errorf("%s in each of %d runs, and the order does not say so", pair, runs)
				}
			}
		})
	}
	assert.Assert(t, compared > 150, "%d pairs were compared", compared)
}

func explainRun(t *testing.T, p kubelet.Pod) reference.Order {
	t.Helper()
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(t, err)
	o, err := reference.Explain(k, p.Manifest())
	assert.NilError(t, err)
	return o
}

// A run in which what an edge orders is exchanged is refused, for that rule or another one that
// the order names.
func TestExplainedEdgesAreRefused(t *testing.T) {
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(t, err)
	exchanged, named, other := 0, 0, 0
	pods := tinyPods()
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		t.Run(name, func(t *testing.T) {
			p, r := pods[name], rand.New(rand.NewPCG(6, 18))
			o := explainRun(t, p)
			for _, e := range o.Edges {
				for try := 0; ; try++ {
					assert.Assert(t, try < 50, "no run shows %s and %s", e.Before, e.After)
					tr := lifeOf(t, p, r)
					lines, updates := seenIn(t, p, tr)
					before, seen := lines[e.Before]
					after, isLine := lines[e.After]
					shown, isUpdate := updates[e.After]
					if !seen || !isLine && !isUpdate {
						continue
					}
					if !isLine {
						after.n = slices.IndexFunc(tr.Entries, func(x trace.Entry) bool { return x.Pod != nil && x.At.Equal(shown) })
					}
					tr, before.n, after.n = alone(tr, before.n, after.n)
					var rules []string
					for _, changed := range []*trace.Trace{later(t, tr, before.n, after.n), earlier(t, tr, before.n, after.n)} {
						if changed == nil {
							continue
						}
						v := reference.Check(k, p.Manifest(), changed)
						rules = append(rules, v.Rule)
						exchanged++
						assert.Check(t, v.Outcome == reference.Violation, "%s < %s by %s: %s\n%s", e.Before, e.After, e.Rule, v.Text(), kubelet.Timeline(changed))
					}
					if slices.Contains(rules, e.Rule) {
						named++
					} else {
						other++
						t.Logf("%s < %s by %s: refused by %s", e.Before, e.After, e.Rule, rules)
						// An update that shows the regular containers shows the end of the init containers as well, and
						// what comes after that may break several rules.
						shows := !isLine && strings.HasSuffix(e.Before, " / main: end 0")
						assert.Check(t, shows || slices.ContainsFunc(o.Edges, func(other reference.Edge) bool { return slices.Contains(rules, other.Rule) }))
					}
					break
				}
			}
		})
	}
	t.Logf("%d changes refused; %d edges by the very rule, %d by another", exchanged, named, other)
	assert.Assert(t, named > 70 && named > 4*other, "%d edges by their rule, %d by another", named, other)
}

// alone is the lines and acts of a trace, and of the rest no more than entry b; and where a and b are in it. The other
// updates and the Events show much of it again.
func alone(tr *trace.Trace, a, b int) (less *trace.Trace, x, y int) {
	var entries []trace.Entry
	for n, e := range tr.Entries {
		if n == a {
			x = len(entries)
		}
		if n == b {
			y = len(entries)
		}
		if n == b || e.Log != nil || e.Did != nil {
			entries = append(entries, e)
		}
	}
	return numbered(tr, entries), x, y
}

// later is the trace in which line a comes after b, which is a line or an update.
func later(t *testing.T, tr *trace.Trace, a, b int) *trace.Trace {
	t.Helper()
	at := tr.Entries[b].At
	if tr.Entries[b].Pod != nil {
		at = at.Add(time.Second)
	}
	line := textOf(t, tr.Entries[a])
	rest := slices.DeleteFunc(slices.Clone(tr.Entries), func(e trace.Entry) bool {
		return e.Log != nil && textOf(t, e) == line && !e.At.After(at) // a probe has more than one line
	})
	to := slices.IndexFunc(rest, func(e trace.Entry) bool { return e.At.After(at) })
	if to < 0 {
		to = len(rest)
	}
	return numbered(tr, slices.Insert(rest, to, stampedAs(t, tr.Entries[a], at)))
}

// earlier is the trace in which line b comes before line a; nil if b is none.
func earlier(t *testing.T, tr *trace.Trace, a, b int) *trace.Trace {
	t.Helper()
	if tr.Entries[b].Log == nil {
		return nil
	}
	l, err := trace.ParseLine(*tr.Entries[a].Log)
	assert.NilError(t, err)
	rest := slices.Delete(slices.Clone(tr.Entries), b, b+1)
	return numbered(tr, slices.Insert(rest, a, stampedAs(t, tr.Entries[b], l.Time)))
}

func textOf(t *testing.T, e trace.Entry) string {
	t.Helper()
	l, err := trace.ParseLine(*e.Log)
	assert.NilError(t, err)
	return nameOf(l.String())
}

// stampedAs is a line that was written, and arrived, at another time.
func stampedAs(t *testing.T, e trace.Entry, at time.Time) trace.Entry {
	t.Helper()
	l, err := trace.ParseLine(*e.Log)
	assert.NilError(t, err)
	text := at.Format(time.RFC3339Nano) + ": " + l.String()
	e.At, e.Log = at, &text
	return e
}

func numbered(tr *trace.Trace, entries []trace.Entry) *trace.Trace {
	changed := *tr
	changed.Entries = entries
	for n := range entries {
		entries[n].Line = n + 1
	}
	return &changed
}

// lifeOf is a run of the Pod in which nothing fails, and the grace period of its deletion does not run out.
func lifeOf(t *testing.T, p kubelet.Pod, r *rand.Rand) *trace.Trace {
	t.Helper()
	within := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
	some := []time.Duration{10 * time.Millisecond, time.Second, 4 * time.Second}
	any := func() time.Duration { return within(some[r.IntN(len(some))]) }
	s := kubelet.Script{Programs: map[string]kubelet.Program{}, Lasts: time.Minute}
	for _, c := range p.All() {
		program := kubelet.Program{
			Starts: any(), Stops: any(), PostStart: kubelet.Hook{Takes: any()}, PreStop: kubelet.Hook{Takes: any()},
			Readiness: kubelet.After(any()), Liveness: kubelet.After(0),
		}
		if isInit := slices.ContainsFunc(p.Init, func(i kubelet.Container) bool { return i.Name == c.Name && !i.Sidecar }); isInit || c.Exits && r.IntN(3) > 0 {
			program.Runs = any() + time.Millisecond
		}
		s.Programs[c.Name] = program
	}
	s.Acts = []kubelet.Act{kubelet.Delete(within(20*time.Second), 600)}
	run, err := kubelet.Play(p, "v1.37.2", s, kubelet.Seed(r.Uint64()))
	assert.NilError(t, err)
	return run.Trace
}

// clocks is by how much the stamp of a line and the arrival of an update may differ.
const clocks = 200 * time.Millisecond

// written is the place of a line in the log, and its stamp.
type written struct {
	n  int
	at time.Time
}

// note takes what is seen for the first time.
func note[T any](seen map[string]T, name string, at T) {
	if _, ok := seen[name]; !ok {
		seen[name] = at
	}
}

// seenIn is the lines that the first instances of a run have written, and when the first update came that shows
// what the order has.
func seenIn(t *testing.T, p kubelet.Pod, tr *trace.Trace) (lines map[string]written, updates map[string]time.Time) {
	t.Helper()
	lines, updates = map[string]written{}, map[string]time.Time{}
	for n, e := range tr.Entries {
		switch {
		case e.Log != nil:
			l, err := trace.ParseLine(*e.Log)
			assert.NilError(t, err)
			if l.Run == 0 && l.Mark.Kind != trace.Tick && (l.Mark.Kind != trace.End || l.Mark.N == 0) {
				note(lines, nameOf(l.String()), written{n, l.Time})
			}
		case e.Pod != nil:
			var running []string
			for _, cs := range slices.Concat(e.Pod.Status.InitContainerStatuses, e.Pod.Status.ContainerStatuses) {
				spec := p.All()[slices.IndexFunc(p.All(), func(c kubelet.Container) bool { return c.Name == cs.Name })]
				if cs.RestartCount > 0 || cs.State.Running == nil {
					continue
				}
				if cs.Ready && spec.Readiness != nil {
					note(updates, "status: "+cs.Name+" ready", e.At)
				}
				if slices.ContainsFunc(p.Containers, func(c kubelet.Container) bool { return c.Name == cs.Name }) {
					running = append(running, cs.Name)
				}
			}
			if len(running) == len(p.Containers) {
				note(updates, "status: "+strings.Join(running, " and ")+" running", e.At)
			}
		}
	}
	return lines, updates
}
