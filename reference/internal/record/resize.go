package record

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// Resizes: what shows that the resources of a container were changed for which its
// resizePolicy has it restarted (pkg/kubelet/kuberuntime/kuberuntime_manager.go,
// computePodResizeAction). A change of other resources restarts nothing.

// resizes counts the resizes of one container by what shows them: acts, of which the first is
// at, what was asked for and what was applied in updates, and Events.
type resizes struct {
	at                              Place
	asked, shown, applied, inEvents int32
	status                          *corev1.ResourceRequirements
}

// resized is the first observation by which there may have been a resize, and how many there
// were.
func (r *resizes) resized() (Place, int32) {
	most := max(r.asked, r.shown, r.applied, r.inEvents)
	switch {
	case most == 0:
		return 0, 0
	case r.at.Known():
		return r.at, most
	}
	return PlaceOf(0), most // nothing says when
}

// resizePatched takes the resources that an act gives a container.
func (g *gatherer) resizePatched(c int, resources json.RawMessage, at Place) {
	var asked struct{ Requests, Limits map[corev1.ResourceName]any }
	if json.Unmarshal(resources, &asked) != nil {
		return // none
	}
	for _, name := range g.p.Containers[c].ResizeRestarts {
		_, request := asked.Requests[name]
		if _, limit := asked.Limits[name]; request || limit {
			if of := &g.c[c].resizes; of.asked == 0 {
				of.at = at
			}
			g.c[c].asked++
			return
		}
	}
}

// resizeShown takes two specs of the resources of a container, one after the other.
func (g *gatherer) resizeShown(c int, was, is *corev1.ResourceRequirements) {
	if g.needsRestart(c, was, is) {
		g.c[c].shown++
	}
}

// resizeApplied takes the resources that a status shows as applied to container c.
func (g *gatherer) resizeApplied(c int, s *corev1.ContainerStatus) {
	if s.Resources == nil {
		return
	}
	if was := g.c[c].status; was != nil && g.needsRestart(c, was, s.Resources) {
		g.c[c].applied++
	}
	g.c[c].status = s.Resources
}

// needsRestart reports whether resources of container c differ that have it restarted.
func (g *gatherer) needsRestart(c int, was, is *corev1.ResourceRequirements) bool {
	return slices.ContainsFunc(g.p.Containers[c].ResizeRestarts, func(name corev1.ResourceName) bool {
		for _, list := range [][2]corev1.ResourceList{{was.Requests, is.Requests}, {was.Limits, is.Limits}} {
			if old, now := list[0][name], list[1][name]; old.Cmp(now) != 0 {
				return true
			}
		}
		return false
	})
}

// resizeEvent takes a Killing Event of container c.
func (g *gatherer) resizeEvent(c int, e *trace.Event) {
	if len(g.p.Containers[c].ResizeRestarts) > 0 && strings.HasSuffix(e.Message, "resize requires restart") {
		g.c[c].inEvents = max(g.c[c].inEvents, e.Count, 1)
	}
}

// WithResizes is the evidence as this kubelet makes it: where it resizes containers in place,
// a resize that needs a restart has the container replaced like another definition. A log
// alone does not show one.
func (ev Evidence) WithResizes(k rules.Kubelet, p *podspec.Pod, logOnly bool) Evidence {
	if !k.Enabled(rules.GateResize) {
		return ev
	}
	cloned := false
	for c := range ev.Containers {
		spec, resized, n := &p.Containers[c], ev.Containers[c].Resized, ev.Containers[c].Resizes
		if len(spec.ResizeRestarts) == 0 || !p.IsRegular(c) && !(spec.Role == podspec.Sidecar && k.ResizesSidecars()) {
			continue
		}
		if logOnly && !ev.LogComplete && !ev.GraceNeverEnds {
			resized, n = PlaceOf(0), anyNumber
		}
		if !resized.Known() {
			continue
		}
		if !cloned {
			ev.Containers, cloned = slices.Clone(ev.Containers), true
		}
		of := &ev.Containers[c]
		if !of.Changed.Known() || resized < of.Changed {
			of.Changed = resized
		}
		of.Changes += n
	}
	return ev
}
