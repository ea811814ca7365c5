package claims

import (
	"fmt"

	"github.com/podorder/podorder/reference/trace"
)

var claims = []Claim{
	{"a", "Containers start in listed order, and a postStart hook blocks the start of the next container.", hookBlocks},
	{"b", "If a postStart hook fails, the next container is not created.", failureBlocks},
	{"c", "The main processes and the postStart hooks of several containers all start at the same time.", allAtOnce},
	{"d", "A postStart hook and the entrypoint start together; the entrypoint is not guaranteed to come first.", hookRacesMain},
	{"e", "The Pod stays Pending, and started stays false, until the postStart hook completes.", pendingUntilEnd},
	{"f", "A postStart hook that never ends keeps all containers of its Pod from starting.", endlessStopsAll},
	{"g", "A preStop hook that succeeds leaves no Event; one that fails leaves FailedPreStopHook.", preStopEvents},
	{"h", "All containers become Ready only after the postStart hook of one has ended, in either order.", readyAfterHook},
	{"i", "A hook may run more than once for one instance of its container.", hookRepeats},
}

// hookBlocks compares the last line of a hook with the first line of the next
// container.
func hookBlocks(v *view) (out []observation) {
	if v.troubled {
		return nil
	}
	for i, c := range v.containers {
		if !hasHook(c) || i+1 == len(v.containers) {
			continue
		}
		_, last, hooked := v.span(c.Name, trace.PostStart)
		next, begun := v.begin(v.containers[i+1].Name)
		if !hooked || !begun {
			continue
		}
		o := observation{Held, "the next container wrote its first line after the last one of the hook", v.showAll(last.entry, next.entry)}
		if next.entry < last.entry {
			o.finding, o.note = NotHeld, "the next container wrote before the last line of the hook"
		}
		out = append(out, o)
	}
	return out
}

// failureBlocks looks for the container after one whose hook failed: the claim
// holds if the failed one is started again before the next one is started at all.
func failureBlocks(v *view) (out []observation) {
	for i, c := range v.containers {
		failed, ok := v.event(c.Name, "FailedPostStartHook")
		if !ok || i+1 == len(v.containers) || v.troubled {
			continue
		}
		again, next := -1, -1
		for _, l := range v.lines {
			if l.entry >= v.until {
				break
			}
			if again < 0 && l.Container == c.Name && l.Run > 0 {
				again = l.entry
			}
			if next < 0 && l.Container == v.containers[i+1].Name {
				next = l.entry
			}
		}
		switch {
		case next >= 0 && (again < 0 || next < again):
			out = append(out, observation{NotHeld, "the next container started although the hook had failed", v.showAll(failed, next)})
		case again >= 0:
			out = append(out, observation{Held, "the container of the failed hook was started again before the next one", v.showAll(failed, again)})
		}
	}
	return out
}

// allAtOnce looks at Pods all of whose containers have a hook: the claim holds
// if every hook begins before any of them has ended.
func allAtOnce(v *view) []observation {
	if len(v.containers) < 2 || v.troubled {
		return nil
	}
	var firsts, lasts []line
	for _, c := range v.containers {
		first, last, ok := v.span(c.Name, trace.PostStart)
		if !hasHook(c) || !ok {
			return nil
		}
		firsts, lasts = append(firsts, first), append(lasts, last)
	}
	for i := range lasts {
		for j := range firsts {
			if lasts[i].entry < firsts[j].entry {
				return []observation{{NotHeld, "a hook began only after the one before it had ended", v.showAll(lasts[i].entry, firsts[j].entry)}}
			}
		}
	}
	var entries []int
	for _, l := range firsts {
		entries = append(entries, l.entry)
	}
	return []observation{{Held, "all hooks ran at the same time", v.showAll(entries...)}}
}

// hookRacesMain looks at which of the two writes first. It would not hold if the
// entrypoint had ended by the time that its hook begins.
func hookRacesMain(v *view) (out []observation) {
	for _, c := range v.containers {
		hook, _, hooked := v.span(c.Name, trace.PostStart)
		main, last, ran := v.span(c.Name, trace.Main)
		if !hasHook(c) || !hooked || !ran {
			continue
		}
		o := observation{Held, "the entrypoint wrote first, the hook while it ran", v.showAll(main.entry, hook.entry)}
		switch {
		case last.Mark.Kind == trace.End && last.entry < hook.entry:
			o = observation{NotHeld, "the entrypoint had ended before the hook began", v.showAll(last.entry, hook.entry)}
		case hook.entry < main.entry:
			o.note = "the hook wrote first"
		}
		out = append(out, o)
	}
	return out
}

// pendingUntilEnd looks at the Pods that were delivered while a hook ran.
func pendingUntilEnd(v *view) (out []observation) {
	if v.troubled {
		return nil
	}
	for _, c := range v.containers {
		_, last, ok := v.span(c.Name, trace.PostStart)
		if !hasHook(c) || !ok {
			continue
		}
		shown := -1
		o := observation{finding: Held, note: "Pending and not started until the last line of the hook"}
		for i, e := range v.entries[:v.until] {
			if e.Pod == nil || !v.before(i, last) {
				continue
			}
			shown = i
			s, _ := status(e.Pod, c.Name)
			if e.Pod.Status.Phase != "Pending" || s.Started != nil && *s.Started {
				o = observation{finding: NotHeld, note: "shown as running or started while the hook ran"}
				break
			}
		}
		if shown < 0 {
			continue
		}
		o.evidence = v.showAll(shown, last.entry)
		out = append(out, o)
	}
	return out
}

