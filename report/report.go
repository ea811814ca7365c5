package report

import (
	"time"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/report/observed"
	"github.com/podorder/podorder/suites/claims"
)

// Version is the version of the format that this package writes.
const Version = 1

// Report is what came of a run of the suite: of each case on each kubelet. It may be of
// several clusters.
type Report struct {
	// Version is that of the format, 1.
	Version int `json:"report"`
	// Made is when the report was written.
	Made time.Time `json:"made"`
	// Command is the command line of the run; empty where it is not known.
	Command string `json:"command,omitempty"`
	// Strict is set where a known fault of a release fails the run.
	Strict bool `json:"strict,omitempty"`
	// Failed says why the run failed; empty where it did not.
	Failed string `json:"failed,omitempty"`
	// Interrupted says what ended the run before all cases had run; empty where nothing did.
	Interrupted string `json:"interrupted,omitempty"`
	// Judged says when the runs were judged again, and by which podorder, if that is known:
	// "on 2026-12-01 15:10 UTC". It is empty where the verdicts are those of the run itself.
	Judged string `json:"judged,omitempty"`
	// Clusters are those that the cases ran in, in the order in which they were made.
	Clusters []Cluster `json:"clusters,omitempty"`
	// Kubelets are those that the cases ran on, the oldest first.
	Kubelets []Kubelet `json:"kubelets"`
	// Compared are the kubelets of two runs that are compared with each other, in pairs, that
	// of the older run first; absent where the kubelets are to be compared as neighbours.
	Compared [][]string `json:"compared,omitempty"`
	// Seconds are the time from the start of the first case to the last verdict, of
	// all clusters together.
	Seconds float64 `json:"seconds,omitempty"`
	// Runs are all runs of cases, those with the worst outcome first.
	Runs []Run `json:"runs"`
	// Claims are what each kubelet made of what is said in public about this order.
	Claims []claims.Column `json:"claims,omitempty"`
	// Differences are those between neighbouring kubelets, and what should differ and does not.
	Differences []observed.Difference `json:"differences,omitempty"`
}

// Cluster is one cluster that cases ran in.
type Cluster struct {
	// Kubernetes is the version of the API server.
	Kubernetes string `json:"kubernetes,omitempty"`
	// Runtime is the container runtime of the nodes, "containerd://2.3.5".
	Runtime string `json:"runtime,omitempty"`
	// Nodes are how many nodes take Pods.
	Nodes int `json:"nodes,omitempty"`
	// Made is set where the run made the cluster, and not where there was one.
	Made bool `json:"made,omitempty"`
	// Kubelets are the names of the kubelets of its nodes.
	Kubelets []string `json:"kubelets,omitempty"`
	// Seconds are how long it took until it could run cases.
	Seconds float64 `json:"seconds,omitempty"`
	// Failed says why no case could run in it; empty where they could.
	Failed string `json:"failed,omitempty"`
}

// Kubelet is a kubelet that cases ran on.
type Kubelet struct {
	// Name is what Run.Kubelet says: the version, and where several have the same, "@"
	// and more after it.
	Name string `json:"name"`
	// Version is the version that the node reports, by which it is judged.
	Version string `json:"version"`
	// Gates are those that affect order and differ from the defaults of the version:
	// "ContainerStopSignals=true,…".
	Gates string `json:"gates,omitempty"`
	// Uncovered says as which version it is judged where the model does not cover its
	// own; empty where it does.
	Uncovered string `json:"uncovered,omitempty"`
}

// The outcomes of a run, worst first. All but Skipped are the words of a verdict.
const (
	Violation    = "violation"
	Broken       = "broken"
	Unmodelled   = "unmodelled"
	Inconclusive = "inconclusive"
	Fixed        = "fixed"
	Known        = "known"
	Pass         = "pass"
	Skipped      = "skipped"
)

// Run is one run of a case on a kubelet.
type Run struct {
	// Case is the path of the case, "hooks/poststart-blocks", and Group that of which it is
	// one, "hooks"; "own" for a case that is not built in.
	Case  string `json:"case"`
	Group string `json:"group"`
	// Title, Rules and Labels are those of the case: its sentence, the slugs of the rules
	// that it is about, and what the suite's -labels select it by.
	Title  string              `json:"title,omitempty"`
	Rules  []string            `json:"rules,omitempty"`
	Labels map[string][]string `json:"labels,omitempty"`
	// Kubelet is the name of the kubelet.
	Kubelet string `json:"kubelet"`
	// Repeat counts the runs of a repeated case from 1; it is 0 where the case ran once.
	Repeat int `json:"repeat,omitempty"`
	// Outcome is the word of the verdict, or Skipped.
	Outcome string `json:"outcome"`
	// Started is when the run began, after its wait.
	Started time.Time `json:"started,omitzero"`
	// Seconds are the time from its start to its verdict, and Waited how long it
	// waited for its turn before.
	Seconds float64 `json:"seconds,omitempty"`
	Waited  float64 `json:"waited,omitempty"`
	// Reason says in a sentence why the outcome is what it is; empty for an ordinary pass.
	Reason string `json:"reason,omitempty"`
	// Verdict is absent where the case was skipped.
	Verdict *reference.Verdict `json:"verdict,omitempty"`
	// Explanation is the verdict for a person, of several lines; empty for a pass and where
	// the case was skipped.
	Explanation string `json:"explanation,omitempty"`
	// Ended says what kept the run from its last step; absent where nothing did.
	Ended *Ended `json:"ended,omitempty"`
	// Kept tells that an earlier run of the suite recorded it, with which this one went on; the
	// recording was judged anew.
	Kept bool `json:"kept,omitempty"`
	// First is why a first run of the case was inconclusive, so that this is the second.
	First string `json:"first,omitempty"`
	// Admission is what somebody else made of the Pod on its way into the cluster.
	Admission []string `json:"admission,omitempty"`
	// Trace is the path of the trace, with slashes and from the folder of the report, which
	// need not be above it; empty where none was saved. What else was kept of the run is
	// beside it.
	Trace string `json:"trace,omitempty"`
	// Fixtures is the folder of cases that the case is in, where it is not built in.
	Fixtures string `json:"fixtures,omitempty"`
	// Rerun is the command that runs the case again.
	Rerun string `json:"rerun,omitempty"`
	// Observed is what of the recording can be compared with other recordings of the case;
	// absent where there is none.
	Observed *observed.Behaviour `json:"observed,omitempty"`
}

// Ended says what kept a run from its last step.
type Ended struct {
	// Why says it in a sentence.
	Why string `json:"why"`
	// Awaited is what a step waited for in vain; empty where it was something else.
	Awaited string `json:"awaited,omitempty"`
	// Decided is what was seen that decides the case, where it was ended for that.
	Decided string `json:"decided,omitempty"`
}
