// Package podspec reads from a Pod what affects the order of its containers: roles, hooks,
// probes, restart policies and rules, grace periods and stop signals, with the defaults that
// the API sets.
//
// A field either is read here, or is listed as one that cannot affect order, or makes the Pod
// unmodelled. A test compares the lists with the types of the API, so a field that a newer
// API adds is unmodelled until somebody has looked at it.
//
// Left out on purpose: everything about what is run, where, and with which rights and
// resources. The package does not check a Pod either; the API server did.
//
// Start with [New] and the type [Pod].
package podspec
