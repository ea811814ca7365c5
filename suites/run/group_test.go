package run

import (
	"context"
	"slices"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference/trace"
)

// TestGroup runs a group as package suites does: each case on each kubelet, the
// longest first wherever it stands; nobody waits for what flags exclude.
func TestGroup(t *testing.T) {
	var mu sync.Mutex
	var order []string
	s, _ := suiteFor(t, func(ctx context.Context, c fixtures.Case, node, dir string) (recorded, error) {
		mu.Lock()
		order = append(order, c.ID+" on "+node)
		mu.Unlock()
		tr := recording(ordered...)
		tr.Header.Kubelet = map[string]string{"m": "v1.28.5", "n": "v1.37.2"}[node]
		return saved(t, tr, nil, nil)(ctx, c, node, dir)
	})
	s.queue = newQueue(1, 1, 1)
	s.several = true
	s.columns = []column{{kubelet: "v1.28.5", nodes: []string{"m"}}, {kubelet: "v1.37.2", nodes: []string{"n"}}}
	of := func(id string, steps ...fixtures.Step) fixtures.Case {
		c := caseByID(t, startup)
		c.ID, c.Steps = id, steps
		return c
	}
	later := of("g/later")
	var err error
	later.Versions, err = fixtures.ParseRange(">=1.30")
	assert.NilError(t, err)
	s.cases = []fixtures.Case{
		of("g/short"), later, of("g/excluded", fixtures.Step{Act: &trace.Act{Name: trace.ActStop}}),
		of("g/longest", fixtures.Step{Await: &fixtures.Await{Within: 60e9}}),
	}
	s.env, err = env.NewWithContext(t.Context(), envconf.New().WithSkipLabels(map[string][]string{"node": {"true"}}))
	assert.NilError(t, err)
	t.Run("all", func(t *testing.T) {
		t.Run("G", func(t *testing.T) { s.Group(t, "g") })
	})
	slices.Sort(order[:2])
	assert.DeepEqual(t, order[:2], []string{"g/longest on m", "g/longest on n"})
	slices.Sort(order)
	assert.DeepEqual(t, order, []string{"g/later on n", "g/longest on m", "g/longest on n", "g/short on m", "g/short on n"})
	words := map[string]int{}
	for _, r := range s.report().Runs {
		words[r.Outcome+" on "+r.Kubelet]++
	}
	assert.DeepEqual(t, words, map[string]int{"pass on v1.28.5": 2, "skipped on v1.28.5": 1, "pass on v1.37.2": 3})
}
