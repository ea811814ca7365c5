package reference

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/podspec"
)

// Role says what the kubelet takes a container for: a sidecar is an init container with restartPolicy Always.
type Role struct {
	Container, Role string
	// Means is what that means for its order, in plain words.
	Means string
	// Sleeps says how long its hooks sleep in the kubelet, which leaves no line.
	Sleeps string
}

func rolesOf(p *podspec.Pod) []Role {
	var roles []Role
	for c, s := range p.Containers {
		r := Role{Container: s.Name, Role: s.Role.String(), Means: means(p, c)}
		if s.SleepStart > 0 {
			r.Sleeps += fmt.Sprintf("; its postStart hook sleeps for %s", s.SleepStart)
		}
		if s.SleepStop > 0 {
			r.Sleeps += fmt.Sprintf("; its preStop hook sleeps for %s before the signal", s.SleepStop)
		}
		r.Sleeps = strings.TrimPrefix(r.Sleeps, "; ")
		roles = append(roles, r)
	}
	return roles
}

// means says what the role of container c means for its order.
func means(p *podspec.Pod, c int) string {
	regular := namesOf(p, podspec.Regular)
	after := listedAfter(p, c)
	switch s := p.Containers[c]; s.Role {
	case podspec.InitContainer:
		return "runs to its end before " + verb(after, "starts", "start") + "; has to exit with 0"
	case podspec.Sidecar:
		last := slices.Clone(regular)
		for _, i := range p.Containers[c+1 : p.Inits] {
			if i.Role == podspec.Sidecar {
				last = append(last, i.Name)
			}
		}
		return fmt.Sprintf("starts before %s, which %s until %s; runs beside the rest; stops after %s",
			join(after), either(after, "waits", "wait"), startedWhen(s), join(last))
	case podspec.Ephemeral:
		return "is added while the Pod runs; started once, and never again"
	}
	says := "starts at once"
	var before []string
	if inits := namesOf(p, podspec.InitContainer); len(inits) > 0 {
		before = append(before, verb(inits, "has exited", "have exited")+" with 0")
	}
	if sidecars := namesOf(p, podspec.Sidecar); len(sidecars) > 0 {
		before = append(before, verb(sidecars, "has started", "have started"))
	}
	for i := c - 1; i >= p.Inits; i-- {
		if p.Containers[i].PostStart {
			before = append(before, "the postStart hook of "+p.Containers[i].Name+" has ended")
			break
		}
	}
	if len(before) > 0 {
		says = "starts when " + join(before)
	}
	if s := p.Containers[c]; s.PostStart && len(after) > 0 {
		says += fmt.Sprintf("; %s until its postStart hook has ended", verb(after, "waits", "wait"))
	}
	if len(namesOf(p, podspec.Sidecar)) > 0 {
		return says + "; stops before the sidecars"
	}
	if len(regular) > 1 {
		return says + "; stops at the same time as the others"
	}
	return says
}

// startedWhen says when a sidecar has started, so that what is listed after it may start.
func startedWhen(s podspec.Container) string {
	var all []string
	switch {
	case s.SleepStart > 0:
		all = append(all, fmt.Sprintf("its postStart hook has slept for %s", s.SleepStart))
	case s.PostStart:
		all = append(all, "its postStart hook has ended")
	}
	if s.Startup.Declared {
		all = append(all, "its startup probe has succeeded")
	}
	if all == nil {
		return "it runs"
	}
	return join(all)
}

// restarts says what becomes of a container that ends.
func restarts(s podspec.Container) string {
	switch {
	case len(s.Rules) > 0:
		return "is started again as its restart rules say"
	case s.Policy == corev1.RestartPolicyNever:
		return "is not started again"
	case s.Policy == corev1.RestartPolicyOnFailure:
		return "is started again if it did not exit with 0"
	}
	return "is started again"
}

func namesOf(p *podspec.Pod, role podspec.Role) (names []string) {
	for _, s := range p.Containers {
		if s.Role == role {
			names = append(names, s.Name)
		}
	}
	return names
}

// listedAfter names what is listed after container c and starts with the Pod.
func listedAfter(p *podspec.Pod, c int) (names []string) {
	for i := c + 1; i < p.Inits+p.Regulars; i++ {
		names = append(names, p.Containers[i].Name)
	}
	return names
}

// readable is how many names a sentence has at most.
const readable = 4

// join names things in a sentence.
func join(names []string) string {
	n := len(names)
	switch {
	case n == 0:
		return "nothing"
	case n == 1:
		return names[0]
	case n > readable:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:readable-1], ", "), n-readable+1)
	}
	return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
}

// verb says that the names do something, with the verb for one or for several.
func verb(names []string, one, several string) string {
	return join(names) + " " + either(names, one, several)
}

// either is the word for one or the word for several.
func either(names []string, one, several string) string {
	if len(names) == 1 {
		return one
	}
	return several
}
