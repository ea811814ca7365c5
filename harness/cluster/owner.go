package cluster

import (
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Owner identifies the process that something belongs to, in a form short enough for the name of a cluster. A process ID alone would not do:
// they are used again, also after a reboot, and mean nothing on another machine or in another PID namespace.
type Owner struct {
	// Machine stands for the machine and PID namespace, Boot for the time since its last boot.
	Machine, Boot string
	PID           int
	// Start is the time at which the process started: on Linux in clock ticks since boot, on macOS in microseconds since 1970.
	Start uint64
}

// Liveness says whether the process of an Owner still runs.
type Liveness uint8

// The answers of Owner.Liveness. Unknown covers other machines and PID namespaces: what cannot be seen from here is never called dead.
const (
	Unknown Liveness = iota
	Alive
	Dead
)

// String returns the word for it.
func (l Liveness) String() string { return [...]string{"unknown", "alive", "dead"}[l] }

// Self returns the owner that this process is.
func Self() (Owner, error) {
	o := Owner{PID: os.Getpid()}
	var err error
	if o.Start, _, err = processStart(o.PID); err != nil {
		return Owner{}, fmt.Errorf("identifying this process: %w", err)
	}
	boot, err := bootID()
	if err != nil {
		return Owner{}, fmt.Errorf("identifying this boot of the machine: %w", err)
	}
	// Any of the three may be missing (a container has no machine ID of its own); together they tell machines and containers apart.
	machine, _ := os.ReadFile("/etc/machine-id")
	name, _ := os.Hostname()
	namespace, _ := os.Readlink("/proc/self/ns/pid")
	o.Machine = digest(5, string(machine), name, namespace)
	o.Boot = digest(5, boot)
	return o, nil
}

// digest returns n characters that may stand in a name, made from the parts.
func digest(n int, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))[:n]
}

// String returns the owner as one word that may stand in the name of a container and the value of a label.
func (o Owner) String() string {
	return fmt.Sprintf("%s-%s-%d-%s", o.Machine, o.Boot, o.PID, strconv.FormatUint(o.Start, 36))
}

// ParseOwner reads what Owner.String wrote.
func ParseOwner(s string) (Owner, error) {
	parts := strings.Split(s, "-")
	bad := fmt.Errorf("%q is not an owner (machine-boot-pid-start)", s)
	if len(parts) != 4 || len(parts[0]) != 5 || len(parts[1]) != 5 {
		return Owner{}, bad
	}
	pid, err := strconv.Atoi(parts[2])
	if err != nil || pid <= 0 {
		return Owner{}, bad
	}
	start, err := strconv.ParseUint(parts[3], 36, 64)
	if err != nil {
		return Owner{}, bad
	}
	return Owner{Machine: parts[0], Boot: parts[1], PID: pid, Start: start}, nil
}

// Liveness says whether the owner still runs, as seen by the process that self is.
func (o Owner) Liveness(self Owner) Liveness {
	switch {
	case o.Machine != self.Machine:
		return Unknown
	case o.Boot != self.Boot:
		return Dead
	case o == self:
		return Alive
	}
	// Signal 0 also sees processes that /proc hides (hidepid).
	if err := unix.Kill(o.PID, 0); errors.Is(err, unix.ESRCH) {
		return Dead
	}
	start, zombie, err := processStart(o.PID)
	switch {
	case err != nil:
		return Unknown
	case start != o.Start || zombie:
		return Dead
	}
	return Alive
}

// Labels that podorder puts on what it makes in a cluster: namespaces and nodes.
const (
	LabelManagedBy = "app.kubernetes.io/managed-by"
	ManagedBy      = "podorder"
	LabelOwner     = "podorder.dev/owner"
	LabelStarted   = "podorder.dev/started"
	LabelCase      = "podorder.dev/case"
	// LabelSpare marks a node that is kept for cases which disturb it.
	LabelSpare = "podorder.dev/spare"
	// LabelKubelet tells which kubelet a node has, where a cluster has several of one version.
	LabelKubelet = "podorder.dev/kubelet"
	labelConfig  = "podorder.dev/config"
)

// Labels returns the labels of what the owner made at a time.
func (o Owner) Labels(at time.Time) map[string]string {
	return map[string]string{
		LabelManagedBy: ManagedBy,
		LabelOwner:     o.String(),
		LabelStarted:   at.UTC().Format("20060102T150405Z"),
	}
}
