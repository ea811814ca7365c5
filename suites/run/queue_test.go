package run

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	"pgregory.net/rapid"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference/trace"
)

// who returns the runs that have their turn, as "NAME@NODE".
func who(runs map[string]*ticket) string {
	var out []string
	for name, t := range runs {
		select {
		case <-t.turn:
			out = append(out, name+"@"+t.place)
		default:
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestQueue(t *testing.T) {
	join := func(q *queue, runs map[string]*ticket, name string, n need) { runs[name] = q.join(1, n)[0] }
	t.Run("nothing begins before all are known", func(t *testing.T) {
		q, runs := newQueue(1, 1, 10), map[string]*ticket{}
		q.expect(3)
		join(q, runs, "short", need{nodes: []string{"n"}, length: 1})
		q.settled()
		join(q, runs, "longer", need{nodes: []string{"n"}, length: 2})
		q.settled()
		assert.Equal(t, who(runs), "")
		q.settled() // a flag excludes the third
		assert.Equal(t, who(runs), "longer@n")
		q.leave(runs["longer"])
		assert.Equal(t, who(runs), "longer@n short@n")
	})
	t.Run("long cases take no place from the others", func(t *testing.T) {
		q, runs := newQueue(1, 2, 10), map[string]*ticket{}
		q.expect(1)
		for i := range 3 {
			join(q, runs, fmt.Sprintf("long%d", i), need{nodes: []string{"n"}, long: true, length: i})
			join(q, runs, fmt.Sprintf("short%d", i), need{nodes: []string{"n"}, length: i})
		}
		q.settled()
		assert.Equal(t, who(runs), "long1@n long2@n short2@n")
	})
	t.Run("a node takes no more than it can", func(t *testing.T) {
		q, runs := newQueue(10, 10, 2), map[string]*ticket{}
		for i := range 5 {
			join(q, runs, fmt.Sprint(i), need{nodes: []string{"m", "n"}})
		}
		assert.Equal(t, who(runs), "0@m 1@m 2@n 3@n")
	})
	t.Run("alone on a shared node comes last", func(t *testing.T) {
		q, runs := newQueue(1, 1, 10), map[string]*ticket{}
		q.expect(1)
		join(q, runs, "alone", need{nodes: []string{"n"}, alone: true, shared: true, length: 9})
		join(q, runs, "a", need{nodes: []string{"n"}})
		join(q, runs, "b", need{nodes: []string{"n"}})
		q.settled()
		assert.Equal(t, who(runs), "a@n")
		q.leave(runs["a"])
		q.leave(runs["b"])
		assert.Equal(t, who(runs), "a@n alone@n b@n")
		join(q, runs, "late", need{nodes: []string{"n"}})
		assert.Equal(t, who(runs), "a@n alone@n b@n", "the node is taken")
		q.leave(runs["alone"])
		assert.Equal(t, who(runs), "a@n alone@n b@n late@n")
	})
	t.Run("alone on a node of its own comes first", func(t *testing.T) {
		q, runs := newQueue(2, 1, 10), map[string]*ticket{}
		q.expect(1)
		join(q, runs, "a", need{nodes: []string{"n"}, length: 9})
		join(q, runs, "b", need{nodes: []string{"n"}, length: 8})
		join(q, runs, "alone1", need{nodes: []string{"x"}, alone: true})
		join(q, runs, "alone2", need{nodes: []string{"x"}, alone: true})
		q.settled()
		assert.Equal(t, who(runs), "a@n alone1@x")
	})
	t.Run("who gives up leaves no gap", func(t *testing.T) {
		q, runs := newQueue(1, 1, 10), map[string]*ticket{}
		join(q, runs, "a", need{nodes: []string{"n"}})
		join(q, runs, "b", need{nodes: []string{"n"}})
		join(q, runs, "c", need{nodes: []string{"n"}})
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errInterrupted)
		_, err := q.await(ctx, runs["b"])
		assert.ErrorIs(t, err, errInterrupted)
		q.leave(runs["b"]) // a second time does nothing
		assert.Equal(t, who(runs), "a@n")
		_, err = q.await(ctx, runs["a"]) // it had its turn, and gives it back
		assert.ErrorIs(t, err, errInterrupted)
		assert.Equal(t, who(runs), "a@n c@n")
	})
}

// TestQueueEnds: whatever is asked for, everyone has a turn in the end, no limit
// is exceeded, and who is alone is alone.
func TestQueueEnds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		q := newQueue(rapid.IntRange(1, 3).Draw(rt, "short"), rapid.IntRange(1, 3).Draw(rt, "long"), rapid.IntRange(1, 4).Draw(rt, "perNode"))
		var all []*ticket
		n := rapid.IntRange(1, 20).Draw(rt, "n")
		q.expect(n)
		for range n {
			nodes := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x", "y", "z"}), 1, 3, rapid.ID).Draw(rt, "nodes")
			all = append(all, q.join(rapid.IntRange(1, 3).Draw(rt, "runs"), need{
				nodes: nodes, alone: rapid.Bool().Draw(rt, "alone"), shared: rapid.Bool().Draw(rt, "shared"),
				long: rapid.Bool().Draw(rt, "islong"), length: rapid.IntRange(0, 5).Draw(rt, "length"),
			})...)
			q.settled()
		}
		left := map[*ticket]bool{}
		for range all {
			var turns []*ticket
			short, long, on := 0, 0, map[string][]*ticket{}
			for _, tk := range all {
				select {
				case <-tk.turn:
					if !left[tk] {
						turns = append(turns, tk)
						on[tk.place] = append(on[tk.place], tk)
						if tk.long {
							long++
						} else {
							short++
						}
					}
				default:
				}
			}
			if len(turns) == 0 {
				rt.Fatalf("nobody has a turn, and %d wait", len(q.waiting))
			}
			if short > q.short || long > q.long {
				rt.Fatalf("%d short and %d long run", short, long)
			}
			for node, here := range on {
				if len(here) > q.perNode || len(here) > 1 && slices.ContainsFunc(here, func(tk *ticket) bool { return tk.alone }) {
					rt.Fatalf("too many on node %s", node)
				}
			}
			gone := turns[rapid.IntRange(0, len(turns)-1).Draw(rt, "gone")]
			left[gone] = true
			q.leave(gone)
		}
		if len(q.waiting) > 0 {
			rt.Fatalf("%d wait for ever", len(q.waiting))
		}
	})
}

