package observed

import (
	"slices"

	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// trait is something that a kubelet has or not: a change that a release brought, a known fault, or
// something that bears on no order, so that the model does not know it.
type trait struct {
	change kubelet.Change
	fault  rules.Deviation
	faulty bool
	// rule is the rule behind the change, gate its feature gate; both may be empty. A gate that
	// does not affect order is on wherever the release has the change.
	rule, gate string
	// versions are the releases that have what says tells, or those of a fault in which a case shows it;
	// empty otherwise.
	versions, says, source string
}

func change(c kubelet.Change, rule, gate string) trait {
	return trait{change: c, rule: rule, gate: gate}
}

func other(versions, says, source string) trait {
	return trait{versions: versions, says: says, source: source}
}

func faultIn(d rules.Deviation, versions string) trait {
	return trait{fault: d, faulty: true, versions: versions}
}

func fault(d rules.Deviation) trait { return trait{fault: d, faulty: true} }

// of reports whether a kubelet has the trait.
func (t trait) of(k rules.Kubelet) bool {
	if t.faulty {
		return k.Deviations().Has(t.fault) && (t.versions == "" || inRange(k, t.versions))
	}
	if t.versions != "" {
		return inRange(k, t.versions)
	}
	release, err := kubelet.ParseRelease(k.String())
	if err != nil {
		return false
	}
	without := ""
	if r, ok := rules.BySlug(t.rule); ok {
		without = r.Without
	}
	return release.Has(t.change) && (!slices.Contains(rules.Gates(), t.gate) || k.Enabled(t.gate)) && (without == "" || !k.Enabled(without))
}

// inRange reports whether a kubelet is in a range of releases.
func inRange(k rules.Kubelet, versions string) bool {
	r, err := trace.ParseRange(versions)
	release, wrong := trace.ParseRelease(k.String())
	return err == nil && wrong == nil && r.Has(release)
}

// cause says what the trait is.
func (t trait) cause() *Cause {
	if t.faulty {
		return causeOf(t.fault)
	}
	if t.versions != "" {
		return &Cause{Says: t.says, Source: t.source}
	}
	c := kubelet.Changes()[t.change]
	return &Cause{Rule: t.rule, Gate: t.gate, Says: c.Says + " Before: " + c.Before, Source: c.Source}
}

// causeOf says what a known fault is.
func causeOf(d rules.Deviation) *Cause {
	c := &Cause{Issue: d.Issue(), Says: d.When() + " " + d.String(), Source: d.Source()}
	if breaks := d.Breaks(); len(breaks) > 0 {
		c.Rule = breaks[0]
	}
	return c
}
