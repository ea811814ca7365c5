// Package judged has what was recorded of a case judged: by the Pod that the API server
// admitted, by the witnesses of the case, and by how its run ended.
//
// The suite judges by it when a case has run, and the report command when a saved run is
// judged again.
//
// Left out on purpose: the model, which package reference is, and recording.
//
// Start at [Judge].
package judged
