package claims

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/reference/trace"
)

// stored returns the traces of the article's two experiments on every kubelet.
func stored(t *testing.T, experiment string) map[string]Recording {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "reference", "testdata", "article", experiment, "*.trace.jsonl"))
	assert.NilError(t, err)
	assert.Assert(t, len(paths) > 0, "no trace of %s is stored", experiment)
	out := map[string]Recording{}
	for _, path := range paths {
		f, err := os.Open(path)
		assert.NilError(t, err)
		tr, err := trace.Read(f)
		f.Close()
		assert.NilError(t, err)
		out[tr.Header.Kubelet] = Recording{Path: filepath.Base(path), Trace: tr}
	}
	return out
}

func finding(t *testing.T, results []Result, id string) Result {
	t.Helper()
	for _, r := range results {
		if r.Claim == id {
			return r
		}
	}
	t.Fatalf("no claim %q", id)
	return Result{}
}

// TestArticle: what the two experiments show was the same on every kubelet that
// they were recorded on.
func TestArticle(t *testing.T) {
	tests := []struct {
		experiment string
		want       map[string]Finding
		evidence   map[string][]string // parts of the text, in order
	}{
		{
			"S1", // container1, which has the hook, is listed first
			map[string]Finding{"a": Held, "b": NotSeen, "c": NotSeen, "d": Held, "e": Held, "f": NotSeen, "g": NotSeen, "h": Held, "i": NotSeen},
			map[string][]string{
				"a": {"container1 / post start hook", "container2 / main"},
				"d": {"container1 / main", "container1 / post start hook"},
				"e": {"phase Pending", "container1 / post start hook"},
			},
		},
		{
			"S2", // container2 is listed first
			map[string]Finding{"a": NotSeen, "b": NotSeen, "c": NotSeen, "d": Held, "e": Held, "f": NotSeen, "g": NotSeen, "h": Held, "i": NotSeen},
			map[string][]string{"h": {"container1 / post start hook"}},
		},
	}
	for _, tt := range tests {
		for kubelet, rec := range stored(t, tt.experiment) {
			t.Run(tt.experiment+"/"+kubelet, func(t *testing.T) {
				results := Evaluate([]Recording{rec})
				assert.Equal(t, len(results), 9)
				for id, want := range tt.want {
					r := finding(t, results, id)
					assert.Check(t, is.Equal(r.Finding, want), "(%s) %s", id, r.Why)
					assert.Check(t, (r.Finding == NotSeen) != (len(r.Evidence) > 0), "(%s)", id)
					for i, part := range tt.evidence[id] {
						assert.Assert(t, i < len(r.Evidence), "(%s)", id)
						assert.Check(t, is.Contains(r.Evidence[i].Text, part))
					}
					for _, e := range r.Evidence {
						assert.Check(t, e.Line > 1, "line %d is the header's", e.Line)
					}
				}
			})
		}
	}
}

// The Pods of the hand-made traces.
const (
	twoHooks = `{"metadata":{"name":"p"},"spec":{"containers":[
		{"name":"a","lifecycle":{"postStart":{"exec":{}},"preStop":{"exec":{}}}},
		{"name":"b","lifecycle":{"postStart":{"exec":{}}}}]}}`
	secondHook = `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"a"},{"name":"b","lifecycle":{"postStart":{"exec":{}}}},{"name":"c"}]}}`
)

