package reference

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/podorder/podorder/reference/internal/judge"
	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/trace"
)

// Phase is a part of the life of a Pod, and what is ordered in it.
type Phase struct {
	// Name is "start", "run" or "stop".
	Name string
	// When says what begins it; empty for that which begins with the Pod.
	When string
	// Steps say in plain words what the kubelet does, one after the other. Those of the second
	// phase have no order among each other.
	Steps []string
	// Edges are those of which the later observation belongs to the phase.
	Edges []Edge
	Free  []Edge
}

// The phases of a life, in their order.
const (
	phaseStart = iota
	phaseRun
	phaseStop
)

var phaseNames = [...]string{"start", "run", "stop"}

// Phases divides the order into those of the life of the Pod.
func (o Order) Phases() []Phase {
	all := []Phase{{Steps: startSteps(o.pod)}, {Steps: runSteps(o.pod)}, {When: stopsWhen(o.pod), Steps: stopSteps(o.pod)}}
	at := map[string]int{}
	for i, phase := range o.phases() {
		at[o.nodes[i].Name] = phase
	}
	for i := range all {
		all[i].Name = phaseNames[i]
	}
	for _, e := range o.Edges {
		p := &all[at[e.After]]
		p.Edges = append(p.Edges, e)
	}
	for _, e := range o.Free {
		p := &all[at[e.Before]]
		p.Free = append(p.Free, e)
	}
	return all
}

// phases gives each node its phase, which is never before that of what it waits for.
func (o Order) phases() []int {
	at := make([]int, len(o.nodes))
	for i, n := range o.nodes {
		at[i] = phaseOf(n, o.pod)
	}
	for range o.nodes { // long enough: a chain visits a node once
		for i := range o.nodes {
			for _, p := range o.pred[i] {
				at[i] = max(at[i], at[p])
			}
		}
	}
	return at
}

func phaseOf(n judge.Possible, p *podspec.Pod) int {
	switch {
	case !n.IsLine(), n.Actor == trace.ReadinessProbe, n.Actor == trace.LivenessProbe:
		return phaseRun
	case n.Actor == trace.PreStop, n.Line.Mark.Kind == trace.Signal, n.Ends(p):
		return phaseStop
	}
	return phaseStart
}

// columns is how wide the sentences of an explanation are.
const columns = 110

// Explanation tells the order: what each container is, then the phases of the Pod's life, each with what the
// kubelet does and the pairs that are ordered, and at last the rules behind them.
func (o Order) Explanation() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Pod %s, kubelet %s, while no probe fails and the grace period lasts\n", o.name(), o.Kubelet)
	if note := o.Kubelet.Uncovered(); note != "" {
		fmt.Fprintf(&b, "warning: %s\n", note)
	}
	b.WriteByte('\n')
	t := table(&b)
	for _, c := range o.Containers {
		for i, line := range wrap(strings.TrimSuffix(c.Means+"; "+c.Sleeps, "; "), columns) {
			if i == 0 {
				fmt.Fprintf(t, "%s\t%s\t%s\n", c.Container, c.Role, line)
			} else {
				fmt.Fprintf(t, "\t\t%s\n", line)
			}
		}
	}
	t.Flush()
	free := false
	for _, p := range o.Phases() {
		b.WriteString("\n" + strings.ToUpper(p.Name))
		if p.When != "" {
			b.WriteString(", when " + p.When)
		}
		b.WriteByte('\n')
		for i, step := range p.Steps {
			mark := "-"
			if p.Name != phaseNames[phaseRun] {
				mark = fmt.Sprintf("%d.", i+1)
			}
			for j, line := range wrap(step, columns) {
				if j > 0 {
					mark = ""
				}
				fmt.Fprintf(&b, "  %-2s %s\n", mark, line)
			}
		}
		free = free || len(p.Free) > 0
		if len(p.Edges)+len(p.Free) == 0 {
			if p.Name == phaseNames[phaseStart] && len(p.Steps) > 1 {
				b.WriteString("\n  The lines do not show it: a process may write its first line late.\n")
			}
			continue
		}
		var pairs strings.Builder
		writePairs(&pairs, p.Edges, p.Free)
		b.WriteString("\n  " + strings.ReplaceAll(strings.TrimSuffix(pairs.String(), "\n"), "\n", "\n  ") + "\n")
	}
	b.WriteString("\nHow to read the pairs: of \"a<b\", a is always seen before b. What no such pair connects, directly or through\nothers, may come in either order.")
	if free {
		b.WriteString(" \"~\" and \"*\" name some of that which surprises.")
	}
	b.WriteString("\n")
	if of := o.RulesText(); of != "" {
		b.WriteString("\nRULES\n" + of)
	}
	return b.String()
}

// wrap breaks a text into lines of at most so many characters, where its words allow.
func wrap(text string, most int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > most:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
