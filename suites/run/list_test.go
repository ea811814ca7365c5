package run

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/suites/upstream"
)

func TestList(t *testing.T) {
	versions, err := fixtures.ParseRange(">=1.29")
	assert.NilError(t, err)
	must := 0
	for _, r := range reference.Rules() {
		if r.Level == reference.Must {
			must++
		}
	}
	a := fixtures.Case{ID: "g/a", Title: "A.", Rules: []string{"hooks/poststart-blocks-next", "start/listed-order"}, Versions: versions}
	b := fixtures.Case{ID: "g/b", Title: "B.", Rules: []string{"start/listed-order"}, Steps: []fixtures.Step{{Await: &fixtures.Await{Within: 180e9}}}}
	got := strings.Split(list([]fixtures.Case{a, b}, []fixtures.Case{a, b}), "\n")
	assert.DeepEqual(t, got[:10], []string{
		"g/a", "    A.", "    kubelet  >=1.29", "    rules    hooks/poststart-blocks-next start/listed-order",
		"g/b", "    B.", "    rules    start/listed-order", "    labels   long=true",
		"", "2 cases",
	})
	assert.Check(t, is.Contains(list([]fixtures.Case{a}, []fixtures.Case{a, b}), "\n1 cases of 2\n"))
	figures := coverage([]fixtures.Case{a, b})
	assert.Assert(t, is.Len(figures, 2))
	assert.Equal(t, figures[0].covered, 2)
	assert.Equal(t, figures[0].all, must)
	assert.Equal(t, figures[1].covered, 0, "cases that no relation names cover none")
	assert.Assert(t, figures[1].all > 156)
	assert.Check(t, is.Contains(figures[1].what, "order relations of the Kubernetes node suite (v1."))
}

// TestListUpstream: a case says how many upstream tests it covers, and all cases
// together cover what the table says.
func TestListUpstream(t *testing.T) {
	cases, err := fixtures.All()
	assert.NilError(t, err)
	var c fixtures.Case
	for _, c = range cases {
		if c.ID == "sidecar/restarted-always" {
			break
		}
	}
	got := list([]fixtures.Case{c}, cases)
	assert.Check(t, is.Contains(got, "sidecar/restarted-always\n"))
	assert.Check(t, is.Contains(got, "    upstream 11 relations\n\n1 cases of "))
	named := 0
	for _, f := range upstream.Relations().Files {
		for _, x := range f.Tests {
			if x.Cases != nil {
				named++
			}
		}
	}
	assert.Equal(t, coverage(cases)[1].covered, named)
}