// made makes a trace of lines "SECONDS: CHANNEL". A channel is a line of the log
// without its stamp, "event REASON CONTAINER", "did NAME" or "pod PHASE" with the
// containers that are started ("+a") and ready ("*a").
func made(t *testing.T, pod string, lines ...string) Recording {
	t.Helper()
	header := `{"trace":1,"kubelet":"v1.37.2"}` + "\n"
	var b strings.Builder
	b.WriteString(header)
	entry := func(second, body string) {
		fmt.Fprintf(&b, `{"at":"2026-01-01T00:00:%sZ",%s}`+"\n", second, body)
	}
	status := func(words []string) string {
		var m map[string]any
		assert.NilError(t, json.Unmarshal([]byte(pod), &m))
		phase, all := "Pending", map[string]map[string]any{}
		for _, c := range m["spec"].(map[string]any)["containers"].([]any) {
			name := c.(map[string]any)["name"].(string)
			all[name] = map[string]any{"name": name, "ready": false, "started": false}
		}
		for _, w := range words {
			switch {
			case strings.HasPrefix(w, "+"):
				all[w[1:]]["started"] = true
			case strings.HasPrefix(w, "*"):
				all[w[1:]]["ready"] = true
			default:
				phase = w
			}
		}
		var list []any
		for _, s := range all {
			list = append(list, s)
		}
		m["status"] = map[string]any{"phase": phase, "containerStatuses": list}
		out, err := json.Marshal(m)
		assert.NilError(t, err)
		return string(out)
	}
	for _, l := range append([]string{"00.1: pod Pending"}, lines...) {
		second, what, ok := strings.Cut(l, ": ")
		assert.Assert(t, ok, l)
		words := strings.Fields(what)
		switch words[0] {
		case "event":
			entry(second, fmt.Sprintf(`"event":{"reason":%q,"fieldPath":"spec.containers{%s}"}`, words[1], words[2]))
		case "did":
			entry(second, fmt.Sprintf(`"did":{%q:{}}`, words[1]))
		case "pod":
			entry(second, `"type":"MODIFIED","pod":`+status(words[1:]))
		default:
			entry(second, fmt.Sprintf(`"log":"2026-01-01T00:00:%sZ: %s"`, second, what))
		}
	}
	tr, err := trace.Read(strings.NewReader(b.String()))
	assert.NilError(t, err)
	return Recording{Path: "t.jsonl", Trace: tr}
}

