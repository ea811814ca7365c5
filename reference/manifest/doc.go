// Package manifest reads what people write: YAML or JSON of which nothing is guessed and nothing
// is passed over. A field that the type does not have, one that stands twice, a second object
// in the file: each is an error that says what, where and what to do.
//
// The judge reads the Pod that it is asked about with it, and package fixtures the cases, so that no
// manifest is a Pod to one of them and none to the other. A trace is not read with it: what an API server
// sends may have fields that are newer than the types here.
//
// Left out on purpose: what a Pod means, and whether an API server would take it.
//
// Start at [Pod]; [Documents] and [Decode] read what is no Pod.
package manifest
