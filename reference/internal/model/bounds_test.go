package model

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/reference/rules"
)

// The bounds that the table of rules names are the constants that are judged by, and each
// of these is one of some rule.
func TestBounds(t *testing.T) {
	constants := map[string]any{
		"minimumGrace": minimumGrace, "patience": patience, "prompt": prompt, "overtaken": overtaken, "outlives": outlives,
		"lastProbes": lastProbes, "retryAfter": retryAfter, "aimsBeside": aimsBeside, "backoffStart": backoffStart, "backoffMax": backoffMax, "backoffForget": backoffForget,
		"kubeletIsBack": kubeletIsBack,
	}
	named := map[string]bool{}
	for _, r := range rules.All() {
		for _, b := range r.Bounds {
			is, ok := constants[b.Name]
			assert.Assert(t, ok, "rule %s names %s, which is no constant of the model", r.Slug, b.Name)
			assert.Equal(t, b.Is, fmt.Sprint(is), "rule %s, %s", r.Slug, b.Name)
			named[b.Name] = true
		}
	}
	assert.Equal(t, len(named), len(constants), "only these have a rule: %v", named)
}
