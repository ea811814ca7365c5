package titles_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/harness/nodeimage"
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
	"github.com/podorder/podorder/suites/titles"
)

// TestTitles judges what refused.txt of every case has: the rule refuses it at the marked
// line, so all before that is allowed, and what a section names as a witness is one of the case.
func TestTitles(t *testing.T) {
	cases, err := fixtures.All()
	assert.NilError(t, err)
	refused, witnessed := 0, 0
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("..", "..", "fixtures", filepath.FromSlash(c.ID), "refused.txt"))
			assert.NilError(t, err, "write the traces with which the title would be false")
			claims, err := titles.Read(text, c.Pod(), nodeimage.Default)
			assert.NilError(t, err)
			assert.Assert(t, len(claims) > 0, "refused.txt is empty")
			byRule := false
			for _, claim := range claims {
				if claim.Rule == "" {
					isWitnessed(t, c, claim)
					continue
				}
				byRule = true
				isRefused(t, c, claim)
			}
			if byRule {
				refused++
			} else {
				witnessed++
			}
		})
	}
	t.Logf("%d titles are held by a rule, %d by a witness alone", refused, witnessed)
}

func isRefused(t *testing.T, c fixtures.Case, claim titles.Claim) {
	t.Helper()
	assert.Check(t, c.Versions.Includes(claim.Kubelet), "the case is not for kubelet %s", claim.Kubelet)
	assert.Check(t, slices.Contains(c.Rules, claim.Rule), "the case does not name %s", claim.Rule)
	k, err := reference.ParseKubelet(claim.Kubelet)
	assert.NilError(t, err)
	k, err = k.Configured(c.Kubelet)
	assert.NilError(t, err)
	pod := c.Pod()
	if c.Writes != nil {
		pod = reference.WithWrites(pod, strings.Join(c.Writes, ","))
	}
	v := reference.Check(k, pod, claim.Trace)
	assert.Check(t, v.Outcome == reference.Violation || v.Outcome == reference.Known, "%s\n%s: %s", claim.Rule, written(claim), v.Text())
	assert.Check(t, v.Rule == claim.Rule && v.Line == claim.Line, "%s, line %d of\n%s: %s", claim.Rule, claim.Line, written(claim), v.Text())
}

func isWitnessed(t *testing.T, c fixtures.Case, claim titles.Claim) {
	t.Helper()
	for _, w := range claim.Witness {
		is := slices.ContainsFunc(c.Witness, func(p trace.Pattern) bool { return p.String() == w }) ||
			slices.ContainsFunc(c.Steps, func(s fixtures.Step) bool { return s.String() == w })
		assert.Check(t, is, "%q is neither a witness nor an await of the case", w)
	}
}

// written is a trace as a person reads it.
func written(claim titles.Claim) string {
	var b strings.Builder
	for _, e := range claim.Trace.Entries {
		switch {
		case e.Log != nil:
			fmt.Fprintf(&b, "%3d %s\n", e.Line, *e.Log)
		case e.Did != nil:
			fmt.Fprintf(&b, "%3d did %s %s\n", e.Line, e.Did.Name, e.Did.Param)
		case e.Event != nil:
			fmt.Fprintf(&b, "%3d event %s %s %s\n", e.Line, e.Event.Reason, e.Event.FieldPath, e.Event.Message)
		case e.Pod != nil:
			fmt.Fprintf(&b, "%3d update, %s\n", e.Line, e.Pod.Status.Phase)
		}
	}
	return b.String()
}
