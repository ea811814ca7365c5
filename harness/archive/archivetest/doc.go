// Package archivetest makes images of several platforms, and archives and registries that lack some of their blobs, for the tests of what gets images to
// nodes.
//
// Start at [Index].
package archivetest
