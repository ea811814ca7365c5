package rules

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestParseKubelet(t *testing.T) {
	for in, want := range map[string]string{
		"v1.37.2": "v1.37.2", "1.28.5": "v1.28.5", "v1.38.0-beta.0": "v1.38.0-beta.0", "v1.33.4+k3s1": "v1.33.4",
		"v1.34.1-gke.100": "v1.34.1", "v1.32.3-eks-1a2b3c": "v1.32.3", "v1.36.0-rc.1+x": "v1.36.0-rc.1",
	} {
		k, err := ParseKubelet(in)
		assert.NilError(t, err)
		assert.Equal(t, k.String(), want)
	}
	for _, in := range []string{"", "v", "1.37", "v1.37.x", "v1.38.0-beta.x", "v2.0.0", "v1.37.2.1", "latest"} {
		_, err := ParseKubelet(in)
		assert.Assert(t, err != nil, in)
	}
}
