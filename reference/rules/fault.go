package rules

// Fault is something that happens to a Pod, its node or the recording of it, and that takes
// the ground from under a rule. What befell is read from the whole trace once.
type Fault uint8

// The faults. Nothing else suspends a rule.
const (
	_ Fault = iota
	// KubeletRestart: the kubelet was stopped or restarted, alone or with its node.
	KubeletRestart
	// NewSandbox: the sandbox of the Pod was replaced.
	NewSandbox
	// BegunAnew: all containers may have been started again, in a new sandbox or because
	// a container asked for the restart of all.
	BegunAnew
	// FailedStart: the container could not be created or started at least once.
	FailedStart
	// FailedPreStop: the preStop hook of the container failed at least once. One whose command
	// cannot be run writes nothing.
	FailedPreStop
	// Redefined: the definition of the container was changed.
	Redefined
	// ForcedDeletion: the Pod may have been removed from the API without waiting for
	// its node. A log alone does not tell.
	ForcedDeletion
	// EndedByOthers: somebody ended the Pod (an eviction, a deadline), and nothing says when.
	// A log alone does not tell.
	EndedByOthers
	// LogGap: lines may be missing.
	LogGap
	// EventGap: Events may be missing.
	EventGap
	// UpdateGap: updates of the Pod may be missing.
	UpdateGap
	// LostEvents: the newest Events may not have arrived, as the kubelet sends them one
	// after the other.
	LostEvents
	// SilentFailure: a probe of the container may have failed without a line, as one does
	// that runs out of time before its process has written anything; a log alone does not
	// tell.
	SilentFailure
	// LogAlone: nothing but the log was recorded.
	LogAlone
	// StoodStill: the node may have stood still for any time.
	StoodStill
)

// faults has for each its name, and what befell.
var faults = [...]struct{ name, says string }{
	KubeletRestart: {"kubelet-restart", "the kubelet was restarted"},
	NewSandbox:     {"new-sandbox", "the sandbox was replaced"},
	BegunAnew:      {"begun-anew", "all containers were started anew"},
	FailedStart:    {"failed-start", "a start of the container failed"},
	FailedPreStop:  {"failed-prestop", "its preStop hook failed"},
	Redefined:      {"redefined", "its definition was changed"},
	ForcedDeletion: {"forced-deletion", "the deletion was forced"},
	EndedByOthers:  {"ended-by-others", "somebody else ended the Pod"},
	LogGap:         {"log-gap", "lines may be missing"},
	EventGap:       {"event-gap", "Events may be missing"},
	UpdateGap:      {"update-gap", "updates may be missing"},
	LostEvents:     {"lost-events", "the newest Events may be missing"},
	SilentFailure:  {"silent-failure", "a probe may have failed without a line"},
	LogAlone:       {"log-alone", "only the log is known"},
	StoodStill:     {"stood-still", "the node stood still"},
}

// Name names the fault in a few words with hyphens.
func (f Fault) Name() string { return faults[f].name }

// String says what befell, as the rest of a sentence that begins with "unless".
func (f Fault) String() string { return faults[f].says }

// When says which faults of a kind count, against the observation that is judged.
type When uint8

const (
	// Ever: one anywhere in the trace.
	Ever When = iota
	// Before: one by the time of the observation.
	Before
	// Since: one between the observation that the rule counts from and this one.
	Since
)

// String says when, as it follows the words of a fault.
func (w When) String() string {
	switch w {
	case Before:
		return "before"
	case Since:
		return "in between"
	}
	return ""
}

// Suspension is a fault that suspends a clause, and when it has to have befallen.
type Suspension struct {
	Fault Fault
	When  When
}

// String says what suspends it, as the rest of a sentence that begins with "unless".
func (s Suspension) String() string {
	if w := s.When.String(); w != "" {
		return s.Fault.String() + " " + w
	}
	return s.Fault.String()
}

func ever(faults ...Fault) []Suspension { return suspensions(Ever, faults) }

func before(faults ...Fault) []Suspension { return suspensions(Before, faults) }

func since(faults ...Fault) []Suspension { return suspensions(Since, faults) }

func suspensions(when When, faults []Fault) []Suspension {
	var all []Suspension
	for _, f := range faults {
		all = append(all, Suspension{f, when})
	}
	return all
}