func TestClaims(t *testing.T) {
	tests := []struct {
		name, pod, claim string
		lines            []string
		want             Finding
		note             string
		evidence         []int // lines of the trace file; the Pod is line 2
	}{
		{"next after the hook", twoHooks, "a", []string{
			"01: a#0 / main: begin", "01: a#0 / post start hook: begin", "02: a#0 / post start hook: end 0", "03: b#0 / main: begin",
		}, Held, "wrote its first line after", []int{5, 6}},
		{"next during the hook", twoHooks, "a", []string{
			"01: a#0 / post start hook: begin", "02: b#0 / main: begin", "03: a#0 / post start hook: end 0",
		}, NotHeld, "wrote before", []int{4, 5}},
		{"next after a restart of the kubelet", twoHooks, "a", []string{
			"01: a#0 / post start hook: begin", "02: did restart", "03: b#0 / main: begin",
		}, NotSeen, "", nil},
		{"a container that could not be created at first", twoHooks, "a", []string{
			"01: event Failed a", "02: b#0 / main: begin", "03: a#0 / post start hook: begin",
		}, NotSeen, "", nil},
		{"a second instance has its hook while the next container runs", twoHooks, "a", []string{
			"01: a#0 / post start hook: end 0", "02: b#0 / main: begin", "03: a#1 / post start hook: begin",
		}, Held, "after", []int{3, 4}},

		{"next in spite of a failed hook", twoHooks, "b", []string{
			"01: a#0 / post start hook: end 1", "02: b#0 / main: begin", "03: event FailedPostStartHook a", "04: a#1 / main: begin",
		}, NotHeld, "although the hook had failed", []int{4, 5}},
		{"not before the hook succeeds", twoHooks, "b", []string{
			"01: a#0 / post start hook: end 1", "02: event FailedPostStartHook a", "03: a#1 / main: begin", "04: b#0 / main: begin",
		}, Held, "before the next one", []int{4, 5}},
		{"deleted before it could be seen", twoHooks, "b", []string{
			"01: a#0 / post start hook: end 1", "02: event FailedPostStartHook a", "03: did delete",
		}, NotSeen, "", nil},

		{"hooks one after the other", twoHooks, "c", []string{
			"01: a#0 / post start hook: begin", "02: a#0 / post start hook: end 0", "03: b#0 / post start hook: begin",
		}, NotHeld, "only after", []int{4, 5}},
		{"hooks at once", twoHooks, "c", []string{
			"01: a#0 / post start hook: begin", "02: b#0 / post start hook: begin", "03: a#0 / post start hook: end 0", "03: b#0 / post start hook: end 0",
		}, Held, "at the same time", []int{3, 4}},
		{"not every container has a hook", secondHook, "c", []string{"01: b#0 / post start hook: begin"}, NotSeen, "", nil},

		{"entrypoint first", twoHooks, "d", []string{"01: a#0 / main: begin", "01: a#0 / post start hook: begin"}, Held, "entrypoint wrote first", []int{3, 4}},
		{"hook first", twoHooks, "d", []string{"01: a#0 / post start hook: begin", "01: a#0 / main: begin"}, Held, "the hook wrote first", []int{3, 4}},
		{"hook after the end", twoHooks, "d", []string{"01: a#0 / main: begin", "02: a#0 / main: end 0", "03: a#0 / post start hook: begin"}, NotHeld, "had ended before", []int{4, 5}},

		{"no hook", secondHook, "d", []string{"01: a#0 / main: begin"}, NotSeen, "", nil},

		{"nothing is shown before the hook ends", secondHook, "e", []string{
			"00.01: b#0 / post start hook: begin", "00.05: b#0 / post start hook: end 0", "02.1: pod Running +a +b",
		}, NotSeen, "", nil},
		{"pending during the hook", secondHook, "e", []string{
			"01: b#0 / post start hook: begin", "02: b#0 / post start hook: end 0", "02.1: pod Running +a +b",
		}, Held, "Pending and not started", []int{2, 4}},
		{"running during the hook", secondHook, "e", []string{
			"01: b#0 / post start hook: begin", "01.5: pod Running +a", "02: b#0 / post start hook: end 0",
		}, NotHeld, "while the hook ran", []int{4, 5}},
		{"a line that was read late", secondHook, "e", []string{
			"01: b#0 / post start hook: begin", "02.5: pod Running +a +b", "02: b#0 / post start hook: end 0",
		}, Held, "Pending and not started", []int{2, 5}},

		{"an endless hook in the middle", secondHook, "f", []string{
			"01: a#0 / main: begin", "01: b#0 / main: begin", "01: b#0 / post start hook: begin", "09: did delete", "10: b#0 / post start hook: tick",
		}, NotHeld, "so did the containers before it", []int{3, 4, 7}},
		{"an endless hook of the first", twoHooks, "f", []string{
			"01: a#0 / main: begin", "01: a#0 / post start hook: begin", "09: did delete", "10: a#0 / post start hook: tick",
		}, NotHeld, "so did its own container", []int{3, 6}},
		{"an endless hook that holds up nobody", twoHooks, "f", []string{
			"01: a#0 / post start hook: begin", "02: b#0 / main: begin", "09: did delete", "10: a#0 / post start hook: tick",
		}, NotHeld, "after it did as well", []int{4, 6}},
		{"an endless hook that dies with its container", secondHook, "f", []string{
			"01: a#0 / main: begin", "01: b#0 / main: begin", "01: b#0 / post start hook: begin", "08: b#0 / post start hook: tick",
			"09: b#0 / main: end 0", "10: c#0 / main: begin", "20: did delete",
		}, NotHeld, "so did the containers before it", []int{3, 4, 6}},
		{"a shell's hook, which marks no end", secondHook, "f", []string{
			"01: a / main", "01: b / main", "01: b / post start hook", "08: b / post start hook", "10: c / main", "20: did delete",
		}, NotSeen, "", nil},
		{"nothing but an endless hook", twoHooks, "f", []string{
			"01: a#0 / post start hook: begin", "09: did delete", "10: a#0 / post start hook: tick",
		}, Held, "no container did", []int{5}},
		{"a hook that ends after the deletion", twoHooks, "f", []string{
			"01: a#0 / main: begin", "01: a#0 / post start hook: begin", "09: did delete", "10: a#0 / post start hook: end 0",
		}, NotSeen, "", nil},

		{"preStop works", twoHooks, "g", []string{"09: did delete", "10: a#0 / pre stop hook: end 0"}, Held, "no Event came", []int{4}},
		{"preStop fails", twoHooks, "g", []string{"09: did delete", "10: a#0 / pre stop hook: end 3", "11: event FailedPreStopHook a"}, Held, "FailedPreStopHook came", []int{4, 5}},
		{"preStop works, and an Event", twoHooks, "g", []string{"09: did delete", "10: a#0 / pre stop hook: end 0", "11: event FailedPreStopHook a"}, NotHeld, "succeeded", []int{4, 5}},
		{"preStop works in the second instance", twoHooks, "g", []string{
			"05: event FailedPreStopHook a", "09: did delete", "10: a#1 / pre stop hook: end 0",
		}, NotSeen, "", nil},
		{"preStop fails, and no Event", twoHooks, "g", []string{"09: did delete", "10: a#0 / pre stop hook: end 3"}, NotSeen, "no Event was seen", []int{4}},

		{"ready after the hook", secondHook, "h", []string{
			"01: b#0 / post start hook: begin", "02: b#0 / post start hook: end 0", "02.1: pod Running +a *a +b +c", "02.2: pod Running *a *b *c",
		}, Held, "another container was ready first", nil},
		{"ready during the hook", secondHook, "h", []string{
			"01: b#0 / post start hook: begin", "01.5: pod Running *a", "02: b#0 / post start hook: end 0", "02.2: pod Running *a *b *c",
		}, NotHeld, "before the last line", []int{4, 5}},
		{"never ready", secondHook, "h", []string{"01: b#0 / post start hook: begin", "02: b#0 / post start hook: end 0"}, NotSeen, "", nil},

		{"once", twoHooks, "i", []string{"01: a#0 / post start hook: begin", "05: a#1 / post start hook: begin"}, NotSeen, "began for an instance (2)", []int{3}},
		{"twice", twoHooks, "i", []string{"01: a#0 / pre stop hook: begin", "05: a#0 / pre stop hook: begin"}, Held, "ran again", []int{3, 4}},
	}
	covered := map[string]map[Finding]bool{}
	for _, tt := range tests {
		t.Run(tt.claim+"/"+tt.name, func(t *testing.T) {
			r := finding(t, Evaluate([]Recording{made(t, tt.pod, tt.lines...)}), tt.claim)
			assert.Equal(t, r.Finding, tt.want, r.Why)
			assert.Check(t, is.Contains(r.Why, tt.note))
			if tt.evidence != nil {
				var got []int
				for _, e := range r.Evidence {
					got = append(got, e.Line)
				}
				assert.DeepEqual(t, got, tt.evidence)
			}
			if covered[tt.claim] == nil {
				covered[tt.claim] = map[Finding]bool{}
			}
			covered[tt.claim][r.Finding] = true
		})
	}
	for _, c := range Claims() {
		assert.Check(t, covered[c.ID][Held] && covered[c.ID][NotSeen], "(%s) is not tested both ways", c.ID)
		// A claim that something may happen cannot be refuted.
		assert.Check(t, covered[c.ID][NotHeld] || c.ID == "i", "(%s) cannot fail", c.ID)
	}
}

