package upstream

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference/rules"
)

// notTried are the files of upstream tests of which no covering case was run on a kubelet
// that breaks what it claims, each with the reason.
var notTried = map[string]string{
	"test/e2e_node/restart_all_containers_test.go":  notYet,
	"test/e2e_node/mirror_pod_grace_period_test.go": notYet,
	"test/e2e_node/restart_test.go":                 notYet,
	"test/e2e_node/static_pod_test.go":              notYet,
	"test/e2e/node/pods.go":                         notYet,
}

const notYet = "its cases restart kubelets, are static, or need a fault that no kubelet was built with"

// The names in the table are true, and each file of upstream tests has a covering case that was refused on
// a broken kubelet.
func TestTried(t *testing.T) {
	faults, err := parseTried(triedText)
	assert.NilError(t, err)
	all, err := fixtures.All()
	assert.NilError(t, err)
	table, refused := Relations(), map[string]bool{}
	for _, f := range faults {
		for _, r := range f.Refused {
			refused[r.Case] = true
			exists := slices.ContainsFunc(all, func(c fixtures.Case) bool { return c.ID == r.Case })
			assert.Check(t, exists, "fault %s: there is no case %s", f.Name, r.Case)
			assert.Check(t, table.CoveredBy(r.Case) > 0, "fault %s: case %s covers no upstream test", f.Name, r.Case)
			rule, ok := rules.BySlug(r.Rule)
			assert.Check(t, ok && rule.Level == rules.Must, "fault %s: there is no rule %s that can be broken", f.Name, r.Rule)
		}
	}
	covering := map[string]bool{}
	for _, f := range table.Files {
		tried, covered := 0, 0
		for _, x := range f.Tests {
			for _, id := range x.Cases {
				if !x.Shown {
					covered, covering[id] = covered+1, true
				}
				if refused[id] && !x.Shown {
					tried++
				}
			}
		}
		reason := notTried[f.Path]
		assert.Check(t, covered == 0 || (tried > 0) == (reason == ""), "%s: %d of the cases that cover its tests were refused on a broken kubelet, and notTried says %q", f.Path, tried, reason)
	}
	t.Logf("%d of the %d covering cases were refused on one of %d broken kubelets", len(refused), len(covering), len(faults))
}

func TestParseTried(t *testing.T) {
	got, err := parseTried("# A comment.\n\nfault kill-never no KILL is sent\n- terminate/kill-after-term terminate/grace-period\n")
	assert.NilError(t, err)
	assert.DeepEqual(t, got, []Fault{{Name: "kill-never", Does: "no KILL is sent", Refused: []Refusal{{"terminate/kill-after-term", "terminate/grace-period"}}}})
	for _, tt := range []struct{ text, want string }{
		{"fault kill-never\n", "tried.txt:1: write fault"},
		{"fault a b\n- c d\nfault a b\n", "tried.txt:3: fault a is there twice"},
		{"fault a b\n- c\n", "tried.txt:2: write -"},
		{"fault a b\n- c d\n- c e\n", "case c is named twice"},
		{"- c d\n", `"-" begins no line`},
		{"fault a b\n", "no case is refused for fault a"},
	} {
		_, err := parseTried(tt.text)
		assert.ErrorContains(t, err, tt.want, strings.TrimSpace(tt.text))
	}
}
