package kubelet

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// timeline writes one line for each entry, in the order of time.
func timeline(entries []entry) string {
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b entry) int { return a.At.Compare(b.At) })
	var b strings.Builder
	shown := ""
	for _, e := range entries {
		channel, text := describe(e)
		if text == "" || channel == "status" && text == shown {
			continue
		}
		if channel == "status" {
			shown = text
		}
		fmt.Fprintf(&b, "%-6s %-8s %s\n", fmt.Sprintf("%.2f", e.At.Sub(epoch).Seconds()), channel, text)
	}
	return b.String()
}

// describe says what shows an entry, and what it was; "" for what is left out.
func describe(e entry) (channel, text string) {
	switch {
	case e.step != "":
		return "kubelet", e.step
	case e.Log != nil:
		l, err := trace.ParseLine(*e.Log)
		if err != nil {
			return "log", *e.Log
		}
		return "log", l.String()
	case e.Did != nil:
		param := string(e.Did.Param)
		if param == "{}" {
			param = ""
		}
		return "act", strings.TrimSpace(e.Did.Name + " " + param)
	case e.Event != nil:
		switch e.Event.Reason {
		case "Pulled", "Pulling", "Created", "Started":
			return "event", ""
		}
		return "event", e.Event.Reason + ": " + e.Event.Message
	case e.Type == trace.Deleted:
		return "status", "the Pod is gone"
	case e.Pod != nil:
		return "status", describeStatus(&e.Pod.Status)
	case e.Gap != nil:
		return "gap", e.Gap.Channel + ": " + e.Gap.Why
	}
	return "", ""
}

// describeStatus is the phase and each container, as "Running: app running, ready".
func describeStatus(s *corev1.PodStatus) string {
	var parts []string
	for _, cs := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses) {
		text := fmt.Sprintf("%s#%d ", cs.Name, cs.RestartCount)
		switch st := cs.State; {
		case st.Running != nil && cs.Ready:
			text += "ready"
		case st.Running != nil && cs.Started != nil && *cs.Started:
			text += "started"
		case st.Running != nil:
			text += "running"
		case st.Terminated != nil:
			text += fmt.Sprintf("exited %d", st.Terminated.ExitCode)
		case st.Waiting != nil:
			text += st.Waiting.Reason
		}
		parts = append(parts, text)
	}
	return strings.TrimSuffix(string(s.Phase)+": "+strings.Join(parts, ", "), ": ")
}
