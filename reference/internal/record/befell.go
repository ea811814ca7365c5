package record

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/podorder/podorder/reference/trace"
	corev1 "k8s.io/api/core/v1"
)

// What befell the Pod as a whole: acts on it and on its node, changes of its
// definition, and Events that were lost on their way.

// A kubelet records about 25 Events of one Pod at once. After that it may drop one, and
// records one more in each eventRefill (k8s.io/client-go/tools/record/events_cache.go).
// eventBurst is a little less, since some may have been merged on their way.
const (
	eventBurst  = 20
	eventRefill = 300 * time.Second
)

// act takes what the recorder did.
func (g *gatherer) act(e *trace.Entry, n int) {
	ev, at, a := &g.ev, PlaceOf(n), e.Did
	switch a.Name + " " + a.Target() {
	case "restart kubelet", "stop kubelet", "start kubelet":
		ev.Restarts = append(ev.Restarts, at)
		return
	case "restart node":
		ev.Restarts = append(ev.Restarts, at)
		ev.NewSandbox, ev.SandboxStops = true, append(ev.SandboxStops, at)
		ev.NodeRestarted = true
		return
	case "stop sandbox":
		ev.NewSandbox, ev.SandboxStops = true, append(ev.SandboxStops, at)
		return
	}
	switch a.Name {
	case trace.ActDelete, trace.ActEvict, trace.ActReplace:
		ev.Ends = append(ev.Ends, at)
	case trace.ActApply:
		g.created(e.At, at)
	case trace.ActPatch:
		g.patch(a, at)
	case trace.ActDebug:
		g.added(a, at)
	}
}

// added takes an ephemeral container that was added to the Pod.
func (g *gatherer) added(a *trace.Act, at Place) {
	var c struct{ Name string }
	if json.Unmarshal(a.Param, &c) != nil {
		return
	}
	if i, ok := g.p.Index[c.Name]; ok && !g.ev.Containers[i].Added.Known() {
		g.ev.Containers[i].Added = at
	}
}

// patch takes a strategic merge patch of the Pod: it changes the definition of the
// containers that it names. A patch that cannot be read so may have changed any.
func (g *gatherer) patch(a *trace.Act, at Place) {
	type list []map[string]json.RawMessage
	var p struct {
		Spec struct {
			InitContainers, Containers list
			ActiveDeadlineSeconds      *int64
		}
	}
	defer func() { g.deadline(p.Spec.ActiveDeadlineSeconds) }()
	names, images := map[string]bool{}, map[string]string{}
	readable := json.Unmarshal(a.Param, &p) == nil && (a.Target() == "" || a.Target() == "resize")
	for _, of := range []list{p.Spec.InitContainers, p.Spec.Containers} {
		for _, one := range of {
			var name string
			readable = readable && json.Unmarshal(one["name"], &name) == nil
			if c, known := g.p.Index[name]; known {
				g.resizePatched(c, one["resources"], at)
			}
			_, resizes := one["resources"]
			names[name] = names[name] || len(one) > 2 || len(one) == 2 && !resizes
			var image string
			if json.Unmarshal(one["image"], &image) == nil && image != "" {
				images[name] = image
			}
		}
	}
	for c := range g.p.Containers {
		if !readable || names[g.p.Containers[c].Name] {
			g.c[c].patched++
			if changed := &g.ev.Containers[c].Changed; !changed.Known() {
				*changed = at
			}
		}
		if image := images[g.p.Containers[c].Name]; image != "" && image != g.c[c].image {
			g.ev.Containers[c].Images = append(g.ev.Containers[c].Images, at)
			g.c[c].image = image
		}
	}
}

// compare finds the containers that are defined otherwise than in the update before.
// Up to 1.30 the kubelet replaces a container if any field of it changes, and later
// only if its image does; the API lets change the image and the resources
// (pkg/kubelet/container/helpers.go, HashContainer). Resources never count: see resize.go.
func (g *gatherer) compare(spec *corev1.PodSpec) {
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			if c, ok := g.p.Index[list[i].Name]; ok && g.c[c].image == "" {
				g.c[c].image = list[i].Image
			}
		}
	}
	if old := g.spec; old != nil {
		g.compareList(old.InitContainers, spec.InitContainers)
		g.compareList(old.Containers, spec.Containers)
	}
	g.spec = spec
}

func (g *gatherer) compareList(was, is []corev1.Container) {
	for i := range min(len(was), len(is)) {
		c, ok := g.p.Index[is[i].Name]
		if !ok || reflect.DeepEqual(was[i], is[i]) {
			continue
		}
		g.resizeShown(c, &was[i].Resources, &is[i].Resources)
		old, now := was[i], is[i]
		old.Resources, now.Resources = corev1.ResourceRequirements{}, corev1.ResourceRequirements{}
		if reflect.DeepEqual(old, now) {
			continue // a resize is no other definition
		}
		g.c[c].redefined++
		if g.c[c].patched == 0 {
			g.ev.Containers[c].Changed = PlaceOf(0) // nothing says when
		}
	}
}

// eventMade takes the time at which the kubelet made Event n. Where two more were
// recorded since, and not over so long a time that the kubelet may record two beyond
// its burst, none had been dropped by then.
func (g *gatherer) eventMade(at time.Time, n int) {
	ev := &g.ev
	if g.firstEvent.IsZero() {
		g.firstEvent = at
	}
	if until := ev.NewestEvent; until.Sub(g.firstEvent) < eventRefill && !at.Before(until) {
		ev.EventsWholeUntil = until
	}
	if at.After(ev.NewestEvent) {
		ev.NewestEvent, ev.NewestEventObs = at, PlaceOf(n)
	}
}
