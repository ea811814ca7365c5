package observed

// Behaviour is what one recording shows of one Pod.
type Behaviour struct {
	// Events are what came, in the order in which each came first.
	Events []Event `json:"events,omitempty"`
	// Figures are measured, each for the Pod or for an instance of a container.
	Figures []Figure `json:"figures,omitempty"`
}

// Event is something that came, once or several times. Its name is a line of the shared log
// without its stamp ("main#0 / post start hook: end 0"), something that the status showed
// ("main#0 shown ready", "phase Running", "condition Ready True", "deletion shown",
// "object gone"), or what was done to the Pod ("did delete", "did restart kubelet").
//
// A probe that writes while its Pod is stopped has one more event for that ("main#0 / readiness
// probe while stopping"): from two seconds after the first line of a preStop hook, or the first
// TERM, that follows a deletion or an eviction.
type Event struct {
	Name string `json:"name"`
	// At is when it came first, in seconds from the beginning of the recording.
	At float64 `json:"at"`
	// Count is how often it came. Something that the status shows comes again only when it
	// was not shown in between.
	Count int `json:"count"`
}

// Figure is a number that was measured.
type Figure struct {
	// Name is one of the names of [Figures].
	Name string `json:"name"`
	// Of is the instance of a container that it was measured on; empty for the Pod.
	Of string `json:"of,omitempty"`
	// Value is in seconds, or a number of probes.
	Value float64 `json:"value"`
}

// The figures.
const (
	// HookToReady is from the end of the last postStart hook before it to the first update in
	// which a container is ready.
	HookToReady = "hook end to first ready update"
	// EarlyReadiness counts the readiness probes within three seconds of the start of a container,
	// its postStart hook included.
	EarlyReadiness = "readiness probes in the first 3 s"
	// ExitToRestart is from the last line of an instance to the first line of the next one.
	ExitToRestart = "exit to restart"
	// DeleteToTERM is from the deletion to TERM.
	DeleteToTERM = "delete to TERM"
	// TERMToGone is from the first TERM after the deletion until the object is gone.
	TERMToGone = "TERM to object gone"
)

// Figures are the names of all figures.
func Figures() []string {
	return []string{HookToReady, EarlyReadiness, ExitToRestart, DeleteToTERM, TERMToGone}
}

// Event returns the event of a name; ok is false for one that never came.
func (b Behaviour) Event(name string) (e Event, ok bool) {
	for _, e := range b.Events {
		if e.Name == name {
			return e, true
		}
	}
	return Event{}, false
}

// Count is how often an event came.
func (b Behaviour) Count(name string) int {
	e, _ := b.Event(name)
	return e.Count
}
