package judgedtest

import (
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference/trace"
)

// Startup is the case that the recordings are of.
const Startup = "article/startup-sequence"

// CaseByID is the case of a path.
func CaseByID(t *testing.T, id string) fixtures.Case {
	t.Helper()
	cases, err := fixtures.All()
	assert.NilError(t, err)
	for _, c := range cases {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("no case %s", id)
	return fixtures.Case{}
}

// Ordered is a log that every witness of the case is in, and that is allowed.
var Ordered = []string{
	"container1 / main", "container1 / post start hook", "container1 / main", "container1 / post start hook",
	"container2 / main", "container1 / readiness probe", "container1 / liveness probe",
}

// Early has container2 start before the hook's last line.
var Early = []string{
	"container1 / main", "container1 / post start hook", "container2 / main", "container1 / post start hook",
}

// Recording is one of the Pod of the case, and of the one that the API server admitted.
func Recording(lines ...string) *trace.Trace { return RecordingOf(StartupPod(), lines...) }

// StartupPod is the Pod of the case.
func StartupPod() *corev1.Pod {
	all, err := fixtures.All()
	if err != nil {
		panic(err)
	}
	i := slices.IndexFunc(all, func(c fixtures.Case) bool { return c.ID == Startup })
	return all[i].Pod()
}

// RecordingOf is a recording with these lines, of the Pod that was admitted; nil where none was seen.
func RecordingOf(admitted *corev1.Pod, lines ...string) *trace.Trace {
	tr := &trace.Trace{Header: trace.Header{Trace: trace.Version, Case: Startup, Kubelet: "v1.37.2"}}
	apply, _ := trace.NewAct(trace.ActApply, nil)
	tr.Entries = append(tr.Entries, trace.Entry{At: time.Unix(0, 0), Line: 2, Did: &apply})
	if admitted != nil {
		tr.Entries = append(tr.Entries, trace.Entry{At: time.Unix(0, 0), Line: 3, Type: trace.Added, Pod: admitted})
	}
	at := time.Date(2023, 12, 21, 10, 40, 51, 0, time.UTC)
	for i, l := range lines {
		l = at.Add(time.Duration(i)*time.Second).Format(time.UnixDate) + ": " + l
		tr.Entries = append(tr.Entries, trace.Entry{At: at, Line: i + 4, Log: &l})
	}
	return tr
}