func TestRoom(t *testing.T) {
	const gib = 1 << 30
	tests := []struct {
		name                 string
		l                    limits
		short, long, perNode int
	}{
		{"two CPUs", limits{cpus: 2, pods: 110, memory: 24 * gib}, 12, 16, 25},
		{"one CPU", limits{cpus: 1, pods: 110, memory: 24 * gib}, 6, 8, 25},
		{"many CPUs, and no more Pods", limits{cpus: 64, pods: 110, memory: 24 * gib}, 384, 512, 25},
		{"little memory", limits{cpus: 2, pods: 110, memory: gib / 2}, 12, 16, 5},
		{"few Pods", limits{cpus: 2, pods: 18, memory: 24 * gib}, 12, 16, 2},
		{"many CPUs, and few inotify instances", limits{cpus: 16, pods: 110, memory: 24 * gib, followed: 60}, 40, 20, 25},
		{"hardly any inotify instance", limits{cpus: 2, pods: 110, memory: 24 * gib, followed: 1}, 1, 1, 25},
		{"nothing known", limits{}, 4, 8, 1},
		{"what the user says", limits{cpus: 2, pods: 110, memory: 24 * gib, asked: 3}, 3, 3, 25},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			short, long, perNode := room(tt.l)
			assert.DeepEqual(t, []int{short, long, perNode}, []int{tt.short, tt.long, tt.perNode})
		})
	}
}

