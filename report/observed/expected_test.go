package observed

import (
	"slices"
	"testing"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"

	"gotest.tools/v3/assert"
)

// unseen are the changes that no row is about, each with the reason.
var unseen = map[kubelet.Change]string{
	kubelet.Sidecars:              "the cases with sidecars are meant for the releases that have them",
	kubelet.SleepHook:             "the cases with hooks that sleep are meant for the releases that have them",
	kubelet.CreatedWithColon:      "Events are not part of a behaviour",
	kubelet.ZeroGraceIsOne:        "the containers of terminate/forced end at TERM",
	kubelet.SidecarImageChange:    "the cases that change the image of a sidecar are meant for the releases that restart it",
	kubelet.TriggerRestartsTicker: "a behaviour does not have the time of a second probe",
	kubelet.SleepZero:             "its case is meant for the releases that have it",
	kubelet.SandboxTells:          "it needs a sandbox that dies before a regular container has been shown",
	kubelet.RestartRules:          "the cases are meant for the releases that have them",
	kubelet.EventsWithoutNames:    "Events are not part of a behaviour",
	kubelet.RestartAllContainers:  "the cases are meant for the releases that have it",
	kubelet.LostInitInferred:      "it is the end of a known fault, static-init-forgotten",
	kubelet.InitPerSandbox:        "it is the end of a known fault, init-skipped",
	kubelet.SandboxReason:         "reasons of conditions are not part of a behaviour",
	kubelet.EvictedStaysFailed:    "no case has a kubelet evict a Pod for lack of resources",
}

// Every change has a row, or a reason why not.
func TestEveryChangeIsExpected(t *testing.T) {
	seen := map[kubelet.Change]bool{}
	for _, e := range expectations {
		for _, of := range append([]trait{e.trait}, e.also...) {
			if !of.faulty && of.versions == "" {
				seen[of.change] = true
			}
		}
	}
	for _, s := range shifts {
		seen[s.trait.change] = true
	}
	for _, c := range kubelet.Changes() {
		assert.Check(t, seen[c.Change] != (unseen[c.Change] != ""), "%s: a row, or a reason why there is none", c.Says)
	}
}

// A row asks of cases that there are, on two kubelets that differ in it, what can be understood.
func TestExpectations(t *testing.T) {
	cases, err := fixtures.All()
	assert.NilError(t, err)
	for _, e := range expectations {
		assert.Check(t, len(e.shows) > 0)
		for id, text := range e.shows {
			_, err := ParseFeature(text)
			assert.Check(t, err)
			at := slices.IndexFunc(cases, func(c fixtures.Case) bool { return c.ID == id })
			assert.Assert(t, at >= 0, "there is no case %s", id)
			on := map[bool]bool{}
			for _, v := range kubelet.Versions() {
				k, err := rules.ParseKubelet(v)
				assert.NilError(t, err)
				release, err := trace.ParseRelease(v)
				assert.NilError(t, err)
				if cases[at].Versions.Has(release) {
					on[e.shownBy(k)] = true
				}
			}
			assert.Check(t, len(on) == 2, "%s: all kubelets that run it show %q, or none does", id, text)
		}
	}
	for _, s := range shifts {
		assert.Check(t, s.trait.cause().Says != "")
	}
}

func TestParseFeature(t *testing.T) {
	for _, bad := range []string{"a >= many", "no figure > 3", "delete to TERM > x"} {
		_, err := ParseFeature(bad)
		assert.Check(t, err != nil, bad)
	}
	b := Behaviour{
		Events:  []Event{{"a / main: begin", 1, 1}, {"a / main: end 0", 2, 3}},
		Figures: []Figure{{DeleteToTERM, "a#0", 4}},
	}
	for text, want := range map[string][2]bool{
		"a / main: begin":                              {true, true},
		"b / main: begin":                              {false, true},
		"a / main: end 0 >= 3":                         {true, true},
		"a / main: end 0 >= 4":                         {false, true},
		"a / main: begin < a / main: end 0":            {true, true},
		"a / main: end 0 < a / main: begin":            {false, true},
		"a / main: begin < b / main: begin":            {true, true},
		"b / main: begin < a / main: begin":            {false, true},
		"b / main: begin < c / main: begin":            {false, false},
		"not a / main: begin":                          {false, true},
		"not a / main: end 0 >= 4 and a / main: begin": {true, true},
		"a / main: begin if not b / main: begin":       {true, true},
		"delete to TERM of a#0 > 3":                    {true, true},
		"delete to TERM of b#0 > 3":                    {false, false},
		"a / main: begin if b / main: begin":           {false, false},
		"a / main: begin and a / main: end 0 >= 4":     {false, true},
		"a / main: begin and a / main: end 0 >= 3":     {true, true},
		"a / main: begin and b / main: begin < c":      {false, false},
		"a / main: begin if a / main: end 0 >= 4":      {false, false},
		"b / main: begin if a / main: end 0":           {false, true},
	} {
		f, err := ParseFeature(text)
		assert.NilError(t, err)
		yes, known := f.Of(b)
		assert.Equal(t, [2]bool{yes, known}, want, text)
	}
}

// Wilcoxon's and Mann and Whitney's tests, by numbers worked out by hand.
func TestRanks(t *testing.T) {
	assert.Equal(t, signedRank(nil), 0.0)
	assert.Equal(t, signedRank([]float64{0, 0}), 0.0)
	assert.Equal(t, signedRank([]float64{1}), 1.0)
	// Ranks 1, 2, 3 and signs +, -, +: the sum is 2, of a variance of 14.
	assert.Assert(t, near(signedRank([]float64{1, -2, 3}), 2/3.7416573867739413))
	assert.Equal(t, rankSum([]float64{1, 1}, []float64{1, 1}), 0.0)
	// The second numbers have the ranks 3 and 4 of four: 2 above the mean, of a variance of 5/3.
	assert.Assert(t, near(rankSum([]float64{1, 2}, []float64{3, 4}), 2/1.2909944487358056))
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }
