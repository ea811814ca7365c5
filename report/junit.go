package report

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"unicode"

	"github.com/jstemmer/go-junit-report/v2/junit"
)

// JUnit returns junit.xml: a suite for each kubelet with a case for each run, and one in
// which the making of each cluster is a case. The time of a case is its own, without its
// wait for a turn; the text of a failure is the whole explanation. at is as for Text.
func (r *Report) JUnit(at string) ([]byte, error) {
	all := junit.Testsuites{Name: "podorder"}
	if len(r.Clusters) > 0 {
		s := junit.Testsuite{Name: "cluster", Time: "0.000"}
		total := 0.0
		for i, c := range r.Clusters {
			total += c.Seconds
			s.AddTestcase(clusterCase(i, c))
		}
		s.Time = junitTime(total)
		all.Suites = append(all.Suites, s)
	}
	cells := r.Cells()
	for _, k := range r.Names() {
		all.Suites = append(all.Suites, r.suite(k, on(cells, k), at))
	}
	total := r.Seconds
	for _, c := range r.Clusters {
		total += c.Seconds
	}
	all.Time = junitTime(total)
	for i := range all.Suites {
		s := &all.Suites[i]
		s.ID = i
		all.Tests, all.Failures, all.Errors = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors
	}
	var b bytes.Buffer
	if err := all.WriteXML(&b); err != nil {
		return nil, fmt.Errorf("encoding junit.xml: %w", err)
	}
	return b.Bytes(), nil
}

// suite is what came of the cases on one kubelet.
func (r *Report) suite(kubelet string, cells []Cell, at string) junit.Testsuite {
	s := junit.Testsuite{Name: legible("kubelet " + kubelet)}
	gates := r.Gates(kubelet)
	if gates != "" {
		s.AddProperty("feature gates", legible(gates))
	}
	for _, c := range r.Clusters {
		for _, name := range c.Kubelets {
			if name == kubelet {
				s.AddProperty("Kubernetes", legible(c.Kubernetes))
				s.AddProperty("container runtime", legible(c.Runtime))
			}
		}
	}
	total := 0.0
	for _, c := range cells {
		for _, run := range c.Runs {
			total += run.Seconds
			s.AddTestcase(run.testcase(r.Strict, at, gates))
			if !run.Started.IsZero() && s.Timestamp == "" {
				s.SetTimestamp(run.Started)
			}
		}
	}
	s.Time = junitTime(total)
	return s
}

// testcase is what came of one run.
func (r *Run) testcase(strict bool, at, gates string) junit.Testcase {
	name := path.Base(r.Case)
	if r.Repeat > 0 {
		name += fmt.Sprintf(" (run %d)", r.Repeat)
	}
	// Programs that read it take what is before the last dot for a package.
	class := strings.ReplaceAll(r.Kubelet, ".", "_") + "." + r.Group
	c := junit.Testcase{Name: legible(name), Classname: legible(class), Time: junitTime(r.Seconds)}
	text := legible(r.Text(at, gates))
	bad := &junit.Result{Message: legible(r.Outcome + ": " + r.Brief()), Type: r.Outcome, Data: text}
	switch {
	case r.Outcome == Skipped:
		c.Skipped = &junit.Result{Message: legible(r.Reason)}
	case r.Outcome == Broken:
		c.Error = bad
	case r.Fails(strict):
		c.Failure = bad
	case text != "": // a known fault
		c.SystemOut = &junit.Output{Data: text}
	}
	return c
}

// clusterCase is the making of a cluster, or the opening of one that there was.
func clusterCase(i int, c Cluster) junit.Testcase {
	name := fmt.Sprintf("cluster %d", i+1)
	if c.Made {
		name = "make " + name
	}
	if c.Kubernetes != "" {
		name += ", Kubernetes " + c.Kubernetes
	}
	out := junit.Testcase{Name: legible(name), Classname: "cluster", Time: junitTime(c.Seconds)}
	if c.Failed != "" {
		first, _, _ := strings.Cut(c.Failed, "\n")
		out.Error = &junit.Result{Message: legible(first), Type: "cluster", Data: legible(c.Failed)}
	}
	return out
}

func junitTime(seconds float64) string { return fmt.Sprintf("%.3f", seconds) }

// legible is a text without what XML cannot hold: control characters that a process may
// have written to its log.
func legible(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && r != '\n' && (unicode.IsControl(r) || r == '\ufffe' || r == '\uffff') {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
}
