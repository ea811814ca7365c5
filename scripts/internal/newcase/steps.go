package newcase

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// story is what a correct kubelet makes of the Pod, as far as a case waits for it: the steps and
// the witnesses.
type story struct {
	steps   []any
	witness []string
	notes   []string
	// fails are the lines of what was told to fail, in a Pod that therefore does not become what it
	// would be otherwise.
	fails []string
}

// Patience, and how long a case waits for a liveness probe at most.
const (
	patience     = time.Minute
	mostLiveness = time.Minute
)

func (s *story) saw(w who, mark string) string {
	line := w.container + " / " + string(w.actor) + mark
	s.witness = append(s.witness, line)
	return line
}

func (s *story) await(what any) { s.steps = append(s.steps, map[string]any{"await": what}) }

// awaitWithin waits for something, with more patience than usual where that may take long.
func (s *story) awaitWithin(key string, what any, takes time.Duration) {
	await := map[string]any{key: what}
	if takes > patience/3 {
		await["within"] = (patience + takes).Round(time.Second).String()
	}
	s.await(await)
}

// tell tells the story of a Pod whose recorders were made.
func tell(m *maker) story {
	var s story
	takes, through := s.inits(m)
	if through {
		s.regulars(m, takes)
	} else {
		s.failed(takes)
	}
	s.steps = append(s.steps, map[string]any{"delete": map[string]any{}})
	return s
}

// inits tells of init containers and sidecars. It returns how long they take, and whether the regular
// containers have their turn.
func (s *story) inits(m *maker) (takes time.Duration, through bool) {
	for i := range m.pod.Spec.InitContainers {
		c := &m.pod.Spec.InitContainers[i]
		w := who{c.Name, trace.Main}
		main := m.acts[w]
		begin := s.saw(w, ": begin")
		lasts, ends := length(main)
		switch {
		case isSidecar(c):
			up, ok := s.started(m, c)
			if takes += up; !ok {
				s.await(begin)
				return takes, false
			}
		case !ends:
			s.await(begin)
			return takes, false
		case number(main, "exit") != 0:
			s.await(s.saw(w, fmt.Sprintf(": end %d", number(main, "exit"))))
			return takes, false
		default:
			failures := number(main, "fail-first")
			takes += lasts * time.Duration(failures+1)
			for n := range failures { // each restart but the first waits twice as long as the one before it
				takes += time.Duration(n) * 20 * time.Second
			}
			if failures > 0 && m.pod.Spec.RestartPolicy == corev1.RestartPolicyNever {
				s.await(begin)
				return takes, false
			}
			s.saw(w, ": end 0")
		}
	}
	return takes, true
}

// failed waits for what fails.
func (s *story) failed(takes time.Duration) {
	for _, line := range s.fails {
		s.awaitWithin("log", line, takes)
	}
}

// started tells of the hook and the startup probe of a container, which hold up others. It returns
// how long they take, and whether they succeed.
func (s *story) started(m *maker, c *corev1.Container) (takes time.Duration, ok bool) {
	if l := c.Lifecycle; l != nil && l.PostStart != nil {
		w := who{c.Name, trace.PostStart}
		lasts, ends := length(m.acts[w])
		switch {
		case l.PostStart.Sleep != nil:
			takes += time.Duration(l.PostStart.Sleep.Seconds) * time.Second
		case !ends || failing(m.acts[w]):
			s.saw(w, ": begin")
			return takes, false
		default:
			takes += lasts
			s.saw(w, ": end 0")
		}
	}
	if c.StartupProbe == nil {
		return takes, true
	}
	return takes + s.probed(m, c, trace.StartupProbe, c.StartupProbe), !failing(m.acts[who{c.Name, trace.StartupProbe}])
}

// failing reports whether an actor was told to fail, now or later.
func failing(all []setting) bool {
	return number(all, "exit") != 0 || number(all, "fail-after") != 0 || value(all, "until") != "" || value(all, "require") != "" || value(all, "after") != ""
}

// probed has a probe seen, and returns how long its first success or failure takes.
func (s *story) probed(m *maker, c *corev1.Container, a trace.Actor, p *corev1.Probe) time.Duration {
	w := who{c.Name, a}
	switch {
	case !failing(m.acts[w]):
		s.saw(w, ": end 0")
	case number(m.acts[w], "exit") != 0 && p.TCPSocket == nil: // a connection that is refused leaves no line
		s.fails = append(s.fails, s.saw(w, ": end 1"))
	}
	return first(p, m.acts[w])
}

// first is how long the first success of a probe may take.
func first(p *corev1.Probe, all []setting) time.Duration {
	period := p.PeriodSeconds
	if period == 0 {
		period = 10
	}
	lasts, _ := length(all)
	n := max(p.SuccessThreshold, 1) + int32(number(all, "fail-first"))
	return time.Duration(p.InitialDelaySeconds+period*n)*time.Second + lasts
}

