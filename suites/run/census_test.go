package run

import (
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// unnamed are the MUST rules that no case names, each with the reason.
var unnamed = map[string]string{
	"hooks/one-at-a-time":     "follows from hooks/poststart-blocks-next, which the cases with several hooks name",
	"restart/kill-after-sync": "a probe would have to fail just while a neighbour that was restarted runs its hook; every restart bears on it",
}

// TestCensus: every rule that a case names is one of the model's, and every rule
// that binds is named by a case, or there is a reason why not. A known issue that
// always shows has a case that it must show in.
func TestCensus(t *testing.T) {
	cases, err := fixtures.All()
	assert.NilError(t, err)
	for _, c := range cases {
		assert.Check(t, len(c.Rules) > 0, "%s names no rule", c.ID)
		for _, slug := range c.Rules {
			_, ok := rules.BySlug(slug)
			assert.Check(t, ok, "%s names rule %s, which the model does not have", c.ID, slug)
		}
	}
	for _, r := range rules.All() {
		reason, listed := unnamed[r.Slug]
		switch {
		case r.Level != rules.Must:
			assert.Check(t, !listed, "%s does not bind, so it needs no reason", r.Slug)
		case named(cases, r.Slug):
			assert.Check(t, !listed, "a case names %s: remove it from the table", r.Slug)
		default:
			assert.Check(t, listed && reason != "", "no case names %s (%s): add one, or to the table why not", r.Slug, r.Says)
		}
	}
	for _, d := range rules.Deviations() {
		one := slices.ContainsFunc(d.Breaks(), func(rule string) bool { return named(cases, rule) })
		assert.Check(t, !d.Always() || one, "no case names a rule of %s, so nobody would notice that it is fixed", d.Name())
	}
	for slug := range unnamed {
		_, ok := rules.BySlug(slug)
		assert.Check(t, ok, "the table has rule %s, which the model does not have", slug)
	}
}

// A container that is started and stopped at once may write nothing, and then its case
// has shown nothing: each waits for a line before it stops anything. That a Pod is
// Ready shows that its processes run, not that they have come to write.
func TestLineBeforeStop(t *testing.T) {
	cases, err := fixtures.All()
	assert.NilError(t, err)
	stops := []string{trace.ActDelete, trace.ActEvict, trace.ActStop, trace.ActRestart}
	stopped := 0
	for _, c := range cases {
		first := slices.IndexFunc(c.Steps, func(s fixtures.Step) bool { return s.Act != nil && slices.Contains(stops, s.Act.Name) })
		if first < 0 {
			continue
		}
		stopped++
		assert.Check(t, slices.ContainsFunc(c.Steps[:first], func(s fixtures.Step) bool { return s.Await != nil && s.Await.Pattern != nil }),
			"%s stops something and has waited for no line by then", c.ID)
	}
	assert.Assert(t, stopped > 100, "%d cases stop anything", stopped)
}
