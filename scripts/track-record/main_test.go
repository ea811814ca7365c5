package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
	"github.com/podorder/podorder/report"
	"github.com/podorder/podorder/report/observed"

	"gotest.tools/v3/assert"
)

// Every row is about cases that there are, on kubelets that they are meant for; what it says of known faults
// is what the table of the model says.
func TestRecord(t *testing.T) {
	cases, err := fixtures.All()
	assert.NilError(t, err)
	faults := map[string]bool{}
	for _, e := range record {
		name := e.says
		assert.Check(t, len(e.cases) > 0 && len(e.wrong) > 0 && e.says != "", name)
		assert.Check(t, e.fault != "" || len(e.shows) > 0, "%s: nothing would be looked at", name)
		assert.Check(t, e.issue == "" || strings.HasPrefix(e.issue, "kubernetes/kubernetes#"), name)
		var fault rules.Deviation
		if e.fault != "" {
			i := slices.IndexFunc(rules.Deviations(), func(d rules.Deviation) bool { return d.Name() == e.fault })
			assert.Assert(t, i >= 0, "%s: no known fault is called %s", name, e.fault)
			fault = rules.Deviations()[i]
			faults[e.fault] = true
			assert.Check(t, e.issue == "" && len(fault.Issues()) == 0 || slices.Contains(fault.Issues(), e.issue), name)
		}
		for _, k := range slices.Concat(e.wrong, e.right) {
			assert.Check(t, slices.Contains(all, k), "%s: %s is not run", name, k)
			kubelet, err := rules.ParseKubelet(k)
			assert.NilError(t, err)
			if e.fault != "" {
				assert.Check(t, kubelet.Deviations().Has(fault) == slices.Contains(e.wrong, k), "%s: %s", name, k)
			}
		}
		for _, id := range e.cases {
			i := slices.IndexFunc(cases, func(c fixtures.Case) bool { return c.ID == id })
			assert.Assert(t, i >= 0, "%s: there is no case %s", name, id)
			for _, k := range slices.Concat(e.wrong, e.right) {
				release, err := trace.ParseRelease(k)
				assert.NilError(t, err)
				assert.Check(t, cases[i].Versions.Has(release), "%s is not meant for %s", id, k)
			}
		}
		for id, text := range e.shows {
			assert.Check(t, slices.Contains(e.cases, id), "%s: %s is not run", name, id)
			_, err := observed.ParseFeature(text)
			assert.Check(t, err)
		}
	}
	for _, d := range rules.Deviations() {
		assert.Check(t, faults[d.Name()], "the record has no row for the known fault %s", d.Name())
	}
}

// asListed is a report in which everything is as the rows of known faults say.
func asListed() *report.Report {
	r := &report.Report{Version: report.Version}
	for _, e := range record {
		if e.fault == "" || len(e.shows) > 0 {
			continue
		}
		for _, id := range e.cases {
			for _, k := range e.wrong {
				v := reference.Verdict{Outcome: reference.Known, Deviations: []reference.Deviation{{Name: e.fault}}}
				r.Runs = append(r.Runs, report.Run{Case: id, Kubelet: k, Outcome: report.Known, Verdict: &v})
			}
			for _, k := range e.right {
				r.Runs = append(r.Runs, report.Run{Case: id, Kubelet: k, Outcome: report.Pass, Verdict: &reference.Verdict{Outcome: reference.Pass}})
			}
		}
	}
	return r
}