// regulars tells of the regular containers, and of what is waited for.
func (s *story) regulars(m *maker, before time.Duration) {
	takes, last := before, ""
	var livenesses []*corev1.Container
	ready, done := true, true
	phase := corev1.PodSucceeded
	for i := range m.pod.Spec.Containers {
		c := &m.pod.Spec.Containers[i]
		w := who{c.Name, trace.Main}
		main := m.acts[w]
		last = s.saw(w, ": begin")
		_, ends := length(main)
		code := number(main, "exit")
		// The first instances idle as the others do, unless that is told as well.
		early := number(main, "fail-first") > 0 && (ends || value(main, "fail-idle") != "" && value(main, "fail-idle") != forever)
		switch {
		case !ends && !early:
			done = false
			up, ok := s.started(m, c)
			takes, ready = takes+up, ready && ok
			if c.ReadinessProbe != nil {
				takes += s.probed(m, c, trace.ReadinessProbe, c.ReadinessProbe)
				ready = ready && !failing(m.acts[who{c.Name, trace.ReadinessProbe}])
			}
			if c.LivenessProbe != nil {
				if failing(m.acts[who{c.Name, trace.LivenessProbe}]) {
					ready, takes = false, takes+s.probed(m, c, trace.LivenessProbe, c.LivenessProbe)
				} else {
					livenesses = append(livenesses, c)
				}
			}
		case early || again(m.pod, c) || code != 0 && m.pod.Spec.RestartPolicy != corev1.RestartPolicyNever:
			ready, done = false, false
			if early {
				if code = 1; value(main, "fail-exit") != "" {
					code = number(main, "fail-exit")
				}
			}
			s.fails = append(s.fails, s.saw(w, fmt.Sprintf(": end %d", code)))
			lasts, _ := length(main)
			takes += lasts
		default:
			ready = false
			if s.saw(w, fmt.Sprintf(": end %d", code)); code != 0 {
				phase = corev1.PodFailed
			}
			lasts, _ := length(main)
			takes += lasts
		}
	}
	for i := range m.pod.Spec.InitContainers {
		c := &m.pod.Spec.InitContainers[i]
		if isSidecar(c) && c.ReadinessProbe != nil && ready {
			takes += s.probed(m, c, trace.ReadinessProbe, c.ReadinessProbe)
			ready = ready && !failing(m.acts[who{c.Name, trace.ReadinessProbe}])
		}
		if isSidecar(c) && c.LivenessProbe != nil {
			if failing(m.acts[who{c.Name, trace.LivenessProbe}]) {
				ready, takes = false, takes+s.probed(m, c, trace.LivenessProbe, c.LivenessProbe)
			} else {
				livenesses = append(livenesses, c)
			}
		}
	}
	s.awaitWithin("log", last, before)
	switch {
	case ready:
		s.awaitWithin("condition", string(corev1.PodReady), takes)
		s.alive(m, livenesses)
		s.stopped(m, m.pod.Spec.Containers)
	case done:
		s.awaitWithin("phase", string(phase), takes)
	default:
		s.failed(takes)
		return
	}
	var sidecars []corev1.Container
	for _, c := range m.pod.Spec.InitContainers {
		if isSidecar(&c) {
			sidecars = append(sidecars, c)
		}
	}
	s.stopped(m, sidecars)
}

// alive waits for liveness probes that come soon.
func (s *story) alive(m *maker, all []*corev1.Container) {
	for _, c := range all {
		w := who{c.Name, trace.LivenessProbe}
		if soon := first(c.LivenessProbe, m.acts[w]); soon > mostLiveness {
			s.notes = append(s.notes, fmt.Sprintf("the %s comes after up to %s, and is not waited for", w, soon))
		} else {
			s.awaitWithin("log", s.saw(w, ": end 0"), soon)
		}
	}
}

// stopped tells how containers that run are stopped.
func (s *story) stopped(m *maker, all []corev1.Container) {
	if g := m.pod.Spec.TerminationGracePeriodSeconds; g != nil && *g == 0 {
		return // they are killed
	}
	for i := range all {
		c := &all[i]
		if _, ends := length(m.acts[who{c.Name, trace.Main}]); ends {
			continue // it may have ended
		}
		l := c.Lifecycle
		if l != nil && l.PreStop != nil && l.PreStop.Sleep == nil {
			w := who{c.Name, trace.PreStop}
			if m.told[w] == nil {
				s.saw(w, ": end 0")
			} else {
				s.saw(w, ": begin")
			}
		}
		if l == nil || l.StopSignal == nil {
			s.saw(who{c.Name, trace.Main}, ": signal TERM")
		}
	}
}
