package search_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/trace"
)

// Changes of what the processes of a Pod wrote, and when. The kubelet did the same.

// format writes a line again, as it was stamped.
func format(l trace.Line) *string {
	text := l.Format()
	if l.Whole {
		text = l.Time.UTC().Format("Mon Jan _2 15:04:05 MST 2006") + ": " + l.String()
	}
	return &text
}

// written is a line of the log and where it stands.
type written struct {
	trace.Line
	entry int
}

// process names the process that wrote a line. Each run of a probe is another one, but the worker is the same.
func (w written) process() string { return fmt.Sprintf("%s#%d / %s", w.Container, w.Run, w.Actor) }

func (r *recording) lines() (all []written) {
	for i, e := range r.tr.Entries {
		if e.Log == nil {
			continue
		}
		if l, err := trace.ParseLine(*e.Log); err == nil {
			all = append(all, written{l, i})
		}
	}
	return all
}

// setLines puts other lines, or the same in another order, in place of those that there are. They arrive when those did, or
// when they are written, if that is later.
func (r *recording) setLines(was, is []written) {
	for n := range is {
		e := &r.tr.Entries[was[n].entry]
		e.Log = format(is[n].Line)
	}
}

// slower is by how much a process may be later than another one.
const slower = time.Second

// writtenLater: a process that goes on for longer was slower to write a line than others were to write theirs.
func writtenLater(r *recording, choose kubelet.Chooser) bool {
	return r.exchange(choose, func(all []written, i int) bool {
		a, b := all[i], all[i+1]
		return a.process() != b.process() && !a.Actor.IsProbe() && a.Run != trace.NoRun &&
			slices.ContainsFunc(all[i+2:], func(x written) bool { return x.process() == a.process() })
	}, func(a, b *written) { a.Time = b.Time })
}

// writtenSooner: a process that wrote before was faster to write a line than others were to write theirs.
func writtenSooner(r *recording, choose kubelet.Chooser) bool {
	return r.exchange(choose, func(all []written, i int) bool {
		a, b := all[i], all[i+1]
		hookEnds := b.Mark.Kind == trace.End && b.Actor.IsHook() && b.Time.Sub(a.Time) < 100*time.Millisecond
		return a.process() != b.process() && b.Run != trace.NoRun && (b.Mark.Kind == trace.Tick || hookEnds) &&
			slices.ContainsFunc(all[:i], func(x written) bool { return x.process() == b.process() })
	}, func(a, b *written) { b.Time = a.Time })
}

// exchange exchanges lines that follow each other, where may says so. stamp gives the one that moves
// the stamp of the other.
func (r *recording) exchange(choose kubelet.Chooser, may func(all []written, i int) bool, stamp func(a, b *written)) bool {
	all := r.lines()
	was := slices.Clone(all)
	often := 1 + choose(8)
	changed := false
	moved := map[int]time.Duration{}
	for i := 0; i+1 < len(all); i++ {
		a, b := all[i], all[i+1]
		by := b.Time.Sub(a.Time)
		if a.Container == "" || by < 0 || by+moved[a.entry]+moved[b.entry] > slower || choose(8) >= often || !may(all, i) {
			continue
		}
		stamp(&a, &b)
		all[i], all[i+1] = b, a
		moved[a.entry] += by
		moved[b.entry] += by
		changed = true
	}
	r.setLines(was, all)
	if !changed {
		return false
	}
	for i := range r.tr.Entries { // no line arrives before it was written
		e := &r.tr.Entries[i]
		if e.Log == nil {
			continue
		}
		if l, err := trace.ParseLine(*e.Log); err == nil && e.At.Before(l.Time) {
			e.At = l.Time
		}
	}
	var last time.Time
	for i := range r.tr.Entries {
		if e := &r.tr.Entries[i]; e.Log != nil {
			if e.At.Before(last) {
				e.At = last
			}
			last = e.At
		}
	}
	r.sort()
	return true
}

// eachLine changes every line of the log; those for which it says false are left out.
func (r *recording) eachLine(do func(l *trace.Line) bool) bool {
	changed := false
	entries := r.tr.Entries[:0]
	for _, e := range r.tr.Entries {
		if e.Log != nil {
			l, err := trace.ParseLine(*e.Log)
			if err != nil {
				continue
			}
			was := l
			if !do(&l) {
				changed = true
				continue
			}
			if l != was {
				e.Log, changed = format(l), true
			}
		}
		entries = append(entries, e)
	}
	r.tr.Entries = entries
	return changed
}

// withoutNumbers: the processes do not know how often they were started. Nothing was started twice.
func withoutNumbers(r *recording, choose kubelet.Chooser) bool {
	again := func(e trace.Entry) bool {
		switch {
		case e.Log != nil:
			l, err := trace.ParseLine(*e.Log)
			return err != nil || l.Run > 0
		case e.Pod != nil:
			return slices.ContainsFunc(slices.Concat(e.Pod.Status.InitContainerStatuses, e.Pod.Status.ContainerStatuses), func(cs corev1.ContainerStatus) bool { return cs.RestartCount > 0 })
		}
		return e.Event != nil && e.Event.Count > 1
	}
	return !slices.ContainsFunc(r.tr.Entries, again) && withoutNumbersOfRestarts(r, choose)
}

