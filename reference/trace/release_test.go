package trace_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/reference/trace"
)

func TestReleaseOrder(t *testing.T) {
	ordered := []string{"v1.28.5", "v1.28.15", "v1.38.0-alpha.2", "v1.38.0-beta.0", "v1.38.0-beta.10", "v1.38.0-rc.1", "v1.38.0", "v1.38.1"}
	for i, a := range ordered {
		for j, b := range ordered {
			v, err := trace.ParseRelease(a)
			assert.NilError(t, err)
			w, err := trace.ParseRelease(b)
			assert.NilError(t, err)
			c := v.Compare(w)
			assert.Assert(t, (c < 0) == (i < j) && (c > 0) == (i > j), "%s against %s: %d", a, b, c)
		}
	}
}

func TestRange(t *testing.T) {
	for _, tt := range []struct {
		text     string
		included []string
		not      []string
	}{
		{"", []string{"v1.28.5", "v1.38.0-beta.0", "unknown"}, nil},
		{">=1.28", []string{"v1.28.0", "1.28.15", "v1.38.0-beta.0", "v1.28.0-alpha.1"}, []string{"v1.27.16", "unknown", "", "v1.28"}},
		{">=1.38", []string{"v1.38.0-beta.0", "v1.38.0", "v1.39.1"}, []string{"v1.37.2"}},
		{">=1.38.0", []string{"v1.38.0-beta.0", "v1.38.0"}, []string{"v1.37.9"}},
		{"<1.38", []string{"v1.37.2", "v1.9.0"}, []string{"v1.38.0-beta.0", "v1.38.0-alpha.0", "v1.38.4"}},
		{">=1.35.0 <1.38.0", []string{"v1.35.0", "v1.35.4", "v1.37.99"}, []string{"v1.34.4", "v1.38.0-beta.0", "v1.38.0"}},
		{">=1.35.4 <1.37.2", []string{"v1.35.4", "v1.36.0", "v1.37.1"}, []string{"v1.35.3", "v1.37.2"}},
		{"1.36.3", []string{"v1.36.3", "v1.36.3+k3s1", "v1.36.3-eks-1a2b3c", "v1.36.3-gke.1200"}, []string{"v1.36.2", "v1.36.30"}},
		{"=1.36.3", []string{"v1.36.3"}, []string{"v1.36.4"}},
		{"1.36", []string{"v1.36.0-rc.1", "v1.36.3"}, []string{"v1.35.9", "v1.37.0-alpha.0"}},
		{">1.36", []string{"v1.37.0-alpha.0"}, []string{"v1.36.99"}},
		{">1.36.1", []string{"v1.36.2"}, []string{"v1.36.1"}},
		{"<=1.36", []string{"v1.36.99"}, []string{"v1.37.0-alpha.0"}},
		{"v1.36.3", []string{"v1.36.3"}, []string{"v1.36.4"}},
		{">=1.38.0-beta.1", []string{"v1.38.0-beta.1", "v1.38.0-beta.1.123+a1b2c3d4e5f6a7-dirty", "v1.38.0-rc.0", "v1.38.0", "v1.38.0-eks-1"}, []string{"v1.38.0-beta.0", "v1.38.0-alpha.3", "v1.37.2"}},
		{"1.35 or >=1.36.3 <1.37", []string{"v1.35.0", "v1.35.8", "v1.36.3", "v1.36.9"}, []string{"v1.34.4", "v1.36.0", "v1.36.2", "v1.37.0-alpha.0", "v1.37.0", "unknown"}},
		{"<1.29 or 1.30.2 or >=1.38", []string{"v1.28.5", "v1.30.2", "v1.38.0-beta.0"}, []string{"v1.29.0", "v1.30.1", "v1.37.2"}},
		{">1.38.0-beta.0 <1.38.0-beta.2", []string{"v1.38.0-beta.1"}, []string{"v1.38.0-beta.0", "v1.38.0-beta.2", "v1.38.0"}},
	} {
		t.Run(tt.text, func(t *testing.T) {
			r, err := trace.ParseRange("  " + strings.ReplaceAll(tt.text, " ", "   "))
			assert.NilError(t, err)
			assert.Equal(t, r.String(), tt.text)
			for _, v := range tt.included {
				assert.Check(t, r.Includes(v), "%s is missing", v)
			}
			for _, v := range tt.not {
				assert.Check(t, !r.Includes(v), "%s is included", v)
			}
		})
	}
	for _, tt := range []struct{ text, want string }{
		{"1", `"1" is not a bound on a version`},
		{"latest", `"latest" is not a bound on a version`},
		{">= 1.28", `">=" is not a bound on a version`},
		{"!=1.28", `"!=1.28" is not a bound on a version`},
		{">=1.38-beta.0", `">=1.38-beta.0" is not a bound on a version`},
		{"1.28.0-eks-1", `"1.28.0-eks-1" is not a bound on a version`},
		{"1.028", `"1.028" is not a bound on a version`},
		{"1.28 1.29", `no version is in "1.28 1.29"; correct the bounds`},
		{">1.38.0-rc.0 <1.38.0", `no version is in`},
		{"<1.28 >=1.28.5", `no version is in`},
		{">1.28.3 <1.28.4", `no version is in`},
		{"1.35 or <1.28 >=1.28.5", `no version is in "<1.28 >=1.28.5"`},
		{"1.35 or", `"1.35 or" has an "or" without bounds on both sides`},
		{"or 1.35", `"or 1.35" has an "or" without bounds`},
		{"1.35 or or 1.36", `has an "or" without bounds`},
		{"1.35 || 1.36", `"||" is not a bound on a version`},
	} {
		t.Run(tt.text, func(t *testing.T) {
			_, err := trace.ParseRange(tt.text)
			assert.ErrorContains(t, err, tt.want)
		})
	}
}
