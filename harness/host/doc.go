// Package host finds a container runtime that can really run kind nodes on this machine, and adapts to the machine without changing it.
//
// [Detect] is the place to start. It tries Docker, Podman and nerdctl in turn (or only the one that KIND_EXPERIMENTAL_PROVIDER names) by
// running a privileged container: a daemon that answers proves nothing about what it may do. Where none works, the machine is Debian or
// Ubuntu and the user is root, it installs Podman from the distribution's packages, unless [Options.NoInstall] forbids it; anywhere else the
// error says what to install or start.
//
// What the machine needs in addition is decided from what is detected, and is kept in private configuration only: a temporary file that
// CONTAINERS_CONF names ([Host.Environ]), and patches for kubeadm and containerd ([Host.KubeadmPatches], [Host.ContainerdPatches]). On an
// ordinary machine all of them are empty.
//
//   - No CAP_SYS_RESOURCE: Podman must not raise resource limits above those of this process, and containerd must not lower the OOM score.
//   - cgroup v1 (or hybrid): Podman uses runc, because crun refuses hybrid hierarchies; kubelets since v1.35 must be told not to refuse;
//     nodes use the cgroupfs driver, because runc with systemd's freezes containers as they start, and fails where the machine is busy.
//
// One thing is made outside: an empty /lib/modules, where a machine has none. kind mounts that folder, and only Docker makes it by itself.
//
// Left out on purpose: changing system settings (sysctl, limits, services), starting a daemon, remote runtimes.
package host
