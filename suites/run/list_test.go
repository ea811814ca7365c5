package run

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/suites/upstream"
)

func TestList(t *testing.T) {
	versions, err := fixtures.ParseRange(">=1.29")
	assert.NilError(t, err)
	must := 0
	for _, r := range rules.All() {
		if r.Level == rules.Must {
			must++
		}
	}
	a := fixtures.Case{ID: "g/a", Title: "A.", Rules: []string{"hooks/poststart-blocks-next", "start/listed-order"}, Versions: versions}
	b := fixtures.Case{ID: "g/b", Title: "B.", Rules: []string{"start/listed-order"}, Steps: []fixtures.Step{{Await: &fixtures.Await{Within: 180e9}}}}
	both := []fixtures.Case{a, b}
	one := []column{{kubelet: "v1.37.2"}}
	got := strings.Split(list(jobsOf(one, a, b), one, both, both), "\n")
	assert.DeepEqual(t, got[:10], []string{
		"g/a", "    A.", "    kubelet  >=1.29", "    rules    hooks/poststart-blocks-next start/listed-order",
		"g/b", "    B.", "    rules    start/listed-order", "    labels   long=true",
		"", "2 cases",
	})
	assert.Check(t, is.Contains(list(jobsOf(one, a), one, both, both), "\n1 case of 2\n"))

	// With several kubelets it says where a case runs.
	two := []column{{kubelet: "v1.28.5"}, {kubelet: "v1.37.2"}}
	text := list(jobsOf(two, a, b), two, both, both)
	assert.Check(t, is.Contains(text, "g/a\n    A.\n    kubelet  >=1.29\n    runs on  v1.37.2\n"))
	assert.Check(t, is.Contains(text, "g/b\n    B.\n    rules"))
	assert.Check(t, is.Contains(text, "\n2 cases\nnot for kubelet v1.28.5, and skipped there: g/a\n"))
	old := two[:1]
	text = list(jobsOf(old, a, b), old, both, both)
	assert.Check(t, !strings.HasPrefix(text, "g/a\n"), text)
	assert.Check(t, is.Contains(text, "\n1 case of 2\nnot for kubelet v1.28.5, and skipped there: g/a\n"))
	figures := coverage([]fixtures.Case{a, b})
	assert.Assert(t, is.Len(figures, 2))
	assert.Equal(t, figures[0].covered, 2)
	assert.Equal(t, figures[0].all, must)
	assert.Equal(t, figures[1].covered, 0, "cases that no relation names cover none")
	assert.Assert(t, figures[1].all > 156)
	assert.Check(t, is.Contains(figures[1].what, "order relations of the Kubernetes node suite (v1."))
}

// jobsOf are cases on kubelets, each on each.
func jobsOf(cols []column, cases ...fixtures.Case) (out []*job) {
	for _, c := range cases {
		for _, col := range cols {
			out = append(out, &job{c: c, col: col})
		}
	}
	return out
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
	one := []column{{kubelet: "v1.37.2"}}
	got := list(jobsOf(one, c), one, []fixtures.Case{c}, cases)
	assert.Check(t, is.Contains(got, "sidecar/restarted-always\n"))
	assert.Check(t, is.Contains(got, "    upstream 11 relations\n\n1 case of "))
	named := 0
	for _, f := range upstream.Relations().Files {
		for _, x := range f.Tests {
			if x.Cases != nil && !x.Shown {
				named++
			}
		}
	}
	assert.Equal(t, coverage(cases)[1].covered, named)
}
