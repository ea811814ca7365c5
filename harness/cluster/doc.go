// Package cluster brings up, finds and removes the clusters that podorder runs cases on.
//
// A [Provider] makes a kind cluster through kind's Go library. [Open] takes a cluster that exists already. Both end in a [Cluster], which is all that the rest of the harness needs: clients, nodes, images, and, where the
// nodes are containers of the local runtime, commands inside of them.
//
// Nothing is left behind. A cluster that is not kept carries its [Owner] in its name, and with that in the label of every one of its
// containers from the moment they exist. So [Sweep] can distinguish what a killed run left behind from what belongs to a running one or to someone else,
// without any file. What a run makes inside of an existing cluster are namespaces, labelled in the same way.
//
// Left out on purpose: choosing a container runtime (package host), getting a node image (package nodeimage), and the cases themselves.
package cluster
