package reference

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/podspec"
)

// startSteps are the starts, in the order of the Pod.
func startSteps(p *podspec.Pod) (steps []string) {
	for c, s := range p.Containers[:p.Inits] {
		rest := listedAfter(p, c)
		if s.Role == podspec.Sidecar {
			steps = append(steps, fmt.Sprintf("%s is started, and runs on. %s until %s.", s.Name, verb(rest, "waits", "wait"), startedWhen(s)))
			continue
		}
		steps = append(steps, fmt.Sprintf("%s is started, and runs to its end. %s until it has exited with 0; if it fails, %s.", s.Name, verb(rest, "waits", "wait"), ifFails(s)))
	}
	var together []string
	for c := p.Inits; c < p.Inits+p.Regulars; c++ {
		s := p.Containers[c]
		together = append(together, s.Name)
		last := c == p.Inits+p.Regulars-1
		if !s.PostStart && !last {
			continue
		}
		step := verb(together, "is started.", "are started, one right after the other: their first lines may come in either order.")
		if s.PostStart {
			how := "its postStart hook runs"
			if len(together) > 1 {
				how = "the postStart hook of " + s.Name + " runs"
			}
			if s.SleepStart > 0 {
				how = fmt.Sprintf("its postStart hook sleeps for %s", s.SleepStart)
			}
			step += " Beside its first lines " + how + "."
			if rest := listedAfter(p, c); len(rest) > 0 {
				step += " " + verb(rest, "waits", "wait") + " until it has ended."
			}
		}
		steps, together = append(steps, step), nil
	}
	return steps
}

// ifFails says what becomes of a Pod of which an init container fails.
func ifFails(s podspec.Container) string {
	switch {
	case len(s.Rules) > 0:
		return "its restart rules say what comes of it"
	case s.Policy == corev1.RestartPolicyNever:
		return "the Pod fails"
	}
	return "it is started again"
}

// runSteps are what is shown and probed while the Pod runs, and what becomes of a container that ends.
func runSteps(p *podspec.Pod) (steps []string) {
	var hooked []string
	for _, s := range p.Containers[p.Inits : p.Inits+p.Regulars] {
		if s.PostStart {
			hooked = append(hooked, s.Name)
		}
	}
	if hooked != nil {
		steps = append(steps, fmt.Sprintf("Until the postStart %s ended, no regular container is probed or shown as running.",
			either(hooked, "hook of "+join(hooked)+" has", "hooks of "+join(hooked)+" have")))
	}
	var plain []string
	for _, s := range p.Containers {
		switch {
		case s.Role != podspec.Regular && s.Role != podspec.Sidecar:
		case s.Probes() == 0:
			plain = append(plain, s.Name)
		default:
			steps = append(steps, probing(s))
		}
	}
	if plain != nil {
		steps = append(steps, verb(plain, "has no probes: it is ready as soon as it is shown as running.", "have no probes: each is ready as soon as it is shown as running."))
	}
	var fates []string
	by := map[string][]string{}
	for _, s := range p.Containers {
		if s.Role == podspec.InitContainer {
			continue
		}
		fate := restarts(s)
		if s.Role == podspec.Ephemeral {
			fate = "is not started again"
		}
		if by[fate] == nil {
			fates = append(fates, fate)
		}
		by[fate] = append(by[fate], s.Name)
	}
	for _, fate := range fates {
		if names := by[fate]; len(names) == 1 {
			steps = append(steps, fmt.Sprintf("If %s ends, it %s.", names[0], fate))
		} else {
			steps = append(steps, fmt.Sprintf("If one of %s ends, it %s.", join(names), fate))
		}
	}
	return steps
}

// probing says which probes a container has, and what they do.
func probing(s podspec.Container) string {
	first := ""
	if s.Startup.Declared {
		first = " once its startup probe has succeeded"
	}
	var says []string
	switch {
	case s.Readiness.Declared && s.Liveness.Declared:
		says = append(says, "its readiness and liveness probes run"+first)
	case s.Readiness.Declared:
		says = append(says, "its readiness probe runs"+first)
	case s.Liveness.Declared:
		says = append(says, "its liveness probe runs"+first)
	}
	switch {
	case s.Readiness.Declared:
		says = append(says, "it is ready when the readiness probe has succeeded")
	case s.Startup.Declared:
		says = append(says, "it is ready when its startup probe has succeeded")
	default:
		says = append(says, "it is ready as soon as it is shown as running")
	}
	if s.Liveness.Declared {
		says = append(says, "if the liveness probe fails, it is stopped")
	}
	return s.Name + ": " + strings.Join(says, "; ") + "."
}

// stopSteps are the stops: all regular containers at the same time, then the sidecars one by one.
func stopSteps(p *podspec.Pod) (steps []string) {
	regular := p.Containers[p.Inits : p.Inits+p.Regulars]
	if slices.ContainsFunc(regular, func(s podspec.Container) bool { return s.PostStart }) {
		steps = append(steps, "A postStart hook that still runs ends first, and the regular containers after it are still started.")
	}
	var hooks, all []string
	for _, s := range p.Containers {
		if s.PreStop {
			name := s.Name
			if s.SleepStop > 0 {
				name += fmt.Sprintf(" (it sleeps for %s)", s.SleepStop)
			}
			hooks = append(hooks, name)
		}
	}
	if hooks != nil {
		steps = append(steps, fmt.Sprintf("The preStop %s of %s.", either(hooks, "hook", "hooks"), verb(hooks, "runs", "run, all at the same time")))
	}
	signals, late := []string{}, false
	for _, s := range p.Containers[p.Inits:] {
		all = append(all, s.Name)
		if late = late || s.PreStop; !slices.Contains(signals, s.Stop) {
			signals = append(signals, s.Stop)
		}
	}
	step := verb(all, "gets ", "get ") + signals[0]
	if len(signals) > 1 {
		var each []string
		for _, s := range p.Containers[p.Inits:] {
			each = append(each, fmt.Sprintf("%s (%s)", s.Name, s.Stop))
		}
		step = join(each) + " get their stop signals"
	}
	switch {
	case late && len(all) == 1:
		step += " when its preStop hook has ended"
	case late:
		step += ", each when its own preStop hook, if it has one, has ended"
	case len(all) > 1:
		step += " at the same time"
	}
	steps = append(steps, step+".")
	stopped := all[:p.Regulars] // nothing waits for an ephemeral container
	for c := p.Inits - 1; c >= 0; c-- {
		s := p.Containers[c]
		if s.Role != podspec.Sidecar {
			continue
		}
		step := fmt.Sprintf("%s gets %s when %s", s.Name, s.Stop, verb(stopped, "has stopped", "have stopped"))
		if s.PreStop {
			step += " and its preStop hook has ended"
		}
		steps, stopped = append(steps, step+"."), []string{s.Name}
	}
	return append(steps, fmt.Sprintf("What still runs when the grace period of %d s is over gets KILL.", p.Grace))
}

// stopsWhen says what makes the Pod stop.
func stopsWhen(p *podspec.Pod) string {
	when := "the Pod is deleted"
	always := true
	for _, s := range p.Containers[p.Inits : p.Inits+p.Regulars] {
		always = always && s.Policy != corev1.RestartPolicyNever && s.Policy != corev1.RestartPolicyOnFailure && len(s.Rules) == 0
	}
	if !always {
		when += ", or its regular containers have ended for good"
	}
	return when
}
