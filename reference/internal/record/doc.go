// Package record reads a trace for the judge: it merges the channels into one order of
// observations, finds which run of its container each log line is of, and gathers what the
// whole trace shows to have happened at some time.
//
//   - observation.go merges the log, the updates, the Events and the acts.
//   - source.go is where the observations are kept; a long log is kept in little memory.
//   - number.go gives each line the run that the kubelet counts, from what instances.go
//     finds of when the instances ran.
//   - evidence.go is what a trace can show; gather.go reads it off a trace, with
//     befell.go for the Pod as a whole, containers.go for each container and probes.go for
//     failed probes.
//   - status.go reads a container status.
//
// Left out on purpose: what a kubelet may do. Nothing is refused here but a line that cannot
// be read, or that names a container or an actor that the Pod does not have. Nothing is
// concluded from the order of two observations either, except which run a line is of.
//
// Start with [Observe] in observation.go, then read [Evidence].
package record