// withoutNumbersOfRestarts is the same where containers may have been started more than once.
func withoutNumbersOfRestarts(r *recording, _ kubelet.Chooser) bool {
	return r.eachLine(func(l *trace.Line) bool { l.Run = trace.NoRun; return true })
}

// wholeSeconds: the lines are stamped by date(1).
func wholeSeconds(r *recording, _ kubelet.Chooser) bool {
	return r.eachLine(func(l *trace.Line) bool {
		l.Time, l.Whole = l.Time.Truncate(time.Second), true
		return true
	})
}

// plainWriters: some processes are commands of a shell, which append a line, or several, and note neither their end nor
// a signal. The Pod says that they write.
func plainWriters(r *recording, choose kubelet.Chooser) bool {
	type writer struct {
		container string
		actor     trace.Actor
	}
	plain := map[writer]bool{}
	isPlain := func(c string, a trace.Actor) bool {
		w := writer{c, a}
		if _, ok := plain[w]; !ok {
			plain[w] = choose(2) == 0
		}
		return plain[w]
	}
	if !r.eachLine(func(l *trace.Line) bool {
		if !isPlain(l.Container, l.Actor) {
			return true
		}
		switch l.Mark.Kind {
		case trace.Signal:
			return false
		case trace.End:
			if !l.Actor.IsProbe() {
				return false
			}
		}
		l.Mark = trace.Mark{Kind: trace.Tick, N: -1}
		return true
	}) {
		return false
	}
	var list []string
	pod := r.pod.DeepCopy()
	eachContainer(pod, func(c *corev1.Container) {
		for _, a := range trace.Actors() {
			command := commandOf(c, a)
			recorder := command != nil && slices.Contains(*command, "recorder") || a == trace.Main && strings.Contains(c.Image, "recorder")
			if !recorder && !(command != nil && strings.Contains(strings.Join(*command, " "), c.Name+" / ")) {
				continue
			}
			list = append(list, c.Name+"/"+string(a))
			if isPlain(c.Name, a) {
				r.rename(c.Name, a)
			}
		}
	})
	r.annotate(strings.Join(list, ","))
	return true
}

// rename has an actor run another program than the recorder, in all objects.
func (r *recording) rename(name string, a trace.Actor) {
	of := func(pod *corev1.Pod) *corev1.Pod {
		pod = pod.DeepCopy()
		eachContainer(pod, func(c *corev1.Container) {
			if c.Name != name {
				return
			}
			switch command := commandOf(c, a); {
			case a == trace.Main && (command == nil || len(*command) == 0):
				c.Command = []string{"plain"}
			case command != nil:
				*command = []string{"plain"}
			}
			if a == trace.Main {
				c.Args = nil
			}
		})
		return pod
	}
	r.pod = of(r.pod)
	for i := range r.tr.Entries {
		if e := &r.tr.Entries[i]; e.Pod != nil {
			e.Pod = of(e.Pod)
		}
	}
}

// annotate has all objects say who writes.
func (r *recording) annotate(list string) {
	r.pod = reference.WithWrites(r.pod, list)
	for i := range r.tr.Entries {
		if e := &r.tr.Entries[i]; e.Pod != nil {
			e.Pod = reference.WithWrites(e.Pod, list)
		}
	}
}

func eachContainer(pod *corev1.Pod, do func(c *corev1.Container)) {
	for i := range pod.Spec.InitContainers {
		do(&pod.Spec.InitContainers[i])
	}
	for i := range pod.Spec.Containers {
		do(&pod.Spec.Containers[i])
	}
}

// commandOf is what an actor of a container runs; nil if it runs nothing there.
func commandOf(c *corev1.Container, a trace.Actor) *[]string {
	handler := func(h *corev1.LifecycleHandler) *[]string {
		if h == nil || h.Exec == nil {
			return nil
		}
		return &h.Exec.Command
	}
	probe := func(p *corev1.Probe) *[]string {
		if p == nil || p.Exec == nil {
			return nil
		}
		return &p.Exec.Command
	}
	switch a {
	case trace.Main:
		return &c.Command
	case trace.StartupProbe:
		return probe(c.StartupProbe)
	case trace.ReadinessProbe:
		return probe(c.ReadinessProbe)
	case trace.LivenessProbe:
		return probe(c.LivenessProbe)
	}
	switch {
	case c.Lifecycle == nil:
		return nil
	case a == trace.PostStart:
		return handler(c.Lifecycle.PostStart)
	}
	return handler(c.Lifecycle.PreStop)
}
