package search_test

import (
	"bytes"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/kubelet/search"
	"github.com/podorder/podorder/reference/trace"
)

// ordinary makes a Pod one to which nothing happens but a deletion, and of which no process is
// silent.
func ordinary(p kubelet.Pod) kubelet.Pod {
	p.May = kubelet.May{LatePhase: p.May.LatePhase}
	for _, all := range [][]kubelet.Container{p.Init, p.Containers} {
		for i := range all {
			c := &all[i]
			c.NoImage, c.NoCreate, c.NoStart, c.Slow = false, false, false, false
		}
	}
	return p
}

// endedOtherwise reports whether a Pod was deleted with another grace period than its own.
func endedOtherwise(p kubelet.Pod, tr *trace.Trace) bool {
	return slices.ContainsFunc(tr.Entries, func(e trace.Entry) bool {
		if e.Did == nil || e.Did.Name != trace.ActDelete {
			return false
		}
		d, err := e.Did.Delete()
		return err != nil || d.GracePeriodSeconds == nil || int(*d.GracePeriodSeconds) != p.Grace
	})
}

// logOf is the log of a trace.
func logOf(tr *trace.Trace) *bytes.Reader {
	var log bytes.Buffer
	for _, e := range tr.Entries {
		if e.Log != nil {
			log.WriteString(*e.Log + "\n")
		}
	}
	return bytes.NewReader(log.Bytes())
}

// The log alone of a run to which only what is ordinary happened passes. One that was ended
// with another grace period is no violation.
func TestOrdinaryLogsPass(t *testing.T) {
	passed, other := 0, 0
	defer func() {
		assert.Assert(t, passed > 0 && other > 0, "%d logs passed, and %d were ended otherwise", passed, other)
	}()
	rapid.Check(t, func(t *rapid.T) {
		version := rapid.SampledFrom(kubelet.Versions()).Draw(t, "version")
		p := ordinary(search.AnyPod(version, choices(t)))
		tr := kubelet.Run(p, version, choices(t))
		k, err := reference.ParseKubelet(version)
		assert.NilError(t, err)
		v := reference.CheckLog(k, p.Manifest(), logOf(tr))
		switch {
		case tr.Logs() == 0:
		case endedOtherwise(p, tr):
			other++
			if v.Outcome == reference.Violation {
				t.Fatalf("%s\n%+v\n%s", v.Text(), p, file(t, tr))
			}
		case v.Outcome != reference.Pass:
			t.Fatalf("%s\n%+v\n%s", v.Text(), p, file(t, tr))
		default:
			passed++
		}
	})
}

// A log alone of any run is no violation, whatever was done. That is so but for a few in a thousand,
// where two acts fall into one second, or a kubelet is back sooner than any real one.
func TestLogsOfFaultsAreExplained(t *testing.T) {
	explained := 0
	defer func() { assert.Assert(t, explained > 0, "no log was explained by what it does not show") }()
	rapid.Check(t, func(t *rapid.T) {
		version := rapid.SampledFrom(kubelet.Versions()).Draw(t, "version")
		p := search.AnyPod(version, choices(t))
		tr := kubelet.Run(p, version, choices(t))
		k, err := reference.ParseKubelet(version)
		assert.NilError(t, err)
		v := reference.CheckLog(k, p.Manifest(), logOf(tr))
		explained += count(len(v.Explained) > 0)
		if v.Outcome == reference.Violation {
			t.Fatalf("%s\n%+v\n%s", v.Text(), p, file(t, tr))
		}
	})
}
