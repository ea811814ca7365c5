package kubelet

import (
	"fmt"

	"github.com/podorder/podorder/reference/trace"
)

// event records an Event about a container, or about the Pod if c is -1, of
// something that has happened by now. It may be lost, which it reports.
//
// events/possible
func (k *kubelet) event(c int, kind, reason, message string) (lost bool) {
	path := ""
	if c >= 0 {
		path = k.path(c)
	}
	return k.rec.event(path, kind, reason, message)
}

// path is the field of the Pod that an Event is about.
func (n *node) path(c int) string {
	if n.isRegular(c) {
		return "spec.containers{" + n.specs[c].Name + "}"
	}
	return "spec.initContainers{" + n.specs[c].Name + "}"
}

// Some Events are not lost: those of something that nothing else in the trace may
// show. The judge never assumes what is done to a Pod from outside.

// failed records that a container could not be started. The first such Event is not
// lost: its status may be merged with the next one, or be hidden by a forced deletion.
func (k *kubelet) failed(c int, message string) {
	if !k.rec.knows(k.path(c), "Failed", message) {
		k.rec.surely(k.path(c), "Warning", "Failed", message)
		return
	}
	k.event(c, "Warning", "Failed", message)
}

// startedEvent records a start. Where the Event of the creation was lost, nothing else
// may show an instance that writes nothing, if the trace ends before its status comes.
func (k *kubelet) startedEvent(c int, createdLost bool) {
	message := k.release.started(k.specs[c].Name)
	if k.event(c, "Normal", "Started", message) && createdLost && k.pod.May.Silent {
		k.rec.surely(k.path(c), "Normal", "Started", message)
	}
}

var probeWords = map[trace.Actor]string{trace.StartupProbe: "Startup", trace.ReadinessProbe: "Readiness", trace.LivenessProbe: "Liveness"}

// probeErred records that a probe came to no outcome.
func (k *kubelet) probeErred(w *probeWorker) {
	k.event(w.c, "Warning", "Unhealthy", probeWords[w.kind]+" probe errored and resulted in unknown state")
}

// probeFailed records a failure of a probe. It is not lost where it may leave no line,
// since nobody answers or it ran out of time, and no status, since the Pod is deleted by
// force or the trace ends before the instance does.
func (k *kubelet) probeFailed(w *probeWorker, code int, timedOut bool) {
	message := fmt.Sprintf("%s probe failed: %d", probeWords[w.kind], code)
	if timedOut {
		message = probeWords[w.kind] + " probe failed: command timed out"
	}
	path := k.path(w.c)
	unseen := w.spec.HTTP || k.pod.May.ForceDelete || k.now > 1000*(k.pod.Seconds-k.pod.Grace-10)
	if k.specs[w.c].Slow || unseen && !k.rec.knows(path, "Unhealthy", message) {
		k.rec.surely(path, "Warning", "Unhealthy", message)
		return
	}
	k.event(w.c, "Warning", "Unhealthy", message)
}

// created is the text of the Event of a release.
func (r Release) created(name string) string {
	switch {
	case r.Has(EventsWithoutNames):
		return "Container created"
	case r.Has(CreatedWithColon):
		return "Created container: " + name
	}
	return "Created container " + name
}

func (r Release) started(name string) string {
	if r.Has(EventsWithoutNames) {
		return "Container started"
	}
	return "Started container " + name
}

func (r Release) pulled(image string) string {
	if r.Has(EventsWithoutNames) {
		return fmt.Sprintf("Container image %q already present on machine and can be accessed by the pod", image)
	}
	return fmt.Sprintf("Container image %q already present on machine", image)
}
