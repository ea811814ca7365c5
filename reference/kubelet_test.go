package reference_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/reference"
)

func TestParseKubelet(t *testing.T) {
	for in, want := range map[string]string{
		"v1.37.2": "v1.37.2", "1.28.5": "v1.28.5", "v1.38.0-beta.0": "v1.38.0-beta.0", "v1.33.4+k3s1": "v1.33.4",
		"v1.34.1-gke.100": "v1.34.1", "v1.32.3-eks-1a2b3c": "v1.32.3", "v1.36.0-rc.1+x": "v1.36.0-rc.1",
	} {
		k, err := reference.ParseKubelet(in)
		assert.NilError(t, err)
		assert.Equal(t, k.String(), want)
	}
	for _, in := range []string{"", "v", "1.37", "v1.37.x", "v1.38.0-beta.x", "v2.0.0", "v1.37.2.1", "latest"} {
		_, err := reference.ParseKubelet(in)
		assert.Assert(t, err != nil, in)
	}
}

func TestRange(t *testing.T) {
	for _, c := range []struct {
		in, kubelet string
		want        bool
	}{
		{"", "v1.28.5", true},
		{">=1.28", "v1.28.0", true},
		{">=1.38", "v1.38.0-beta.0", true},
		{"<1.38", "v1.38.0-beta.0", false},
		{"<1.38", "v1.37.99", true},
		{">=1.38.0", "v1.38.0-beta.0", false},
		{">=1.35.0 <1.38.0", "v1.36.3", true},
		{">=1.35.0 <1.38.0", "v1.34.99", false},
		{"=1.36.3", "v1.36.3", true},
		{"=1.36.3", "v1.36.2", false},
		{">1.36.3", "v1.36.3", false},
		{"<=1.36.3", "v1.36.3", true},
		{">=1.38.0-beta.1", "v1.38.0-beta.0", false},
		{">=1.38.0-beta.2", "v1.38.0-beta.10", true},
		{">=1.38.0-beta.2", "v1.38.0-alpha.9", false},
	} {
		r, err := reference.ParseRange(c.in)
		assert.NilError(t, err)
		k, err := reference.ParseKubelet(c.kubelet)
		assert.NilError(t, err)
		assert.Equal(t, r.Includes(k), c.want, "%s in %q", c.kubelet, c.in)
	}
	for _, in := range []string{"1.36", "~1.36.0", ">=x", "<=1.36", ">= 1.36.0"} {
		_, err := reference.ParseRange(in)
		assert.Assert(t, err != nil, in)
	}
}
