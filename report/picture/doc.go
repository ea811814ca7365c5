// Package picture draws what was recorded of one Pod: its timeline, as SVG.
//
// [Of] takes a Pod, its trace and the verdict, and returns a [Picture]; the trace may be a log
// alone. [Picture.SVG] draws it on an [Axis]. The axis of one picture is [Picture.Axis]. Pictures
// that are to stand above each other, those of one case on several kubelets, are drawn on the
// [Common] axis of all of them, so that the same place is the same time in each.
//
// # What is in a picture
//
//   - A lane for each container, with its role. Its instances are bars; ticks, signals and the
//     end stand on them, with the exit code. Each hook and probe that was seen has a row of its
//     own below. A probe that succeeded is a filled circle, one that failed a cross: nothing is
//     told by colour alone. A mark of an Event is a diamond, of a warning a triangle.
//   - A strip of the phase, and of what the updates showed of each container: waiting, running,
//     started, ready, ended. Each update is a mark.
//   - Acts, the deletion among them, and gaps in the recording: flags, with a line through
//     the whole height.
//   - The refused line and those that forbid it: flags of their own, with the rule and
//     its sentence in the head.
//
// Every entry of the trace is in the picture, once, as an element with the id "line-N", where N is
// the number of its line. Its title says the line, the time and the text.
//
// # Time
//
// Zero is the first line of the log or, where there is none, the first entry. A line of the log
// stands at its own stamp, everything else at the time at which it reached the recorder. Where
// these two clocks are clearly apart, the lines are moved as a whole, and the picture says so.
// Lines never change their order: one with a stamp before that of the line before it stands beside
// that one. Lines of date(1), with whole seconds, are spread over their second.
//
// One unit of length is the same time everywhere but in the breaks. Where an axis would be too
// long, it is broken over what lasts and shows nothing new: silence, ticks, and the same
// result of a probe again and again. A zigzag stands there, with the seconds that are squeezed into
// it.
//
// Left out on purpose: what the lines mean, which is the judge's. A picture draws a trace that
// breaks every rule as it draws any other.
//
// Start at [Of]; lanes.go reads the lines, strip.go the updates, axis.go makes the axis, and draw.go
// puts all of it on paper.
package picture
