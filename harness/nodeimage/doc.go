// Package nodeimage provides the kind node image of a Kubernetes version, on machines with and without a registry of container images.
//
// [Ensure] is the place to start. It takes the first of these:
//
//  1. An image that the container runtime has: the published one of this version, or one that was built here. What was built is named
//     localhost/podorder/node:VERSION-RECIPE, where RECIPE stands for everything in this package that decides what is in it, so that a
//     changed recipe is never mistaken for an old image.
//  2. The published kindest/node image, by digest, where the release notes of the kind in go.mod pin one for exactly this version. A tag
//     without a digest promises nothing about how well the image fits kind, so other versions are pulled only if the user names the
//     reference ([Named]). Where no registry answers, that is found out within seconds and the next way is taken.
//  3. A build from Go modules and distribution packages.
//
// [Default] is a patch release for which kind pins no image, so it is built once on every machine. To pull instead, ask for a pinned version
// such as v1.37.0, which takes a minute. The order of containers depends on the patch release of the kubelet, so a neighbouring release is never
// used silently.
//
// # The build
//
// Everything is compiled and packed by this program, in named steps (build.go lists them), each of which runs as soon as what it needs is there
// (graph.go), and keeps what it made in a cache under a key of all that it was made from (cache.go): Kubernetes from its published module
// (kubernetes.go), with the go.mod that gomod.go generates; etcd, CoreDNS, containerd, the CNI plugins and crictl (recipe.go, tools.go) with the
// modules of Kubernetes, so that they find in the compiler's cache what Kubernetes has left there (together.go), and runc from its own; two root
// file systems of Debian or Ubuntu packages from the mirrors that the system's own apt is configured for (rootfs.go). The images of the control
// plane are put together without a registry (images.go), and imported into the containerd (commit.go) of a node with kind's entrypoint, units and
// configuration, which come from the module of the kind in go.mod (node.go). There are two compilations at a time.
//
// [Kubelet] builds just the kubelet of a version, for nodes that are to run another one than their image holds (kubelet.go).
//
// The programs in pause and podnet are part of the image only: the sandbox container, and the Pod network instead of kindnet, which is not
// published as a module. Services, cluster DNS and traffic between Pods of different nodes work as on a stock node. What differs on purpose:
// no network policies, and no provisioner for the default storage class.
package nodeimage