func TestCheck(t *testing.T) {
	hold := entry{cases: []string{"a/b"}, wrong: []string{"v1.36.3"}, right: []string{"v1.37.2"}, fault: "f"}
	look := entry{cases: []string{"a/b"}, wrong: []string{"v1.36.3"}, right: []string{"v1.37.2"}, shows: map[string]string{"a/b": "phase Running"}}
	rightly, sometimes, unseen := look, hold, look
	rightly.rightly, sometimes.sometimes, unseen.unseen = true, true, "because"
	depends := rightly
	depends.shows = map[string]string{"a/b": "phase Running if did restart kubelet"}
	run := func(kubelet, outcome, fault string, events ...string) report.Run {
		v := reference.Verdict{}
		if fault != "" {
			v.Deviations = []reference.Deviation{{Name: fault}}
		}
		b := observed.Behaviour{}
		for _, name := range events {
			b.Events = append(b.Events, observed.Event{Name: name, Count: 1})
		}
		return report.Run{Case: "a/b", Kubelet: kubelet, Outcome: outcome, Verdict: &v, Observed: &b}
	}
	for name, c := range map[string]struct {
		entry entry
		runs  []report.Run
		want  string
	}{
		"as listed":                 {hold, []report.Run{run("v1.36.3", report.Known, "f"), run("v1.37.2", report.Pass, "")}, "known, right"},
		"another fault":             {hold, []report.Run{run("v1.36.3", report.Known, "g"), run("v1.37.2", report.Pass, "")}, "NOT AS LISTED: it does not show it, right"},
		"the right one has it":      {hold, []report.Run{run("v1.36.3", report.Known, "f"), run("v1.37.2", report.Known, "f")}, "known, NOT AS LISTED: it shows what only the others should"},
		"the right one did not run": {hold, []report.Run{run("v1.36.3", report.Known, "f")}, "known, NOT AS LISTED: did not run"},
		"a violation":               {hold, []report.Run{run("v1.36.3", report.Violation, ""), run("v1.37.2", report.Pass, "")}, "NOT AS LISTED: violation, right"},
		"not in every run":          {hold, []report.Run{run("v1.36.3", report.Known, "f"), run("v1.36.3", report.Pass, ""), run("v1.37.2", report.Pass, "")}, "NOT AS LISTED: it does not show it, right"},
		"sometimes":                 {sometimes, []report.Run{run("v1.36.3", report.Known, "f"), run("v1.36.3", report.Pass, ""), run("v1.37.2", report.Pass, "")}, "known 1/2, right"},
		"sometimes, and never":      {sometimes, []report.Run{run("v1.36.3", report.Pass, ""), run("v1.37.2", report.Pass, "")}, "NOT AS LISTED: no run shows it, right"},
		"seen":                      {look, []report.Run{run("v1.36.3", report.Pass, "", "phase Running"), run("v1.37.2", report.Pass, "")}, "shown, right"},
		"not seen":                  {look, []report.Run{run("v1.36.3", report.Pass, ""), run("v1.37.2", report.Pass, "")}, "NOT AS LISTED: it does not show it, right"},
		"seen on the right one":     {look, []report.Run{run("v1.36.3", report.Pass, "", "phase Running"), run("v1.37.2", report.Pass, "", "phase Running")}, "shown, NOT AS LISTED: it shows what only the others should"},
		"what the right one shows":  {rightly, []report.Run{run("v1.36.3", report.Pass, ""), run("v1.37.2", report.Pass, "", "phase Running")}, "shown, right"},
		"the right one, once":       {rightly, []report.Run{run("v1.36.3", report.Pass, ""), run("v1.37.2", report.Pass, ""), run("v1.37.2", report.Pass, "", "phase Running")}, "shown, right"},
		"the right one, never":      {rightly, []report.Run{run("v1.36.3", report.Pass, ""), run("v1.37.2", report.Pass, "")}, "shown, NOT AS LISTED: it shows what only the others should"},
		"no run tells":              {depends, []report.Run{run("v1.36.3", report.Pass, ""), run("v1.37.2", report.Pass, "", "did restart kubelet", "phase Running")}, "NOT AS LISTED: no run tells, right"},
		"one run tells":             {depends, []report.Run{run("v1.36.3", report.Pass, ""), run("v1.36.3", report.Pass, "", "did restart kubelet"), run("v1.37.2", report.Pass, "", "did restart kubelet", "phase Running")}, "shown, right"},
		"inconclusive":              {hold, []report.Run{run("v1.36.3", report.Inconclusive, ""), run("v1.37.2", report.Pass, "")}, "NOT AS LISTED: inconclusive, right"},
		"inconclusive once":         {hold, []report.Run{run("v1.36.3", report.Inconclusive, ""), run("v1.36.3", report.Known, "f"), run("v1.37.2", report.Pass, "")}, "known, right"},
		"what none shows":           {unseen, []report.Run{run("v1.36.3", report.Pass, ""), run("v1.37.2", report.Pass, "")}, "not seen, not seen"},
		"what none should show":     {unseen, []report.Run{run("v1.36.3", report.Pass, "", "phase Running"), run("v1.37.2", report.Pass, "")}, "NOT AS LISTED: it was seen, not seen"},
	} {
		t.Run(name, func(t *testing.T) {
			var words []string
			for _, s := range c.entry.check(&report.Report{Runs: c.runs}) {
				words = append(words, c.entry.String(s))
			}
			assert.Equal(t, strings.Join(words, ", "), c.want)
		})
	}
}

// A saved run is looked at without a cluster, and fails where something is not as listed.
func TestSaved(t *testing.T) {
	dir := t.TempDir()
	assert.NilError(t, asListed().Write(dir))
	var stdout, stderr bytes.Buffer
	status := run(t.Context(), []string{"-saved", "-artifacts", dir}, &stdout, &stderr)
	assert.Equal(t, status, 1, "rows of which nothing ran are not as listed")
	assert.Assert(t, strings.Contains(stdout.String(), "NOT AS LISTED: did not run"), "%s%s", &stdout, &stderr)
	assert.Assert(t, strings.Contains(stdout.String(), "| `probes/startup-gates-restart` | v1.35.4 known, v1.36.3 known, v1.37.2 known | v1.34.4 right, v1.38.0-beta.0 right |"), stdout.String())
	assert.Equal(t, run(t.Context(), []string{"-saved", "-artifacts", t.TempDir()}, &stdout, &stderr), 1)
	assert.Equal(t, run(t.Context(), []string{"-no-such-flag"}, &stdout, &stderr), 2)
}

// TestNotAsListed: what is a matter of chance is run again, and nothing else is.
func TestNotAsListed(t *testing.T) {
	list := []entry{
		{cases: []string{"a/certain"}, wrong: []string{"v1.34.4"}, right: []string{"v1.37.2"}, fault: "f"},
		{cases: []string{"a/chance"}, wrong: []string{"v1.36.3"}, right: []string{"v1.37.2"}, fault: "f", sometimes: true},
		{cases: []string{"a/missing"}, wrong: []string{"v1.28.5"}, fault: "f"},
	}
	pass := func(id, kubelet string) report.Run {
		return report.Run{Case: id, Kubelet: kubelet, Outcome: report.Pass, Verdict: &reference.Verdict{}}
	}
	r := &report.Report{Runs: []report.Run{
		pass("a/certain", "v1.34.4"), pass("a/certain", "v1.37.2"), pass("a/chance", "v1.36.3"), pass("a/chance", "v1.37.2"),
	}}
	kubelets, cases := notAsListed(list, r)
	assert.DeepEqual(t, kubelets, []string{"v1.28.5", "v1.36.3"})
	assert.DeepEqual(t, cases, []string{"a/chance", "a/missing"})
}
