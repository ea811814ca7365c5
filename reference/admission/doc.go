// Package admission says what happened to a manifest on its way into the cluster: which
// containers, fields and defaults of the admitted Pod are neither the manifest's nor those that
// every API server sets. Somebody else added or changed them: a mutating webhook, a
// MutatingAdmissionPolicy, a LimitRange, an injector of sidecars.
//
// The kubelet runs the Pod that was admitted, so it is judged by that one
// ([trace.Trace.Admitted]). Whether the case still tests what it was written for is another
// question: a [Change] says how much it affects that.
//
// Left out on purpose: who made a change, which no object of the API says; and ephemeral
// containers, which nobody can add before the Pod exists.
//
// Start at [Compare]. defaults.go has what every API server does.
package admission
