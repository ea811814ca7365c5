// Package admission says what became of a manifest on its way into the cluster: which
// containers, fields and defaults of the admitted Pod are neither the manifest's nor those that
// every API server sets. Somebody else added or changed them: a mutating webhook, a
// MutatingAdmissionPolicy, a LimitRange, an injector of sidecars.
//
// The kubelet runs the Pod that was admitted, so that is the one to judge it by
// ([trace.Trace.Admitted]). Whether a case is still about what it was written for is another
// matter: a [Change] says how much it bears on that.
//
// Left out on purpose: who made a change, which no object of the API tells; and ephemeral
// containers, which nobody can add before the Pod is there.
//
// Start at [Compare]. defaults.go has what every API server does.
package admission
