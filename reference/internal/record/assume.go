package record

import (
	"fmt"
	"slices"
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"
)

// Act is something that may be done to a Pod or to its node, or may happen to them, and that
// no line of a log shows.
type Act uint8

// The acts. An explanation names no other.
const (
	// OtherPeriod: the Pod was ended with another grace period than its own: somebody
	// deleted it with one, or forced it, or its node evicted it or was shut down.
	OtherPeriod Act = iota
	// LateStart: a container could not be started for a while, and the kubelet went on with
	// the next one.
	LateStart
	// SilentFailures: a probe failed more often than its lines and its periods tell.
	SilentFailures
	// BusyNode: the node was so busy that processes began, wrote and died seconds late.
	BusyNode
	// NewDefinition: somebody changed the definition of a container.
	NewDefinition
	// KubeletRestarted: the kubelet was restarted, once or several times.
	KubeletRestarted
	// SandboxLost: the Pod lost its sandbox, and was given another one.
	SandboxLost
	acts
)

// actTable has for each act its name, what happened, and what is taken for granted
// where it did not.
var actTable = [acts]struct{ name, says, not string }{
	OtherPeriod:      {"other-grace-period", "the Pod was ended with another grace period than its own", "the Pod was ended with its own grace period, if anything ended it"},
	LateStart:        {"late-start", "a container could not be started for a while, for want of its image or of a key of its environment, say", "every container could be started when its turn came"},
	SilentFailures:   {"silent-failures", "a probe failed more often than its lines and its periods tell", "a probe that failed wrote a line, or ran out of its time"},
	BusyNode:         {"busy-node", "the node was so busy that processes began, wrote and died seconds late", "the node was not so busy that processes began, wrote or died seconds late"},
	NewDefinition:    {"new-definition", "somebody changed the definition of a container", "nobody changed the definition of a container"},
	KubeletRestarted: {"kubelet-restart", "the kubelet was restarted", "the kubelet was not restarted"},
	SandboxLost:      {"new-sandbox", "the Pod was given a new sandbox", "the Pod kept its sandbox"},
}

// Acts are all acts, the more ordinary ones first.
func Acts() []Act {
	all := make([]Act, acts)
	for i := range all {
		all[i] = Act(i)
	}
	return all
}

// Name names the act in a few words with hyphens.
func (a Act) Name() string { return actTable[a].name }

// String says what happened, as a sentence without a full stop.
func (a Act) String() string { return actTable[a].says }

// Assumptions is what a log is judged by where only the log is known. The zero value is what
// is ordinary: none of the acts, and nothing known of a deletion.
type Assumptions struct {
	// Befell are the acts that may have happened; none of the others has.
	Befell []Act
	// Deleted is when the Pod was deleted, if that is known, and Grace with which period.
	Deleted time.Time
	Grace   *time.Duration
}

// Period is the grace period that a deletion has, as far as it is known: nil if it may be any.
func (a Assumptions) Period(p *podspec.Pod) *time.Duration {
	switch own := time.Duration(p.Grace) * time.Second; {
	case a.Grace != nil:
		return a.Grace
	case slices.Contains(a.Befell, OtherPeriod):
		return nil
	default:
		return &own
	}
}

// With are the assumptions where these acts may have happened instead.
func (a Assumptions) With(befell ...Act) Assumptions {
	a.Befell = befell
	return a
}

// Open are the acts of which it is not known that they did not happen.
func (a Assumptions) Open() []Act {
	return slices.DeleteFunc(Acts(), func(x Act) bool { return x == OtherPeriod && a.Grace != nil })
}

// Granted says what is taken for granted, in sentences without a full stop.
func (a Assumptions) Granted(p *podspec.Pod) []string {
	var all []string
	if !a.Deleted.IsZero() {
		all = append(all, fmt.Sprintf("the Pod was deleted at %s", a.Deleted.UTC().Format(time.RFC3339Nano)))
	}
	for _, x := range Acts() {
		switch {
		case slices.Contains(a.Befell, x) && x != OtherPeriod:
		case x != OtherPeriod:
			all = append(all, actTable[x].not)
		case a.Grace != nil:
			all = append(all, fmt.Sprintf("the Pod was ended with a grace period of %s, if anything ended it", *a.Grace))
		case !slices.Contains(a.Befell, x):
			all = append(all, fmt.Sprintf("%s (%s)", actTable[x].not, *a.Period(p)))
		}
	}
	return all
}

// anyNumber is more often than anything happens in a log.
const anyNumber = 1 << 20

// Assume adds to the evidence of a log alone what may have happened beside it.
func (ev Evidence) Assume(p *podspec.Pod, a Assumptions) Evidence {
	ev.Period = a.Period(p)
	if !a.Deleted.IsZero() {
		ev.EndedFrom = a.Deleted.Add(-time.Second) // by another clock
	}
	ev.Unhurried = !slices.Contains(a.Befell, BusyNode)
	ev.Containers = slices.Clone(ev.Containers)
	for _, x := range a.Befell {
		switch x {
		case KubeletRestarted:
			ev.RestartAnyTime = true
		case SandboxLost:
			ev.NewSandbox, ev.NodeRestarted = true, true
		}
		for c := range ev.Containers {
			of := &ev.Containers[c]
			switch x {
			case LateStart:
				of.StartFailed = true
			case SilentFailures:
				of.SilentFailure = true
			case NewDefinition:
				of.Changed, of.Changes = PlaceOf(0), anyNumber
			}
		}
	}
	return ev
}
