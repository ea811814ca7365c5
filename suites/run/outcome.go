package run

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/podorder/podorder/reference/trace"
	"github.com/podorder/podorder/report"
	"github.com/podorder/podorder/suites/claims"
)

// outcome is what came of a run so far.
type outcome struct {
	failed atomic.Bool // a case, so that no other is to begin

	mu      sync.Mutex
	runs    []report.Run
	claims  map[string]*claims.Tally // by kubelet
	started time.Time                // of the first case on this cluster
	ended   time.Time                // of the last verdict
	wall    time.Duration            // of earlier clusters

	clusters []report.Cluster
}

// begun notes when the first case begins.
func (o *outcome) begun() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.started.IsZero() {
		o.started = time.Now()
	}
}

// add takes the runs of a case.
func (o *outcome) add(runs ...report.Run) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.runs = append(o.runs, runs...)
	o.ended = time.Now()
}

// claim looks at what the trace of a run shows of the public claims. One that is broken
// shows nothing. added are the containers that somebody else added to the Pod.
func (o *outcome) claim(run *report.Run, tr *trace.Trace, added []string) {
	if tr == nil || run.Outcome == report.Skipped || run.Outcome == report.Broken {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.claims == nil {
		o.claims = map[string]*claims.Tally{}
	}
	if o.claims[run.Kubelet] == nil {
		o.claims[run.Kubelet] = &claims.Tally{}
	}
	o.claims[run.Kubelet].Add(claims.Recording{Path: run.Trace, Trace: tr, Added: added})
}

// forget drops what was noted of claims.
func (o *outcome) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.claims = nil
}

// rest adds up the times of a cluster that has run its cases.
func (o *outcome) rest() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.started.IsZero() {
		o.wall += o.ended.Sub(o.started)
		o.started = time.Time{}
	}
}

// report returns it as far as it does not depend on where the cases ran.
func (o *outcome) report() *report.Report {
	o.mu.Lock()
	defer o.mu.Unlock()
	wall := o.wall
	if !o.started.IsZero() {
		wall += o.ended.Sub(o.started)
	}
	r := &report.Report{
		Version: report.Version, Runs: slices.Clone(o.runs), Seconds: wall.Seconds(), Clusters: slices.Clone(o.clusters), Kubelets: []report.Kubelet{},
	}
	for _, k := range slices.SortedFunc(maps.Keys(o.claims), report.CompareKubelets) {
		r.Claims = append(r.Claims, claims.Column{Kubelet: k, Results: o.claims[k].Results()})
	}
	return r
}
