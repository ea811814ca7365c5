package report

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jstemmer/go-junit-report/v2/junit"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/reference"
)

func TestJUnit(t *testing.T) {
	r := of(append(every(), three()...)...)
	r.Kubelets = []Kubelet{{Name: "v1.37.2", Version: "v1.37.2", Gates: "ContainerStopSignals=true"}}
	r.Clusters = []Cluster{
		{Made: true, Kubernetes: "v1.37.2", Runtime: "containerd://2.3.5", Kubelets: []string{"v1.37.2"}, Seconds: 51.5},
		{Made: true, Seconds: 3, Failed: "no room\nfor another"},
	}
	violation := &r.Runs[slices.IndexFunc(r.Runs, func(run Run) bool { return run.Case == "g/violation" })]
	violation.Waited, violation.Trace, violation.Rerun = 100, "v1.37.2/g/violation/trace.jsonl", "go test ./suites"
	violation.Explanation += "  seen     a ]]> b \x01 \xff\n"
	b, err := r.JUnit("artifacts")
	assert.NilError(t, err)
	checkSchema(t, b)
	var all junit.Testsuites
	assert.NilError(t, xml.Unmarshal(b, &all))

	var suites []string
	of := map[string]junit.Testcase{}
	for _, s := range all.Suites {
		suites = append(suites, s.Name)
		for _, c := range s.Testcases {
			of[s.Name+" "+c.Name] = c
		}
	}
	assert.DeepEqual(t, suites, []string{"cluster", "kubelet v1.37.2", "kubelet v1.9.0", "kubelet v1.36.3"})
	assert.Equal(t, of["cluster make cluster 1, Kubernetes v1.37.2"].Time, "51.500")
	assert.Equal(t, of["cluster make cluster 2"].Error.Message, "no room")

	c := of["kubelet v1.37.2 violation"]
	assert.Equal(t, c.Time, "10.000", "without its wait")
	assert.Equal(t, c.Classname, "v1_37_2.g")
	assert.Equal(t, c.Failure.Message, "violation: hooks/poststart-blocks-next, line 14")
	for _, want := range []string{
		"The next container is not started before", "a ]]> b \ufffd \ufffd\n",
		"  replay   go run ./scripts/judge -trace artifacts/v1.37.2/g/violation/trace.jsonl -feature-gates=ContainerStopSignals=true\n  rerun    go test ./suites\n",
	} {
		assert.Check(t, is.Contains(c.Failure.Data, want))
	}
	assert.Equal(t, of["kubelet v1.37.2 skipped"].Skipped.Message, "for >=1.38")
	assert.Check(t, of["kubelet v1.37.2 broken"].Error != nil && of["kubelet v1.37.2 broken"].Failure == nil)
	known := of["kubelet v1.37.2 known"]
	assert.Check(t, known.Failure == nil && known.Error == nil)
	assert.Check(t, is.Contains(known.SystemOut.Data, "kubernetes/kubernetes#1"))
	assert.Check(t, is.Contains(of["kubelet v1.9.0 b (run 1)"].SystemOut.Data, "status/phase"))
	assert.Check(t, of["kubelet v1.9.0 b (run 2)"].SystemOut == nil)
	assert.DeepEqual(t, *all.Suites[1].Properties, []junit.Property{
		{Name: "feature gates", Value: "ContainerStopSignals=true"}, {Name: "Kubernetes", Value: "v1.37.2"}, {Name: "container runtime", Value: "containerd://2.3.5"},
	})
	s := all.Suites[1]
	assert.Equal(t, fmt.Sprint(s.Tests, s.Failures, s.Errors, s.Skipped), "12 4 1 1")
	assert.Equal(t, fmt.Sprint(all.Tests, all.Failures, all.Errors), "21 4 2")

	b, err = (&Report{}).JUnit("")
	assert.NilError(t, err)
	checkSchema(t, b)
}

// A known fault fails its case where it fails the run.
func TestJUnitStrict(t *testing.T) {
	run := judgedAs("g/known", "v1.37.2", reference.Verdict{Outcome: reference.Known, Rule: "status/phase"})
	assert.Check(t, run.testcase(false, "", "").Failure == nil)
	assert.Check(t, run.testcase(true, "", "").Failure != nil)
}

// schema is the form of JUnit XML that the xunit plugin of Jenkins checks files by (junit-10.xsd):
// for each element its attributes, with a mark at those that it must have, and what it may hold.
var schema = map[string]struct{ attributes, elements string }{
	"testsuites": {"name time tests failures errors", "testsuite"},
	"testsuite":  {"name! tests! failures! errors! group time skipped timestamp hostname id package file log url", "testsuite properties testcase system-out system-err"},
	"properties": {"", "property"},
	"property":   {"name! value!", ""},
	"testcase":   {"name! time classname group", "skipped error failure system-out system-err"},
	"skipped":    {"type message", ""},
	"error":      {"type message", ""},
	"failure":    {"type message", ""},
	"system-out": {"", ""},
	"system-err": {"", ""},
}

// surefireTime is the form of a time of a suite there.
var surefireTime = regexp.MustCompile(`^(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?$`)

func checkSchema(t *testing.T, text []byte) {
	t.Helper()
	var open []string
	for d := xml.NewDecoder(strings.NewReader(string(text))); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		assert.NilError(t, err)
		switch e := token.(type) {
		case xml.StartElement:
			name := e.Name.Local
			is, known := schema[name]
			assert.Assert(t, known, "element %s", name)
			if len(open) > 0 {
				assert.Assert(t, slices.Contains(strings.Fields(schema[open[len(open)-1]].elements), name), "%s in %s", name, open)
			} else {
				assert.Equal(t, name, "testsuites")
			}
			open = append(open, name)
			has := map[string]bool{}
			for _, a := range e.Attr {
				has[a.Name.Local] = true
				allowed := slices.ContainsFunc(strings.Fields(is.attributes), func(s string) bool { return strings.TrimSuffix(s, "!") == a.Name.Local })
				assert.Assert(t, allowed, "attribute %s of %s", a.Name.Local, name)
				if a.Name.Local == "time" {
					assert.Assert(t, surefireTime.MatchString(a.Value), "time %q", a.Value)
				}
			}
			for s := range strings.FieldsSeq(is.attributes) {
				if must, ok := strings.CutSuffix(s, "!"); ok {
					assert.Assert(t, has[must], "%s without %s", name, must)
				}
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
}
