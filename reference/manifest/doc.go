// Package manifest reads manifests that people write, in YAML or JSON. It guesses nothing and ignores
// nothing. A field that the type does not have, a field that is given twice, a second object that may be
// meant: each is an error that says what, where and what to do.
//
// The judge and package fixtures both read Pods with it, so they always agree on what is a valid
// manifest. A trace is not read with it: what an API server sends may have fields that are newer than
// the types here.
//
// Left out on purpose: what a Pod means, and whether an API server would take it.
//
// Start at [Pod]; [PodOf] also reads the Pod template of a Deployment, a Job or the like, with other objects
// beside it, and [Documents] and [Decode] read other objects.
package manifest