// endlessStopsAll looks at hooks that have no end: they write until the Pod is
// deleted, or until their container ends under them. The claim holds if no
// container has written anything while the hook ran, not even its own.
func endlessStopsAll(v *view) (out []observation) {
	if len(v.containers) < 2 || v.troubled || v.until < v.deleted {
		return nil
	}
	for n, c := range v.containers {
		var endless *line
		marked := false // a shell's hook marks no end
		for _, l := range v.lines {
			if l.Container != c.Name || l.Actor != trace.PostStart || !v.first(l) {
				continue
			}
			if l.Mark.Kind == trace.End {
				endless = nil
				break
			}
			if marked = marked || l.Mark.Kind == trace.Begin; marked || l.entry > v.deleted {
				endless = &l
			}
		}
		if !hasHook(c) || endless == nil {
			continue
		}
		evidence := []int{endless.entry}
		var before, own, after bool
		for m, d := range v.containers {
			main, _, ok := v.span(d.Name, trace.Main)
			if !ok || main.entry > endless.entry {
				continue
			}
			evidence = append(evidence, main.entry)
			before, own, after = before || m < n, own || m == n, after || m > n
		}
		o := observation{NotHeld, "", v.showAll(evidence...)}
		switch {
		case after:
			o.note = "while it ran, containers after it did as well"
		case before:
			o.note = "while it ran, so did the containers before it, but none after it"
		case own:
			o.note = "while it ran, so did its own container, but none after it"
		default:
			o.finding, o.note = Held, "while it ran, no container did"
		}
		out = append(out, o)
	}
	return out
}

// preStopEvents needs the exit code of the hook, which its last line has.
func preStopEvents(v *view) (out []observation) {
	for _, c := range v.containers {
		if c.Lifecycle == nil || c.Lifecycle.PreStop == nil {
			continue
		}
		event, told := v.event(c.Name, "FailedPreStopHook")
		var good, bad []line
		again := false // an Event does not tell which instance it is about
		for _, l := range v.lines {
			again = again || l.Container == c.Name && l.Run > 0
			if l.Container == c.Name && l.Actor == trace.PreStop && l.Mark.Kind == trace.End {
				if l.Mark.N == 0 {
					good = append(good, l)
				} else {
					bad = append(bad, l)
				}
			}
		}
		switch {
		case len(bad) > 0 && told:
			out = append(out, observation{Held, "a hook failed, and FailedPreStopHook came", v.showAll(bad[0].entry, event)})
		case len(bad) > 0:
			// Events are best effort; its absence proves nothing.
			out = append(out, observation{NotSeen, "a hook failed, and no Event was seen", v.showAll(bad[0].entry)})
		case again:
		case len(good) == 1 && told:
			out = append(out, observation{NotHeld, "a hook succeeded, and FailedPreStopHook came", v.showAll(good[0].entry, event)})
		case len(good) == 1:
			out = append(out, observation{Held, "a hook succeeded, and no Event came", v.showAll(good[0].entry)})
		}
	}
	return out
}

// readyAfterHook looks at the first Pod in which each container is ready.
func readyAfterHook(v *view) (out []observation) {
	if len(v.containers) < 2 || v.troubled {
		return nil
	}
	ready := map[string]int{}
	for i, e := range v.entries[:v.until] {
		if e.Pod == nil {
			continue
		}
		for _, s := range e.Pod.Status.ContainerStatuses {
			if _, seen := ready[s.Name]; s.Ready && !seen {
				ready[s.Name] = i
			}
		}
	}
	for n, c := range v.containers {
		_, last, ok := v.span(c.Name, trace.PostStart)
		if !hasHook(c) || !ok {
			continue
		}
		evidence := []int{last.entry}
		o := observation{finding: Held}
		for _, d := range v.containers {
			i, seen := ready[d.Name]
			if !seen {
				ok = false
				break
			}
			evidence = append(evidence, i)
			if v.before(i, last) {
				o = observation{NotHeld, "a container was ready before the last line of the hook", v.showAll(last.entry, i)}
				break
			}
		}
		if !ok && o.finding != NotHeld {
			continue
		}
		if o.finding == Held {
			o.evidence = v.showAll(evidence...)
			o.note = "ready in the same update"
			for m, d := range v.containers {
				if m != n && ready[d.Name] < ready[c.Name] {
					o.note = "another container was ready first"
					break
				}
				if m != n && ready[d.Name] > ready[c.Name] {
					o.note = "the container of the hook was ready first"
				}
			}
		}
		out = append(out, o)
	}
	return out
}

// hookRepeats counts the runs of a hook for each instance, which only lines with
// a run and a mark tell.
func hookRepeats(v *view) (out []observation) {
	type hook struct {
		container string
		run       int
		actor     trace.Actor
	}
	begun := map[hook]int{}
	for _, l := range v.lines {
		if !l.Actor.IsHook() || l.Run == trace.NoRun || l.Mark.Kind != trace.Begin {
			continue
		}
		h := hook{l.Container, l.Run, l.Actor}
		before, again := begun[h]
		if again {
			out = append(out, observation{Held, fmt.Sprintf("a %s ran again for the same instance", l.Actor), v.showAll(before, l.entry)})
			continue
		}
		begun[h] = l.entry
		out = append(out, observation{NotSeen, "a hook began for an instance", v.showAll(l.entry)})
	}
	return out
}
