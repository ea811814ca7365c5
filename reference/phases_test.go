package reference_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

func TestPhases(t *testing.T) {
	o := explain(t, "v1.37.2", "container1 postStart preStop\ncontainer2 readiness\n")
	p := o.Phases()
	assert.Assert(t, is.Len(p, 3))
	assert.DeepEqual(t, p[0].Steps, []string{
		"container1 is started. Beside its first lines its postStart hook runs. container2 waits until it has ended.",
		"container2 is started.",
	})
	assert.DeepEqual(t, p[1].Steps, []string{
		"Until the postStart hook of container1 has ended, no regular container is probed or shown as running.",
		"container2: its readiness probe runs; it is ready when the readiness probe has succeeded.",
		"container1 has no probes: it is ready as soon as it is shown as running.",
		"If one of container1 and container2 ends, it is started again.",
	})
	assert.DeepEqual(t, p[2].Steps, []string{
		"A postStart hook that still runs ends first, and the regular containers after it are still started.",
		"The preStop hook of container1 runs.",
		"container1 and container2 get TERM, each when its own preStop hook, if it has one, has ended.",
		"What still runs when the grace period of 30 s is over gets KILL.",
	})
	assert.Equal(t, p[2].When, "the Pod is deleted")
	assert.Equal(t, p[0].Edges[0].After, "container2 / main: begin")
	assert.Equal(t, p[1].Edges[0].After, "container2 / readiness probe")
	assert.Equal(t, p[2].Edges[0].After, "container1 / pre stop hook: begin")
}

var (
	stopsAfter = regexp.MustCompile(`^(\S+) gets TERM when (.+?) ha(?:s|ve) stopped`)
	waitsFor   = regexp.MustCompile(`^(\S+) is started.* (\S+(?:(?:, \S+)* and \S+)?) waits? until (its postStart hook has ended|its startup probe has succeeded|it has exited with 0|it has ended)`)
)

// What the words say of the first lines and of the signals, the judge keeps: each sentence of a start that waits and of a
// stop that waits stands for pairs that the order has. Each edge belongs to one phase.
func TestPhasesSayWhatTheOrderHas(t *testing.T) {
	pods := tinyPods()
	checked := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		o := explainRun(t, pods[name])
		pairs := o.Pairs()
		has := func(sentence, a, b string) {
			checked[strings.Fields(sentence)[1]]++
			assert.Check(t, pairs[a+" < "+b] != "", "%s: %q, but not %s < %s", name, sentence, a, b)
		}
		edges := 0
		for _, p := range o.Phases() {
			edges += len(p.Edges)
			for _, says := range p.Steps {
				if m := stopsAfter.FindStringSubmatch(says); m != nil {
					for _, before := range names(m[2]) {
						has(says, before+" / main: signal TERM", m[1]+" / main: signal TERM")
					}
				}
				if m := waitsFor.FindStringSubmatch(says); m != nil {
					before := map[string]string{
						"its postStart hook has ended": "post start hook: end 0", "it has ended": "post start hook: end 0",
						"its startup probe has succeeded": "startup probe", "it has exited with 0": "main: end 0",
					}[m[3]]
					for _, after := range names(m[2]) {
						has(says, m[1]+" / "+before, after+" / main: begin")
					}
				}
			}
		}
		assert.Equal(t, edges, len(o.Edges), name)
	}
	assert.Check(t, checked["is"] > 10 && checked["gets"] > 10, "%v", checked)
}

// names are those of a list in a sentence.
func names(list string) []string {
	return strings.Split(strings.ReplaceAll(list, " and ", ", "), ", ")
}

func TestExplanation(t *testing.T) {
	o := explain(t, "v1.37.2", "container1 postStart\ncontainer2\n")
	text := o.Explanation()
	for _, part := range []string{
		"container1  regular container  starts at once; container2 waits until its postStart hook has ended; stops at the same time as the others\n",
		"container2  regular container  starts when the postStart hook of container1 has ended; stops at the same time as the others\n",
		"\nSTART\n  1. container1 is started.", "\nRUN\n  -  ", "\nSTOP, when the Pod is deleted\n  1. ", "\nRULES\nhooks/poststart-blocks-next  MUST  ",
	} {
		assert.Check(t, is.Contains(text, part))
	}
	for line := range strings.Lines(text) {
		assert.Check(t, len(line) < 180, line)
	}
	for _, e := range o.Edges {
		assert.Check(t, is.Contains(strings.Join(strings.Fields(text), " "), e.Before+" < "+e.After+" "+e.Rule))
	}
}
