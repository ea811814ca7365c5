// Command explain prints the order that a kubelet keeps for a Pod: what each container is, then
// the phases of the Pod's life (start, run, stop), each with what the kubelet does in plain words, what comes before
// what, and by which rule. Then it lists these rules, each with the faults that suspend it or a part of it.
// As a picture it has the phases side by side, and the rules as a key of its colours.
//
//	explain -kubernetes v1.37.2 -pod pod.yaml
//	explain -kubernetes v1.37.2 -pod pod.yaml -svg > order.svg
//	explain -kubernetes v1.37.2 -pod pod.yaml -interleavings
//	helm template web ./chart | explain -kubernetes v1.37.2 -pod - -object Deployment/web
//
// The file of -pod holds a Pod or an object with a Pod template, with or without other objects, as that of
// judge does; -object is needed only where several hold one.
//
// Exit status: 0 printed, 2 usage or a manifest that cannot be read, 4 a
// manifest with fields that the model does not know.
//
// The test of this package keeps the allowed.txt of every case equal to the
// order that the command prints, in a shorter form; `make update` writes them again. Left out on purpose:
// the order itself, which package reference knows.
package main
