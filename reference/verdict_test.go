package reference_test

import (
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
)

// A deviation that always shows, and did not though its precondition held, makes a pass of a
// case about its rule fixed, which is not green.
func TestDue(t *testing.T) {
	const readiness = `container1#0 / main: begin
container1#0 / readiness probe: end 0
did delete
container1#0 / pre stop hook: begin
+8s
container1#0 / readiness probe: end 0
container1#0 / pre stop hook: end 0
container1#0 / main: signal TERM
container1#0 / main: end 0
`
	const dead = `container1#0 / main: begin
container2#0 / main: begin
container3#0 / main: begin
container2#0 / main: end 1
+200ms
did delete
container3#0 / main: signal TERM
container3#0 / main: end 0
container1#0 / main: signal TERM
container1#0 / main: end 0
`
	for _, tt := range []struct {
		kubelet, script, rule string
		want                  reference.Outcome
	}{
		{"v1.34.4", readiness, "probes/readiness-until-stopped", reference.Pass},
		{"v1.35.0", readiness, "probes/readiness-until-stopped", reference.Fixed},
		{"v1.35.8", readiness, "probes/readiness-until-stopped", reference.Fixed},
		{"v1.35.8", strings.ReplaceAll(readiness, "+8s", "+1s"), "probes/readiness-until-stopped", reference.Pass},
		{"v1.35.8", readiness, "sidecar/stops-last", reference.Pass},
		{"v1.36.0", readiness, "probes/readiness-until-stopped", reference.Pass},
		{"v1.36.2", readiness, "probes/readiness-until-stopped", reference.Pass},
		{"v1.36.3", readiness, "probes/readiness-until-stopped", reference.Fixed},
		{"v1.36.5", readiness, "probes/readiness-until-stopped", reference.Fixed},
		{"v1.37.0", readiness, "probes/readiness-until-stopped", reference.Pass},
		{"v1.29.6", dead, "sidecar/stops-in-turn", reference.Fixed},
		{"v1.29.7", dead, "sidecar/stops-in-turn", reference.Fixed},
		{"v1.29.7", strings.ReplaceAll(dead, "container2#0 / main: end 1\n", ""), "sidecar/stops-in-turn", reference.Pass},
		{"v1.29.8", dead, "sidecar/stops-in-turn", reference.Pass},
		{"v1.30.3", dead, "sidecar/stops-in-turn", reference.Fixed},
		{"v1.30.4", dead, "sidecar/stops-in-turn", reference.Pass},
	} {
		pod := parsePodScript(t, "sidecar container1\nsidecar container2\ncontainer3\n")
		if strings.Contains(tt.script, "readiness") {
			pod = parsePodScript(t, "container1 readiness preStop\n")
		}
		k, err := reference.ParseKubelet(tt.kubelet)
		assert.NilError(t, err)
		tr, _ := parseTraceScript(t, pod, tt.kubelet, tt.script)
		v := reference.Check(k, pod, tr)
		assert.Equal(t, v.Outcome, reference.Pass, "%s %s %s", tt.kubelet, tt.script, v.Text())
		v = v.Due([]string{"status/phase", tt.rule})
		assert.Equal(t, v.Outcome, tt.want, "%s %s", tt.kubelet, tt.script)
		assert.Equal(t, v.Issue != "", tt.want == reference.Fixed)
		v.Outcome = reference.Inconclusive
		assert.Equal(t, v.Due([]string{tt.rule}).Outcome, reference.Inconclusive)
	}
}

func TestWitnessed(t *testing.T) {
	pod := parsePodScript(t, "container1 postStart\n")
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(t, err)
	tr, _ := parseTraceScript(t, pod, "v1.37.2", "container1#0 / main: begin\ncontainer1#0 / post start hook: end 0\n")
	hook, err := trace.ParsePattern("container1 / post start hook: end 0")
	assert.NilError(t, err)
	term, err := trace.ParsePattern("container1 / main: signal TERM")
	assert.NilError(t, err)
	v := reference.Check(k, pod, tr)
	assert.Equal(t, v.Witnessed(tr, []trace.Pattern{hook}).Outcome, reference.Pass)
	v = v.Witnessed(tr, []trace.Pattern{hook, term})
	assert.Equal(t, v.Outcome, reference.Inconclusive)
	assert.Assert(t, strings.Contains(v.Reason, `no line "container1 / main: signal TERM"`), v.Text())
	bad := reference.Verdict{Outcome: reference.Violation}
	assert.Equal(t, bad.Witnessed(tr, []trace.Pattern{term}).Outcome, reference.Violation)
}

func TestOutcomes(t *testing.T) {
	var none reference.Outcome
	assert.Assert(t, !none.Green())
	assert.Equal(t, none.String(), "no verdict")
	for o := reference.Pass; o <= reference.Fixed; o++ {
		assert.Equal(t, o.Green(), o == reference.Pass)
		assert.Assert(t, o.String() != "no verdict")
	}
}

func TestVerdictJSON(t *testing.T) {
	b, err := json.Marshal(reference.Verdict{Outcome: reference.Broken, Line: 3, Log: "x"})
	assert.NilError(t, err)
	assert.Equal(t, string(b), `{"verdict":"broken","rule":"","issue":"","line":3,"log":"x","accepted":0,"allowed":[],"because":[],"unmodelled":[],"deviations":[],"assumed":[],"explained":[],"notJudged":[],"reason":""}`)
}

func TestTextSaysWhatSuspendsTheRule(t *testing.T) {
	pod := parsePodScript(t, "container1 startup liveness\n")
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(t, err)
	tr, _ := parseTraceScript(t, pod, "v1.37.2", "container1#0 / startup probe: end 0\ncontainer1#0 / liveness probe: end 0\ncontainer1#0 / startup probe: end 0\n")
	text := reference.Check(k, pod, tr).Text()
	assert.Assert(t, strings.Contains(text, "shows.\n  unless   the kubelet was restarted in between\n  source "), text)
}

// What is read of a verdict is what was written of it, all words included.
func TestVerdictIsReadAsWritten(t *testing.T) {
	words := 0
	for o := reference.Pass; o.String() != "no verdict"; o++ {
		words++
		v := reference.Verdict{
			Outcome: o, Rule: "hooks/poststart-runs", Line: 3, Log: "a / main", Accepted: 2, Allowed: []string{"b / main"},
			Because: []reference.Because{{Line: 1, Log: "x", Rule: "y"}}, Overdue: &reference.Overdue{After: "a", What: "b", Since: 1, Within: "c"},
			Deviations: []reference.Deviation{{Name: "n", Issue: "i", Lines: []int{1}}}, Reason: "because",
			Assumed: []string{"s"}, Explained: []string{"e"}, NotJudged: []string{"j"}, Unmodelled: []string{"u"},
		}
		b, err := json.Marshal(v)
		assert.NilError(t, err)
		var got reference.Verdict
		assert.NilError(t, json.Unmarshal(b, &got))
		assert.DeepEqual(t, got, v)
	}
	assert.Equal(t, words, 7)
	var v reference.Verdict
	assert.ErrorContains(t, json.Unmarshal([]byte(`{"verdict":"no verdict"}`), &v), `there is no verdict "no verdict"`)
}
