package run

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
	"github.com/podorder/podorder/suites/claims"
)

// outcome is what came of a run so far.
type outcome struct {
	failed atomic.Bool // a case, so that no other is to begin

	mu      sync.Mutex
	results []Result
	claims  map[string]*claims.Tally // by kubelet
	started time.Time                // of the first case on this cluster
	ended   time.Time                // of the last verdict
	wall    time.Duration            // of earlier clusters
	ready   time.Duration            // how long the clusters took until they could run cases
}

// begun notes when the first case begins.
func (o *outcome) begun() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.started.IsZero() {
		o.started = time.Now()
	}
}

// add takes what happened to a case.
func (o *outcome) add(res Result) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.results = append(o.results, res)
	o.ended = time.Now()
}

// claim looks at what a trace shows of the public claims. One that is broken
// shows nothing.
func (o *outcome) claim(res Result, tr *trace.Trace) {
	if tr == nil || res.Skipped != "" || res.Verdict.Outcome == reference.Broken {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.claims == nil {
		o.claims = map[string]*claims.Tally{}
	}
	if o.claims[res.Kubelet] == nil {
		o.claims[res.Kubelet] = &claims.Tally{}
	}
	o.claims[res.Kubelet].Add(claims.Recording{Path: res.Trace, Trace: tr, Added: res.changes.Containers()})
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
func (o *outcome) report() *Report {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := &Report{Results: slices.Clone(o.results), Cluster: o.ready, Wall: o.wall}
	if !o.started.IsZero() {
		r.Wall += o.ended.Sub(o.started)
	}
	for _, k := range slices.SortedFunc(maps.Keys(o.claims), compareVersions) {
		r.Claims = append(r.Claims, claims.Column{Kubelet: k, Results: o.claims[k].Results()})
	}
	return r
}
