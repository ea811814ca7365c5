package observed

import (
	"fmt"
	"time"

	"github.com/podorder/podorder/reference/trace"
)

// early is how long after a start readiness probes are counted.
const early = 3 * time.Second

// instance is one instance of a container.
type instance struct {
	container string
	run       int
}

func (i instance) String() string { return fmt.Sprintf("%s#%d", i.container, i.run) }

func (l line) instance() instance { return instance{l.Container, l.Run} }

func (l line) is(actor trace.Actor, kind trace.MarkKind) bool {
	return l.Actor == actor && l.Mark.Kind == kind
}

// figures measures what the recording shows in full; what it does not has no figure.
func (r *reader) figures() (out []Figure) {
	add := func(name, of string, value float64) { out = append(out, Figure{name, of, value}) }
	if d, ok := r.hookToReady(); ok {
		add(HookToReady, "", round(d))
	}
	var term time.Time
	ended := map[instance]time.Time{}
	termed := map[instance]bool{}
	for _, l := range r.lines {
		i := l.instance()
		switch {
		case l.is(trace.Main, trace.End):
			ended[i] = l.at
		case l.is(trace.Main, trace.Begin):
			if before, ok := ended[instance{i.container, i.run - 1}]; ok && !l.at.Before(before) {
				add(ExitToRestart, i.String(), round(l.at.Sub(before)))
			}
		case l.is(trace.Main, trace.Signal) && !r.deleted.IsZero() && l.at.After(r.deleted) && !termed[i]:
			termed[i] = true
			add(DeleteToTERM, i.String(), round(l.at.Sub(r.deleted)))
			if term.IsZero() {
				term = l.at
			}
		}
	}
	if !term.IsZero() && r.gone.After(term) {
		add(TERMToGone, "", round(r.gone.Sub(term)))
	}
	return append(out, r.earlyReadiness()...)
}

// hookToReady is measured once, on the first update in which a container is ready.
func (r *reader) hookToReady() (time.Duration, bool) {
	for _, u := range r.updates {
		if !u.ready {
			continue
		}
		var hook time.Time
		for _, at := range r.hooks {
			if at.After(u.at) { // more of them run, so which of them it waited for is not clear
				return 0, false
			}
			if at.After(hook) {
				hook = at
			}
		}
		return u.at.Sub(hook), !hook.IsZero()
	}
	return 0, false
}

// earlyReadiness counts from the end of the postStart hook, or from the first line of a container
// that has none. An instance that was not seen for all of the time, or was told to stop or ended in
// it, has no figure.
func (r *reader) earlyReadiness() (out []Figure) {
	if r.pod == nil {
		return nil
	}
	for _, c := range r.pod.Spec.Containers {
		if c.ReadinessProbe == nil || c.ReadinessProbe.InitialDelaySeconds > 0 || c.StartupProbe != nil {
			continue
		}
		var of []instance
		from := map[instance]time.Time{}
		for _, l := range r.lines {
			if i := l.instance(); l.Container == c.Name && l.Actor == trace.Main && from[i].IsZero() {
				of = append(of, i)
				from[i] = l.at
			}
		}
		for _, i := range of {
			start := from[i]
			if c.Lifecycle != nil && c.Lifecycle.PostStart != nil {
				start = r.hooks[i]
			}
			if n, ok := r.readinessWithin(i, start, start.Add(early)); ok && !start.IsZero() {
				out = append(out, Figure{EarlyReadiness, i.String(), float64(n)})
			}
		}
	}
	return out
}

// readinessWithin counts the readiness probes of an instance; ok is false where it may have been
// stopped, or the recording may have ended, in that time.
func (r *reader) readinessWithin(i instance, from, to time.Time) (n int, ok bool) {
	if r.end.Before(to) || !r.deleted.IsZero() && r.deleted.Before(to) {
		return 0, false
	}
	for _, l := range r.lines {
		if l.instance() != i || l.at.Before(from) || l.at.After(to) {
			continue
		}
		switch {
		case l.Actor == trace.ReadinessProbe:
			n++
		case l.Mark.Kind == trace.Signal, l.is(trace.Main, trace.End):
			return 0, false
		}
	}
	return n, true
}
