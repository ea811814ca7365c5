// Package archive gets container images into files that a node can load.
//
// A node imports an archive with "ctr images import --all-platforms", which fails over every blob that an index names and the archive lacks. A
// container engine that has pulled an image for its own platform alone, as Docker 29 does, saves such an archive (kubernetes-sigs/kind#3795). So what
// this package writes holds each image for one platform, complete and without an index: [Pull] takes an image from its registry, [Reduce] takes what
// is needed from an archive that someone else has written, and [Write] writes images that were made here.
//
// For a site without a way to other registries there is a [Set]: images with all of their platforms, as one archive ([WriteSet], [ReadSet]) or in a
// registry of the site ([Set.Push]), where [Mirrored] says what they are called.
//
// Left out on purpose: making images (package fixtures/image) and loading an archive into a node (package cluster).
package archive
