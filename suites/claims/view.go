package claims

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// view is a trace as the claims look at it.
type view struct {
	path    string
	entries []trace.Entry
	// containers are the regular containers of the case in listed order.
	containers []corev1.Container
	lines      []line
	// until is the entry with which something interferes with the Pod: a
	// deletion, a restart of the kubelet, a stopped sandbox. What the claims say
	// of starts is looked for before it.
	until int
	// deleted is the entry with which the Pod is deleted; the number of entries
	// if it never is.
	deleted int
	// restarted tells that a container was restarted, so that a line without a
	// run may have been written by any instance.
	restarted bool
	// troubled tells that a container could not be pulled, created or started at
	// once. Then later syncs start what is missing, and the claims, which speak
	// of one sync, say nothing.
	troubled bool
}

// line is a line of the shared log.
type line struct {
	trace.Line
	entry int // index of its entry
}

// newView returns nil for a trace that shows no Pod.
func newView(r Recording) *view {
	if r.Trace == nil {
		return nil
	}
	v := &view{path: r.Path, entries: r.Trace.Entries, until: len(r.Trace.Entries), deleted: len(r.Trace.Entries)}
	for i, e := range v.entries {
		switch {
		case e.Log != nil:
			l, err := trace.ParseLine(*e.Log)
			if err != nil {
				return nil // a broken trace shows nothing
			}
			v.lines = append(v.lines, line{l, i})
		case e.Pod != nil:
			if v.containers == nil {
				v.containers = slices.DeleteFunc(slices.Clone(e.Pod.Spec.Containers), func(c corev1.Container) bool { return slices.Contains(r.Added, c.Name) })
			}
			for _, s := range e.Pod.Status.ContainerStatuses {
				v.restarted = v.restarted || s.RestartCount > 0
			}
			if e.Pod.DeletionTimestamp != nil || e.Type == trace.Deleted {
				v.interferes(i, true)
			}
		case e.Event != nil:
			if slices.Contains([]string{"Failed", "BackOff"}, e.Event.Reason) && v.regular(e.Event.FieldPath) {
				v.troubled = true
			}
		case e.Did != nil:
			// What makes the Pod or another object does not interfere, nor does an
			// ephemeral container.
			switch e.Did.Name {
			case trace.ActApply, "debug":
			case trace.ActDelete, trace.ActEvict, trace.ActReplace:
				v.interferes(i, true)
			default:
				v.interferes(i, false)
			}
		}
	}
	if v.containers == nil {
		return nil
	}
	return v
}

func (v *view) interferes(entry int, deletes bool) {
	v.until = min(v.until, entry)
	if deletes {
		v.deleted = min(v.deleted, entry)
	}
}

// regular reports whether the field path of an Event is one of a regular
// container.
func (v *view) regular(fieldPath string) bool {
	return strings.HasPrefix(fieldPath, "spec.containers{")
}

// first reports whether the line is of the first instance of its container; a
// line that may be of any other is not.
func (v *view) first(l line) bool {
	return l.Run == 0 || l.Run == trace.NoRun && !v.restarted
}

// span returns the first and the last line of an actor in the first instance of
// a container, as far as nothing interferes.
func (v *view) span(container string, actor trace.Actor) (first, last line, ok bool) {
	for _, l := range v.lines {
		if l.entry >= v.until || l.Container != container || l.Actor != actor || !v.first(l) {
			continue
		}
		if !ok {
			first, ok = l, true
		}
		last = l
	}
	return first, last, ok
}

// begin returns the first line of whoever writes first in the first instance of
// a container.
func (v *view) begin(container string) (line, bool) {
	for _, l := range v.lines {
		if l.entry < v.until && l.Container == container && v.first(l) {
			return l, true
		}
	}
	return line{}, false
}

// event returns the first Event of a container with this reason.
func (v *view) event(container, reason string) (entry int, ok bool) {
	for i, e := range v.entries {
		if e.Event != nil && e.Event.Reason == reason && e.Event.FieldPath == "spec.containers{"+container+"}" {
			return i, true
		}
	}
	return 0, false
}

// show returns an entry as evidence.
func (v *view) show(entry int) Evidence {
	e := v.entries[entry]
	out := Evidence{Trace: v.path, Line: e.Line}
	switch {
	case e.Log != nil:
		out.Text = *e.Log
	case e.Pod != nil:
		out.Text = fmt.Sprintf("Pod %s: phase %s", e.Type, e.Pod.Status.Phase)
		for _, s := range e.Pod.Status.ContainerStatuses {
			out.Text += fmt.Sprintf(", %s started=%t ready=%t", s.Name, s.Started != nil && *s.Started, s.Ready)
		}
	case e.Event != nil:
		out.Text = fmt.Sprintf("event %s %s: %s", e.Event.Reason, e.Event.FieldPath, strings.TrimSpace(e.Event.Message))
	case e.Did != nil:
		out.Text = fmt.Sprintf("did %s %s", e.Did.Name, e.Did.Param)
	case e.Gap != nil:
		out.Text = fmt.Sprintf("gap in %s: %s", e.Gap.Channel, e.Gap.Why)
	}
	return out
}

// showAll returns entries as evidence, in their order.
func (v *view) showAll(entries ...int) []Evidence {
	slices.Sort(entries)
	var out []Evidence
	for _, i := range slices.Compact(entries) {
		out = append(out, v.show(i))
	}
	return out
}

// before reports whether a Pod was delivered before a line was written. The
// channels of a trace are not ordered among each other, but the stamp of a line is
// no later than its write, and a Pod is delivered no sooner than it is published.
func (v *view) before(pod int, l line) bool { return v.entries[pod].At.Before(l.Time) }

// status returns the status of a container in a Pod, and whether there is one.
func status(p *corev1.Pod, container string) (s corev1.ContainerStatus, ok bool) {
	i := slices.IndexFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == container })
	if i < 0 {
		return s, false
	}
	return p.Status.ContainerStatuses[i], true
}

func hasHook(c corev1.Container) bool { return c.Lifecycle != nil && c.Lifecycle.PostStart != nil }
