package reference_test

import (
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
)

// A listed issue that always shows and did not makes a pass fixed, which is not
// green; one that shows by chance does not.
func TestDue(t *testing.T) {
	pass := reference.Verdict{Outcome: reference.Pass}
	for _, tt := range []struct {
		kubelet, rule string
		want          reference.Outcome
	}{
		{"v1.34.4", "probes/readiness-until-stopped", reference.Pass},
		{"v1.35.0", "probes/readiness-until-stopped", reference.Fixed},
		{"v1.35.8", "probes/readiness-until-stopped", reference.Fixed},
		{"v1.36.0", "probes/readiness-until-stopped", reference.Pass},
		{"v1.36.2", "probes/readiness-until-stopped", reference.Pass},
		{"v1.36.3", "probes/readiness-until-stopped", reference.Fixed},
		{"v1.36.5", "probes/readiness-until-stopped", reference.Fixed},
		{"v1.37.0", "probes/readiness-until-stopped", reference.Pass},
		{"v1.37.2", "probes/readiness-until-stopped", reference.Pass},
		{"v1.36.3", "probes/startup-gates", reference.Pass},
		{"v1.29.6", "sidecar/stops-in-turn", reference.Fixed},
		{"v1.29.7", "sidecar/stops-in-turn", reference.Fixed},
		{"v1.29.8", "sidecar/stops-in-turn", reference.Pass},
		{"v1.30.3", "sidecar/stops-in-turn", reference.Fixed},
		{"v1.30.4", "sidecar/stops-in-turn", reference.Pass},
		{"v1.31.0", "sidecar/stops-in-turn", reference.Pass},
	} {
		k, err := reference.ParseKubelet(tt.kubelet)
		assert.NilError(t, err)
		v := pass.Due(k, []string{"status/phase", tt.rule})
		assert.Equal(t, v.Outcome, tt.want, "%s %s", tt.kubelet, tt.rule)
		assert.Equal(t, v.Issue != "", tt.want == reference.Fixed)
	}
	k, err := reference.ParseKubelet("v1.36.3")
	assert.NilError(t, err)
	bad := reference.Verdict{Outcome: reference.Inconclusive}
	assert.Equal(t, bad.Due(k, []string{"probes/readiness-until-stopped"}).Outcome, reference.Inconclusive)
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
	assert.Equal(t, string(b), `{"verdict":"broken","rule":"","issue":"","line":3,"log":"x","accepted":0,"allowed":[],"because":[],"unmodelled":[],"reason":""}`)
}

func TestTextSaysWhatSuspendsTheRule(t *testing.T) {
	pod := parsePodScript(t, "container1 startup liveness\n")
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(t, err)
	tr, _ := parseTraceScript(t, pod, "v1.37.2", "container1#0 / startup probe: end 0\ncontainer1#0 / liveness probe: end 0\ncontainer1#0 / startup probe: end 0\n")
	text := reference.Check(k, pod, tr).Text()
	assert.Assert(t, strings.Contains(text, "shows.\n  unless   the kubelet was restarted in between\n  source "), text)
}