// TestAddedContainer: nothing follows from the silence of a container that somebody else added.
func TestAddedContainer(t *testing.T) {
	rec := made(t, secondHook, "01: b#0 / post start hook: end 1", "02: event FailedPostStartHook b", "03: b#1 / main: begin")
	assert.Equal(t, finding(t, Evaluate([]Recording{rec}), "b").Finding, Held)
	rec.Added = []string{"c"}
	assert.Equal(t, finding(t, Evaluate([]Recording{rec}), "b").Finding, NotSeen)
}

// TestOneAgainstMany: a claim that did not hold once did not hold, and the lines
// are those of that time.
func TestOneAgainstMany(t *testing.T) {
	good := made(t, twoHooks, "01: a#0 / post start hook: end 0", "02: b#0 / main: begin")
	bad := made(t, twoHooks, "01: b#0 / main: begin", "02: a#0 / post start hook: end 0")
	bad.Path = "bad.jsonl"
	r := finding(t, Evaluate([]Recording{good, good, bad, good}), "a")
	assert.Equal(t, r.Finding, NotHeld)
	assert.Equal(t, r.Evidence[0].Trace, "bad.jsonl")
	assert.Check(t, is.Contains(r.Why, "(3)"))
	assert.Check(t, is.Contains(r.Why, "(1)"))
}

