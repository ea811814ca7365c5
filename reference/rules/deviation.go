package rules

import (
	"fmt"
	"iter"
	"math/bits"
	"strings"

	"github.com/podorder/podorder/reference/trace"
)

// Deviation is a known fault of some releases: where its precondition holds, a kubelet that
// has it may do what a correct one does not. It changes no rule. A trace is known, and no
// violation, only if the deviations of its kubelet explain all of it that breaks a rule.
type Deviation uint8

// The deviations; deviationTable says what each is, and package model has a function for each.
const (
	StartedInherited Deviation = iota
	ShownBeforeWorkers
	ReadyAsPodEnds
	ProbesCancelled
	SidecarUnprobed
	DeadSidecarAwaited
	InitSkipped
	NeverPodStuck
	StaticInitForgotten
	deviations
)

// NoIssue stands in for the upstream number of a deviation that nobody has reported.
const NoIssue = "none reported"

// deviation is a row of the table.
type deviation struct {
	name string
	// issues are the upstream numbers; none where nobody has reported it.
	issues []string
	// versions is a range of patch releases, read from the sources of each; empty means all
	// that are covered. without is a feature gate with which a kubelet does not have it.
	versions, without string
	// breaks are the rules that a kubelet which has it may break by it.
	breaks []string
	// when is the precondition and says the effect, each as a sentence.
	when, says string
	// source is where the fault is, a file and function of k8s.io/kubernetes.
	source string
	// always: every recording in which the precondition holds shows the effect. Otherwise
	// one without it proves nothing.
	always bool
}

// Deviations returns all deviations.
func Deviations() []Deviation {
	all := make([]Deviation, deviations)
	for i := range all {
		all[i] = Deviation(i)
	}
	return all
}

// Name names the deviation in a few words with hyphens, as the file of its scripts is called.
func (d Deviation) Name() string { return deviationTable[d].name }

// String is the effect in a sentence.
func (d Deviation) String() string { return deviationTable[d].says }

// When is the precondition in a sentence.
func (d Deviation) When() string { return deviationTable[d].when }

// Source is where the fault is in the sources of Kubernetes.
func (d Deviation) Source() string { return deviationTable[d].source }

// Versions is the range of kubelets that have the deviation; empty means all that are covered.
func (d Deviation) Versions() string { return deviationTable[d].versions }

// Breaks are the rules that may be broken by the deviation.
func (d Deviation) Breaks() []string { return append([]string(nil), deviationTable[d].breaks...) }

// Always reports whether every recording in which the precondition holds shows the effect.
func (d Deviation) Always() bool { return deviationTable[d].always }

// Issue is the first of the upstream numbers, or [NoIssue].
func (d Deviation) Issue() string {
	if issues := deviationTable[d].issues; len(issues) > 0 {
		return issues[0]
	}
	return NoIssue
}

// Issues are the upstream numbers; none where nobody has reported the deviation.
func (d Deviation) Issues() []string { return append([]string(nil), deviationTable[d].issues...) }

// DeviationSet is a set of deviations.
type DeviationSet uint32

// DeviationsOf is the set of the given deviations.
func DeviationsOf(list ...Deviation) (s DeviationSet) {
	for _, d := range list {
		s = s.With(d)
	}
	return s
}

// Has reports whether the set has the deviation.
func (s DeviationSet) Has(d Deviation) bool { return s&(1<<d) != 0 }

// With is the set and the deviation.
func (s DeviationSet) With(d Deviation) DeviationSet { return s | 1<<d }

// Without is the set without the deviation.
func (s DeviationSet) Without(d Deviation) DeviationSet { return s &^ (1 << d) }

// Len is the number of deviations in the set.
func (s DeviationSet) Len() int { return bits.OnesCount32(uint32(s)) }

// All yields the deviations of the set in the order of the table.
func (s DeviationSet) All() iter.Seq[Deviation] {
	return func(yield func(Deviation) bool) {
		for d := range deviations {
			if s.Has(d) && !yield(d) {
				return
			}
		}
	}
}

// Deviations are those that the kubelet has: its version and its feature gates say so.
func (k Kubelet) Deviations() (s DeviationSet) {
	for d := range deviations {
		if without := deviationTable[d].without; deviationRanges[d].Has(k.v) && (without == "" || !k.Enabled(without)) {
			s = s.With(d)
		}
	}
	return s
}

// deviationRanges are the versions of the deviations. One that is no range holds for no version,
// and fails the test of the table.
var deviationRanges = func() (ranges [deviations]trace.Range) {
	for d, row := range deviationTable {
		if r, err := trace.ParseRange(row.versions); err == nil {
			ranges[d] = r
		}
	}
	return ranges
}()

// Always is the set of those of which every recording in which the precondition holds shows the
// effect.
func (s DeviationSet) Always() (always DeviationSet) {
	for d := range s.All() {
		if d.Always() {
			always = always.With(d)
		}
	}
	return always
}

// checkDeviations reports the first fault in the table of deviations.
func checkDeviations() error {
	seen := map[string]bool{}
	for _, row := range deviationTable {
		switch {
		case row.name == "" || seen[row.name]:
			return fmt.Errorf("a deviation has no name, or that of another: %q", row.name)
		case row.when == "" || row.says == "" || row.source == "":
			return fmt.Errorf("deviation %s needs a precondition, an effect and a source", row.name)
		case len(row.breaks) == 0:
			return fmt.Errorf("deviation %s breaks no rule", row.name)
		}
		for _, slug := range row.breaks {
			if r, ok := BySlug(slug); !ok || r.Level != Must {
				return fmt.Errorf("deviation %s breaks %s, which is no rule that binds", row.name, slug)
			}
		}
		for _, issue := range row.issues {
			if !strings.HasPrefix(issue, "kubernetes/kubernetes#") {
				return fmt.Errorf("deviation %s: %q is no upstream number", row.name, issue)
			}
		}
		if _, err := trace.ParseRange(row.versions); err != nil {
			return fmt.Errorf("deviation %s: %w", row.name, err)
		}
		seen[row.name] = true
	}
	return nil
}
