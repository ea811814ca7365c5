// Package harness runs one case on a cluster and records what happens.
//
// [Run] applies the Pod of a case, does and awaits what its steps say, deletes the Pod, and returns the [Recording] once the trace is saved.
// It does not judge what was recorded: the packages that judge import this one, never the other way round. [Recording.Evidence] collects what helps to
// find out why a case did not pass.
//
// The clusters are in package cluster, the recorder itself in package record, the end of a run in package shutdown.
//
// Left out on purpose: choosing and repeating cases, concurrency (Run may be called many times at once), verdicts.
package harness
