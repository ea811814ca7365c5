package rules

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestUnlessText(t *testing.T) {
	for slug, want := range map[string]string{
		HookOnce:     "",
		StartupGates: "lines may be missing",
		Conditions:   "all containers were started anew or the kubelet was restarted before",
		ObjectLast:   "the deletion was forced",
		// Anywhere for one part, and in between for the other.
		BlocksNext: "lines may be missing, the kubelet was restarted, all containers were started anew, or a start of the container failed",
	} {
		r, ok := BySlug(slug)
		assert.Assert(t, ok)
		assert.Equal(t, r.UnlessText(), want, slug)
	}
}
