// Package run is what the suites are made of: it brings up a cluster, or opens
// one that exists, runs cases on it, has the recordings judged, and reports.
//
// Everything that is recorded is saved before it is judged, and every verdict is
// saved before it is printed; suites/README.md says where. A run in which no case
// was judged fails.
//
// Package suites holds the test functions and nothing else, so that all of this
// can be tested without a cluster. Left out on purpose: what a kubelet may do
// (package reference) and how a case is run (package harness).
//
// Start at [Suite.Main] and [Suite.Group].
package run
