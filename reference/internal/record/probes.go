package record

import "github.com/podorder/podorder/reference/trace"

// RowOf is the place of a probe among the rows.
func RowOf(a trace.Actor) int {
	switch a {
	case trace.StartupProbe:
		return 0
	case trace.LivenessProbe:
		return 1
	}
	return 2
}