// TestWhatAPodSaysAboutTime: however its manifest is written, the longest of what it asks for counts.
func TestWhatAPodSaysAboutTime(t *testing.T) {
	const ticks = "command: [recorder, main, -container, main, -ticks, \"12\", -every, 250ms, -idle, 0s]"
	tests := []struct {
		name, container string // what container main has beside its name and its volume
		want            int
	}{
		{"nothing", "", 0},
		{"ticks", ticks, 3},
		{"ticks, one argument a line", "command: [recorder]\nargs:\n- main\n- -ticks\n- \"12\"\n- -every\n- 250ms", 3},
		{"the longest of two", ticks + "\nlifecycle: {preStop: {exec: {command: [recorder, pre-stop-hook, -ticks, \"40\", -every, 1s]}}}", 40},
		{"a hook and a probe", "lifecycle: {postStart: {exec: {command: [recorder, post-start-hook, -ticks, \"7\", -every, 1s]}}}\n" +
			"livenessProbe: {exec: {command: [recorder, liveness-probe, -ticks, \"9\", -every, 1s]}}", 9},
		{"an initial delay", "readinessProbe: {exec: {command: [recorder]}, initialDelaySeconds: 60, periodSeconds: 5}", 60},
		{"a sleep hook", "lifecycle:\n  preStop:\n    sleep:\n      seconds: 7", 7},
		{"a time that is none", strings.Replace(ticks, "250ms", "soon", 1), 0},
		{"ticks without end", "command: [recorder, main, -ticks]", 0},
		{"a comment", "# -ticks, \"12\", -every, 1s", 0},
		{"a period is not waited out", "readinessProbe: {exec: {command: [recorder]}, periodSeconds: 30, timeoutSeconds: 20}", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pod := `apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  terminationGracePeriodSeconds: 30
  volumes: [{name: log-volume, emptyDir: {}}]
  containers:
  - name: main
    image: podorder/recorder:1
    volumeMounts: [{name: log-volume, mountPath: /log}]
` + indent("    ", tt.container)
			cases, err := fixtures.Load(fstest.MapFS{
				"g/a/pod.yaml":  {Data: []byte(pod)},
				"g/a/case.yaml": {Data: []byte("title: A.\nrules: [a/b]\nsteps: [{delete: {}}]\nwitness: [\"main / main: begin\"]\n")},
			})
			assert.NilError(t, err)
			assert.Equal(t, delay(cases[0]), tt.want)
		})
	}
}

func indent(by, text string) string {
	if text == "" {
		return ""
	}
	return by + strings.ReplaceAll(text, "\n", "\n"+by) + "\n"
}

func TestPatience(t *testing.T) {
	await := func(d time.Duration) fixtures.Step { return fixtures.Step{Await: &fixtures.Await{Within: d}} }
	remove := fixtures.Step{Act: &trace.Act{Name: trace.ActRemove}}
	all, most := patience(fixtures.Case{Steps: []fixtures.Step{await(0), await(2 * time.Minute), remove, await(0)}})
	assert.Equal(t, all, 60+120+30+60)
	assert.Equal(t, most, 120)
	assert.Assert(t, !isLong(fixtures.Case{Steps: []fixtures.Step{await(0)}}))
}

func TestKindsOfCases(t *testing.T) {
	act := func(name string) fixtures.Step { return fixtures.Step{Act: &trace.Act{Name: name}} }
	tests := []struct {
		name                   string
		steps                  []fixtures.Step
		long, onNode, disturbs bool
	}{
		{"a short one", []fixtures.Step{{Await: &fixtures.Await{Within: 60e9}}, act(trace.ActDelete)}, false, false, false},
		{"a long one", []fixtures.Step{{Await: &fixtures.Await{Within: 180e9}}}, true, false, false},
		{"one that stops a sandbox", []fixtures.Step{act(trace.ActStop)}, false, true, false},
		{"one that restarts the kubelet", []fixtures.Step{{Act: &trace.Act{Name: trace.ActRestart, Param: []byte(`"kubelet"`)}}}, false, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := fixtures.Case{Steps: tt.steps}
			assert.Check(t, is.Equal(isLong(c), tt.long))
			assert.Check(t, is.Equal(onNode(c), tt.onNode))
			assert.Check(t, is.Equal(disturbs(c), tt.disturbs))
		})
	}
}
