package picture

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// strip is what the updates showed.
type strip struct {
	// updates are the Pod objects, each a mark.
	updates []mark
	// phase is that of the Pod, and rows are the containers.
	phase stages
	rows  []*statusRow
}

// statusRow is what the updates showed of one container.
type statusRow struct {
	name string
	stages
}

// stages are what was shown, one after the other; each lasts until the next.
type stages []stage

// stage is a status that lasted a while.
type stage struct {
	from, to float64
	line     int
	// kind is its look, label what it says, and text what its title says.
	kind, label, text string
}

// show adds what is shown from now on, where it differs from what was.
func (s *stages) show(at float64, line int, kind, label, text string) {
	if n := len(*s); n > 0 {
		last := &(*s)[n-1]
		if last.kind == kind && last.label == label && last.text == text {
			return
		}
		last.to = at
	}
	if kind != "" {
		*s = append(*s, stage{from: at, to: at, line: line, kind: kind, label: label, text: text})
	}
}

// ending is how an instance ended, as a status showed it.
type ending struct {
	started, finished time.Time
	// shown is when an update showed its end, in seconds.
	shown float64
	code  int32
	why   string
	over  bool
}

// update takes a Pod object into the strip, and puts it into words. It is quiet if it shows nothing new.
func (b *builder) update(m mark, e *trace.Entry) (text string, quiet bool) {
	p := e.Pod
	news := changes(b.previous, p)
	b.previous = p
	m.kind = strings.ToLower(e.Type)
	m.text = fmt.Sprintf("update %s: %s", e.Type, strings.Join(news, "; "))
	if len(news) == 0 {
		m.text = fmt.Sprintf("update %s: nothing new in the status", e.Type)
	}
	if e.Type == trace.Deleted {
		m.label = "gone"
	}
	b.strip.updates = append(b.strip.updates, m)
	phase := cmp.Or(string(p.Status.Phase), "no phase")
	kind := map[corev1.PodPhase]string{
		corev1.PodPending: "waiting", corev1.PodRunning: "ready", corev1.PodSucceeded: "ended", corev1.PodFailed: "ended",
	}[p.Status.Phase]
	if p.Status.Reason != "" {
		phase += " " + p.Status.Reason
	}
	if p.DeletionTimestamp != nil {
		phase += ", terminating"
		if p.DeletionGracePeriodSeconds != nil {
			phase += fmt.Sprintf(" (%d s)", *p.DeletionGracePeriodSeconds)
		}
	}
	b.strip.phase.show(m.at, m.line, cmp.Or(kind, "waiting"), phase, phase)
	for _, c := range statuses(p) {
		b.status(m, c)
	}
	return m.text, len(news) == 0 && e.Type != trace.Deleted
}

// statuses are those of all containers.
func statuses(p *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses, p.Status.EphemeralContainerStatuses)
}

func (b *builder) status(m mark, c corev1.ContainerStatus) {
	i := slices.IndexFunc(b.strip.rows, func(r *statusRow) bool { return r.name == c.Name })
	if i < 0 {
		b.lane(c.Name, "not in the Pod")
		b.strip.rows = append(b.strip.rows, &statusRow{name: c.Name})
		i = len(b.strip.rows) - 1
	}
	kind, label := look(c)
	if c.RestartCount > 0 {
		label += fmt.Sprintf(" #%d", c.RestartCount)
	}
	b.strip.rows[i].show(m.at, m.line, kind, label, statusText(c))
	b.instance(m.at, c.Name, c.ContainerID, c.State)
	if t := c.LastTerminationState.Terminated; t != nil {
		b.instance(m.at, c.Name, t.ContainerID, c.LastTerminationState)
	}
}

// instance keeps when an instance ran, for the bars: its own lines may not tell.
func (b *builder) instance(at float64, name, id string, s corev1.ContainerState) {
	if id == "" || s.Running == nil && s.Terminated == nil {
		return
	}
	if b.ends[name] == nil {
		b.ends[name] = map[string]*ending{}
	}
	e := b.ends[name][id]
	if e == nil {
		e = &ending{shown: at}
		b.ends[name][id] = e
	}
	switch {
	case s.Running != nil:
		e.started = s.Running.StartedAt.Time
	case !e.over:
		t := s.Terminated
		*e = ending{t.StartedAt.Time, t.FinishedAt.Time, at, t.ExitCode, t.Reason, true}
	}
}

// look is how a status is drawn and what its segment says.
func look(c corev1.ContainerStatus) (kind, label string) {
	started := c.Started != nil && *c.Started
	switch {
	case c.State.Terminated != nil:
		label = fmt.Sprintf("exit %d", c.State.Terminated.ExitCode)
		if started {
			label += ", started"
		}
		return "ended", label
	case c.State.Running != nil && c.Ready && started:
		return "ready", "ready"
	case c.State.Running != nil && c.Ready:
		return "ready", "ready, not started"
	case c.State.Running != nil && started:
		return "started", "started"
	case c.State.Running != nil:
		return "running", "running"
	case c.State.Waiting != nil:
		label = cmp.Or(c.State.Waiting.Reason, "waiting")
	default:
		label = "no state"
	}
	if started {
		label += ", started"
	}
	if c.Ready {
		label += ", ready"
	}
	return "waiting", label
}

// statusText is a status in words.
func statusText(c corev1.ContainerStatus) string {
	started := c.Started != nil && *c.Started
	text := fmt.Sprintf("%s ready=%t started=%t", c.Name, c.Ready, started)
	switch s := c.State; {
	case s.Waiting != nil:
		text += " waiting " + s.Waiting.Reason
	case s.Running != nil:
		text += " running"
	case s.Terminated != nil:
		text += fmt.Sprintf(" terminated %s exit %d", s.Terminated.Reason, s.Terminated.ExitCode)
	}
	if c.RestartCount > 0 {
		text += fmt.Sprintf(" restarts=%d", c.RestartCount)
	}
	return text
}

// changes says what an update shows that the one before it did not.
func changes(before, now *corev1.Pod) (news []string) {
	was := map[string]bool{}
	if before != nil {
		for _, f := range facts(before) {
			was[f] = true
		}
	}
	for _, f := range facts(now) {
		if !was[f] {
			news = append(news, f)
		}
	}
	return news
}

// facts are what an update shows, one sentence for each.
func facts(p *corev1.Pod) []string {
	out := []string{strings.TrimSpace(fmt.Sprintf("phase %s %s", cmp.Or(string(p.Status.Phase), "none"), p.Status.Reason))}
	if p.DeletionTimestamp != nil {
		grace := "none"
		if p.DeletionGracePeriodSeconds != nil {
			grace = fmt.Sprintf("%d s", *p.DeletionGracePeriodSeconds)
		}
		out = append(out, "deleted with a grace period of "+grace)
	}
	for _, c := range statuses(p) {
		out = append(out, statusText(c))
	}
	for _, c := range p.Status.Conditions {
		out = append(out, fmt.Sprintf("%s=%s", c.Type, c.Status))
	}
	return out
}
