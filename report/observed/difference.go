package observed

// Difference is something in which two kubelets differ, or should.
type Difference struct {
	// Case is the case that shows it; empty for a figure that was measured over all cases.
	Case string `json:"case,omitempty"`
	// Older and Newer are the two kubelets, neighbours among those that were compared.
	Older string `json:"older"`
	Newer string `json:"newer"`
	Kind  Kind   `json:"kind"`
	// What is the subject of the difference, in a few words.
	What string `json:"what"`
	// OnOlder and OnNewer say what each of the two showed, and in how many of its runs.
	OnOlder string `json:"onOlder"`
	OnNewer string `json:"onNewer"`
	// Because is the cause, where the model knows one.
	Because *Cause `json:"because,omitempty"`
	State   State  `json:"state"`
}

// Kind says what kind of thing differs.
type Kind string

// The kinds of differences.
const (
	// Order: which of two events came first.
	Order Kind = "order"
	// Presence: whether an event came.
	Presence Kind = "presence"
	// Count: how often an event came.
	Count Kind = "count"
	// Measured: a figure.
	Measured Kind = "figure"
	// Verdict: what the judge says of the case.
	Verdict Kind = "verdict"
)

// State says whether a difference was to be expected.
type State string

// The states of a difference.
const (
	// Expected: the table says so, and it is so.
	Expected State = "expected"
	// Unexpected: the table does not say so. It fails a comparison.
	Unexpected State = "unexpected"
	// Missing: the table says so, its case ran on both, and it is not so. It fails a comparison.
	Missing State = "missing"
)

// Fails reports whether the difference fails a comparison.
func (d Difference) Fails() bool { return d.State != Expected }

// Cause is what is behind a difference.
type Cause struct {
	// Rule is the slug of a rule, Gate a feature gate, Issue an upstream number; each may be empty.
	Rule  string `json:"rule,omitempty"`
	Gate  string `json:"gate,omitempty"`
	Issue string `json:"issue,omitempty"`
	// Says is the cause in a sentence.
	Says string `json:"says"`
	// Source is a file and function of k8s.io/kubernetes.
	Source string `json:"source,omitempty"`
}
