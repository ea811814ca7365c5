// Package record writes what happens to one Pod into a trace, while it happens.
//
// A [Recorder] has three channels: the shared log as a follower on the node reads it, the Pod as a watch delivers it, and its Events. Each entry is
// on disk before anyone can await it. A channel that breaks goes on where it stopped; where something may have been lost, a gap entry says so. Another
// one, in the channel "clock", says that the node stood still: its kubelet did not renew the lease of the node in time.
//
// What it promises about order: log lines are in file order, objects and Events in the order in which they were delivered. Between channels there is
// only the order of arrival here. "at" is the time of arrival; for a log line it is the time at which the follower read it, if the node has this
// machine's clock. A did entry is written, with its time, before the call is sent, so that a bound which counts from the act is never too short.
//
// Left out on purpose: judging what was recorded, and retrying what the harness does.
package record
