package kubelet

// Duty is something that a kubelet has to do by itself. [Faults.Omits] has it leave one out,
// so that a judge can be asked whether it misses it.
type Duty uint8

// The duties; each says when it is left out.
const (
	// NoDuty: nothing is left out.
	NoDuty Duty = iota
	// PostStartHooks: a postStart hook counts as having succeeded, and is not run.
	PostStartHooks
	// PreStopHooks: a preStop hook counts as having ended, and is not run.
	PreStopHooks
	// FirstStarts: what comes after an init container or a sidecar is not started.
	FirstStarts
	// Restarts: a container that has ended is not started again.
	Restarts
	// Kills: a container that does not stop is not killed.
	Kills
	// LivenessProbes: no liveness probe is run.
	LivenessProbes
	// ProbeKills: a container is not stopped when its liveness or startup probe has failed.
	ProbeKills
	duties
)

// dutyNames has for each its name in a few words.
var dutyNames = [duties]string{"nothing", "postStart hooks", "preStop hooks", "first starts", "restarts", "kills", "liveness probes", "kills for probes"}

// String names the duty.
func (d Duty) String() string { return dutyNames[d] }

// Duties returns all of them.
func Duties() []Duty {
	var all []Duty
	for d := range duties {
		if d != NoDuty {
			all = append(all, d)
		}
	}
	return all
}

// omits reports whether the kubelet leaves a duty out.
func (n *node) omits(d Duty) bool { return n.pod.Faults.Omits == d }

// omitsStart reports whether the start of a container is left out: one that was there before is
// a restart, and the very first one is never left out.
func (k *kubelet) omitsStart(c int, v snapshot) bool {
	return v.newest[c] != nil && k.omits(Restarts) || v.newest[c] == nil && c > 0 && k.omits(FirstStarts)
}
