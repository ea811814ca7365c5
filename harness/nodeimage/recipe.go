package nodeimage

import (
	"embed"
	"io/fs"
	"runtime"

	"golang.org/x/mod/module"
)

// The programs of a node image that are not part of Kubernetes, as they are built from their modules. All Kubernetes versions get the same,
// except etcd, whose release kubeadm decides.
type tool struct {
	name     string // of the step and in the cache
	module   string
	version  string
	packages []string // below the module
	plugins  []string // of CoreDNS; instead of packages, a program is built that has just these
	tags     string
	ldflags  string // beside those that strip
	cgo      bool
	instead  []module.Version // what it gets instead of the versions of Kubernetes, because it does not compile with them
}

// tools are built together, see buildTogether: their tags and ldflags hold for all of them.
var tools = []tool{
	{
		name: "cni-plugins", module: "github.com/containernetworking/plugins", version: "v1.9.1",
		packages: []string{"plugins/ipam/host-local", "plugins/main/loopback", "plugins/main/ptp", "plugins/meta/portmap"},
	},
	// The plugins of kubeadm's Corefile, and those that people add to look at DNS. The rest, above all the clients of clouds, would take
	// longer to compile than everything else of CoreDNS.
	{
		name: "coredns", module: "github.com/coredns/coredns", version: "v1.14.6",
		plugins: []string{
			"errors", "health", "ready", "kubernetes", "metrics", "forward", "cache", "loop", "reload", "loadbalance",
			"log", "hosts", "rewrite", "whoami", "bind", "debug",
		},
	},
	{name: "crictl", module: "sigs.k8s.io/cri-tools", version: "v1.37.0", packages: []string{"cmd/crictl"}},
}

// containerd was made for the CRI of the minor before. It is built like the other tools, but with that, and so in a module of its own.
var containerd = tool{
	name: "containerd", module: "github.com/containerd/containerd/v2", version: "v2.3.5", tags: "no_btrfs no_devmapper no_zfs no_aufs",
	// The version that nodes report as theirs.
	ldflags:  "-X github.com/containerd/containerd/v2/version.Version=2.3.5",
	packages: []string{"cmd/containerd", "cmd/containerd-shim-runc-v2", "cmd/ctr"},
	instead: []module.Version{
		{Path: "k8s.io/cri-api", Version: "v0.36.3"}, {Path: "k8s.io/cri-client", Version: "v0.36.3"}, {Path: "k8s.io/cri-streaming", Version: "v0.36.3"},
	},
}

// runc is built on its own. Without seccomp no Pod starts: containerd asks for it. The other tags let it have the same packages of the standard library as
// the rest, which is built without cgo.
var runc = tool{name: "runc", module: "github.com/opencontainers/runc", version: "v1.4.3", tags: "seccomp netgo osusergo", cgo: true, packages: []string{"."}}

// mayRaise are the modules that the tools may have newer than Kubernetes: CoreDNS does not compile with the caddy that kubeadm has, and the modules of
// one etcd release belong together. A slash at the end stands for all that begins so.
var mayRaise = []string{"github.com/coredns/caddy", "go.etcd.io/etcd/"}

const etcdModule = "go.etcd.io/etcd/server/v3"

// kubernetesCommands are the commands of k8s.io/kubernetes that a node image holds.
var kubernetesCommands = []string{
	"kubelet", "kubeadm", "kubectl", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy",
}

// nodePackages are the Debian packages of the node's root file system, beside those that every system has.
var nodePackages = []string{
	"systemd", "systemd-sysv", "dbus", "iptables", "nftables", "iproute2", "ethtool", "socat", "conntrack", "kmod", "procps", "util-linux",
	"mount", "ca-certificates", "jq", "curl", "hostname", "libseccomp2", "pigz", "e2fsprogs",
}

// networkPackages are the Debian packages of the root file system of kube-proxy and of the Pod network.
var networkPackages = []string{"libc6", "iptables", "nftables", "kmod", "conntrack", "iproute2"}

// builderPackages are what the building machine itself needs beside Go.
var builderPackages = []string{"mmdebstrap", "gcc", "libc6-dev", "libseccomp-dev", "pkg-config"}

// podnetImage is the reference that manifests/default-cni.yaml names.
const podnetImage = "localhost/podorder/podnet:1"

//go:embed podnet/main.go podnet/network.go pause/main.go manifests
var sources embed.FS

// repository is where node images that were built here are kept in the runtime. The tag is the Kubernetes version and the recipe.
const repository = "localhost/podorder/node"

// recipeRevision changes when the way of assembling an image changes in this package without any of the data above changing.
const recipeRevision = "2"

// recipe is the key of everything in this package that decides what is in an image of any Kubernetes version.
func recipe() string {
	files, err := keyOfFiles(fs.FS(sources))
	if err != nil {
		panic("embedded files cannot be read: " + err.Error()) // impossible: they are part of the program
	}
	parts := []string{recipeRevision, kindRelease, runtime.GOARCH, files}
	for _, t := range tools {
		parts = append(parts, t.key())
	}
	parts = append(append(parts, containerd.key(), runc.key(), Default), mayRaise...)
	parts = append(parts, nodePackages...)
	parts = append(parts, networkPackages...)
	return keyOf(parts...)
}

func (t tool) key() string {
	parts := append([]string{t.module, t.version, t.tags, t.ldflags}, t.packages...)
	for _, m := range t.instead {
		parts = append(parts, m.String())
	}
	return keyOf(append(parts, t.plugins...)...)
}

// localRef is the reference of the image that this recipe makes of a Kubernetes version.
func localRef(version string) string { return repository + ":" + version + "-" + recipe() }