// TestTheRarestIsShown: of two things that bear a claim out, the reader sees the one
// that is seldom seen.
func TestTheRarestIsShown(t *testing.T) {
	often := made(t, twoHooks, "01: a#0 / main: begin", "01: a#0 / post start hook: begin")
	seldom := made(t, twoHooks, "01: a#0 / post start hook: begin", "01: a#0 / main: begin")
	seldom.Path = "z.jsonl"
	r := finding(t, Evaluate([]Recording{often, seldom, often}), "d")
	assert.Equal(t, r.Finding, Held)
	assert.Equal(t, r.Why, "the entrypoint wrote first, the hook while it ran (2); the hook wrote first (1)")
	assert.Equal(t, r.Evidence[0].Trace, "z.jsonl")
}

// TestNothing: without a trace nothing is seen.
func TestNothing(t *testing.T) {
	for _, recordings := range [][]Recording{nil, {{Path: "x"}}, {{Path: "x", Trace: &trace.Trace{}}}} {
		results := Evaluate(recordings)
		assert.Equal(t, len(results), len(claims))
		for _, r := range results {
			assert.Equal(t, r.Finding, NotSeen)
		}
	}
}

func TestText(t *testing.T) {
	good := made(t, twoHooks, "01: a#0 / post start hook: end 0", "02: b#0 / main: begin")
	bad := made(t, twoHooks, "01: b#0 / main: begin", "02: a#0 / post start hook: end 0")
	columns := []Column{
		{"v1.28.5", Evaluate([]Recording{good})},
		{"v1.33.13", Evaluate([]Recording{good})},
		{"v1.37.2", Evaluate([]Recording{bad})},
		{"v1.38.0", Evaluate(nil)},
	}
	lines := strings.Split(Table(columns), "\n")
	assert.Equal(t, lines[0], "claim  v1.28.5   v1.33.13  v1.37.2       v1.38.0")
	assert.Equal(t, lines[1], "(a)    held      held      did not hold  not seen  "+claims[0].Says)
	assert.Equal(t, len(lines), 11)
	text := Text(columns)
	assert.Check(t, is.Contains(text, "\n    did not hold on v1.37.2: the next container wrote before the last line of the hook (1)\n        t.jsonl:3  "))
	assert.Check(t, is.Contains(text, "\n    held on v1.28.5, v1.33.13: "))
	assert.DeepEqual(t, Differ(columns), []string{"a"})
	assert.Equal(t, len(Differ(columns[:2])), 0)
	assert.Equal(t, len(Differ([]Column{columns[0], columns[3]})), 0)

	b, err := json.Marshal(columns[2])
	assert.NilError(t, err)
	assert.Check(t, is.Contains(string(b), `"claim":"a"`))
	assert.Check(t, is.Contains(string(b), `"finding":"did not hold"`))
}
