package search_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/kubelet/search"
	"github.com/podorder/podorder/reference/trace"
)

// These properties hold for every trace of a correct kubelet by the rules
// alone. They are checked on the traces themselves, without the model, so that
// the kubelet can be trusted before it judges.

// properties are what holds for every trace.
var properties = map[string]func(s *story) error{
	"the trace is well formed":              (*story).wellFormed,
	"instances follow each other":           (*story).instancesFollow,
	"hooks never overlap":                   (*story).hooksNeverOverlap,
	"a hook blocks the next container":      (*story).hookBlocks,
	"init containers and sidecars go first": (*story).initComesFirst,
	"the startup probe gates":               (*story).startupGates,
	"preStop before TERM":                   (*story).preStopBeforeTerm,
	"sidecars last":                         (*story).sidecarsLast,
	"a stop has an end":                     (*story).stopEnds,
	"back-off":                              (*story).backOff,
	"the status goes on":                    (*story).statusGoesOn,
	"the status is of one time":             (*story).oneSnapshot,
	"conditions fit the containers":         (*story).conditionsFit,
	"probes after the hook":                 (*story).probesAfterHook,
	"shown after the hook":                  (*story).shownAfterHook,
	"ready after a probe":                   (*story).readyAfterProbe,
	"no start once it stops":                (*story).noStartOnceStopped,
	"the policy restarts":                   (*story).policyRestarts,
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyStory(t)
		for name, holds := range properties {
			if err := holds(s); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, s)
			}
		}
	})
}

// The same choices make the same trace: all that varies is the Chooser's.
func TestRunsRepeat(t *testing.T) {
	for seed := range uint64(100) {
		run := func() []trace.Entry {
			r := rand.New(rand.NewPCG(seed, 9))
			choose := func(n int) int { return r.IntN(n) }
			return kubelet.Run(search.AnyPod("v1.36.3", choose), "v1.36.3", choose).Entries
		}
		first := run()
		assert.Assert(t, len(first) > 0)
		assert.DeepEqual(t, first, run())
	}
}

// Every trace can be written and read again, and its channels are in order.
func (s *story) wellFormed() error {
	var b bytes.Buffer
	w, err := trace.NewWriter(&b, s.tr.Header)
	if err != nil {
		return err
	}
	for _, e := range s.tr.Entries {
		if err := w.Write(e); err != nil {
			return err
		}
	}
	again, err := trace.Read(&b)
	if err != nil {
		return err
	}
	if len(again.Entries) != len(s.tr.Entries) {
		return fmt.Errorf("%d entries read of %d", len(again.Entries), len(s.tr.Entries))
	}
	var last time.Time
	for n, e := range again.Entries {
		if e.At.Before(last) {
			return fmt.Errorf("line %d arrives before the one before it", n+2)
		}
		last = e.At
	}
	return nil
}

// Instances of a container follow each other: no line of one comes after a line
// of a later one. Each has at most one postStart hook, and one begin.
func (s *story) instancesFollow() error {
	run, begun := map[string]int{}, map[string]bool{}
	for _, l := range s.lines {
		if l.Run < run[l.Container] {
			return fmt.Errorf("%v comes after run %d", l, run[l.Container])
		}
		run[l.Container] = l.Run
		if l.Mark.Kind == trace.Begin && l.Actor != trace.PreStop {
			if begun[l.String()] {
				return fmt.Errorf("%v twice", l)
			}
			begun[l.String()] = true
		}
	}
	return nil
}

// Two postStart hooks of a Pod never overlap, as long as the kubelet is
// not restarted.
func (s *story) hooksNeverOverlap() error {
	if !s.calm() {
		return nil
	}
	over, current := map[string]bool{}, ""
	for _, l := range s.lines {
		if l.Actor != trace.PostStart {
			continue
		}
		id := fmt.Sprintf("%s#%d", l.Container, l.Run)
		if over[id] {
			return fmt.Errorf("%v after the hook of %s began", l, current)
		}
		if current != "" && current != id {
			over[current] = true
		}
		current = id
	}
	return nil
}

// The first instance of a regular container comes after the hook of the
// first instance of one before it, unless that one could not be started at
// first, or ended unseen.
func (s *story) hookBlocks() error {
	for _, c := range s.pod.All() {
		if c.NoImage || c.NoCreate || c.NoStart || s.pod.May.Silent {
			return nil
		}
	}
	last := -1
	for _, l := range s.lines {
		if !s.regular(l) || l.Run > 0 || !s.calm() {
			continue
		}
		c := s.index[l.Container]
		if l.Actor == trace.PostStart && c < last {
			return fmt.Errorf("%v after a line of %s", l, s.pod.All()[last].Name)
		}
		last = max(last, c)
	}
	return nil
}

// Nothing of a regular container or of a later init container comes
// before the init containers have ended with 0, nor before the hook of a
// sidecar has.
func (s *story) initComesFirst() error {
	if !s.calm() || s.resets() {
		return nil
	}
	done := map[string]bool{}
	for _, l := range s.lines {
		for c := range min(s.index[l.Container], len(s.pod.Init)) {
			before := s.pod.Init[c]
			if (!before.Sidecar || before.PostStart == kubelet.Exec || before.PostStart == kubelet.HTTP) && !done[before.Name] {
				return fmt.Errorf("%v before %s is done", l, before.Name)
			}
		}
		if l.Mark.Kind == trace.End && l.Mark.N == 0 && (l.Actor == trace.Main && !s.spec(l).Sidecar || l.Actor == trace.PostStart) {
			done[l.Container] = true
		}
	}
	return nil
}

// No readiness or liveness line of an instance before its startup probe has
// succeeded, if all probes are exec.
func (s *story) startupGates() error {
	if !s.calm() {
		return nil
	}
	started := map[string]bool{}
	for _, l := range s.lines {
		c := s.spec(l)
		id := fmt.Sprintf("%s#%d", l.Container, l.Run)
		switch {
		case l.Actor == trace.StartupProbe && l.Mark.N == 0:
			started[id] = true
		case c.Startup == nil || started[id]:
		case l.Actor == trace.ReadinessProbe && !c.Readiness.HTTP, l.Actor == trace.LivenessProbe && !c.Liveness.HTTP:
			return fmt.Errorf("%v before its startup probe has succeeded", l)
		}
	}
	return nil
}

// A preStop hook does not begin after TERM. Its first line may come as late as that
// of any process, where the grace period is over by then.
func (s *story) preStopBeforeTerm() error {
	if !s.calm() {
		return nil
	}
	signalled := map[string]time.Time{}
	for _, l := range s.lines {
		id := fmt.Sprintf("%s#%d", l.Container, l.Run)
		if _, ok := signalled[id]; !ok && l.Mark.Kind == trace.Signal {
			signalled[id] = l.Time
		}
		if at, ok := signalled[id]; ok && l.Actor == trace.PreStop && l.Mark.Kind == trace.Begin && l.Time.Sub(at) > latest {
			return fmt.Errorf("%v %v after TERM", l, l.Time.Sub(at))
		}
	}
	return nil
}

// latest is for how long a process runs at most before it writes its first line; see
// firstLine.
const latest = 1500 * time.Millisecond

// Nothing of an instance comes after its first preStop line or TERM by more than the longest grace
// period that there is, and the two seconds at least that follow TERM.
func (s *story) stopEnds() error {
	if !s.calm() || s.resets() {
		return nil
	}
	longest := s.pod.Grace
	for _, c := range s.pod.All() {
		for _, p := range []*kubelet.Probe{c.Startup, c.Liveness} {
			if p != nil {
				longest = max(longest, p.Grace)
			}
		}
	}
	for _, e := range s.tr.Entries {
		if e.Did == nil {
			continue
		}
		if p, err := e.Did.Delete(); err == nil && p.GracePeriodSeconds != nil {
			longest = max(longest, int(*p.GracePeriodSeconds))
		}
	}
	begun := map[string]time.Time{}
	for _, l := range s.lines {
		id := fmt.Sprintf("%s#%d", l.Container, l.Run)
		if _, ok := begun[id]; !ok && (l.Actor == trace.PreStop || l.Mark.Kind == trace.Signal) {
			begun[id] = l.Time
		}
		if at, ok := begun[id]; ok && l.Time.Sub(at) > time.Duration(longest+4)*time.Second {
			return fmt.Errorf("%v %v after its stop began, with %d s of grace at most", l, l.Time.Sub(at), longest)
		}
	}
	return nil
}

// A sidecar is not stopped while a regular container still writes, unless
// at least a second has passed since the whole Pod began to be killed. Only
// Pods are looked at whose sidecars are killed for no other reason.
func (s *story) sidecarsLast() error {
	if !s.calm() || s.resets() || s.did(trace.ActPatch) {
		return nil
	}
	for _, c := range s.pod.Init {
		if c.Sidecar && (c.Liveness != nil || c.Startup != nil || c.PostStart != kubelet.None) {
			return nil
		}
	}
	begun, stopped := time.Time{}, trace.Line{}
	for _, e := range s.tr.Entries {
		if e.Event != nil && e.Event.Reason == "Killing" && strings.HasPrefix(e.Event.Message, "Stopping container") && begun.IsZero() {
			begun = e.Event.FirstTimestamp.Time
		}
	}
	for _, l := range s.lines {
		switch {
		case l.Actor != trace.Main:
		case s.spec(l).Sidecar && l.Mark.Kind == trace.Signal:
			stopped = l
		case s.regular(l) && stopped.Container != "" && !begun.IsZero() && stopped.Time.Before(begun.Add(time.Second)):
			return fmt.Errorf("%v after %v", l, stopped)
		}
	}
	return nil
}

// From the second restart on a container waits at least 10 seconds, if no
// probe kills it and the kubelet forgets nothing.
func (s *story) backOff() error {
	if !s.calm() || s.resets() || s.did(trace.ActPatch) {
		return nil
	}
	ended := map[string]time.Time{}
	for _, l := range s.lines {
		c := s.spec(l)
		if l.Actor != trace.Main || c.Liveness != nil || c.Startup != nil {
			continue
		}
		switch l.Mark.Kind {
		case trace.End:
			ended[fmt.Sprintf("%s#%d", l.Container, l.Run)] = l.Time
		case trace.Begin:
			if at, ok := ended[fmt.Sprintf("%s#%d", l.Container, l.Run-1)]; ok && l.Run > 1 && l.Time.Sub(at) < 10*time.Second {
				return fmt.Errorf("%v only %v after the end of the one before it", l, l.Time.Sub(at))
			}
		}
	}
	return nil
}

// No probe that is run in a container writes before its postStart hook has ended.
func (s *story) probesAfterHook() error {
	if !s.calm() {
		return nil
	}
	probed := map[string]trace.Line{}
	for _, l := range s.lines {
		c := s.spec(l)
		id := fmt.Sprintf("%s#%d", l.Container, l.Run)
		probe := map[trace.Actor]*kubelet.Probe{trace.StartupProbe: c.Startup, trace.ReadinessProbe: c.Readiness, trace.LivenessProbe: c.Liveness}[l.Actor]
		switch {
		case probe != nil && !probe.HTTP:
			probed[id] = l
		case l.Actor == trace.PostStart && probed[id].Container != "":
			return fmt.Errorf("%v after %v", l, probed[id])
		}
	}
	return nil
}

// Where nothing but the end of the Pod stops a container, none is started after the
// first preStop hook or TERM. The first lines of one that was started before may come late.
func (s *story) noStartOnceStopped() error {
	if !s.calm() || s.resets() || s.did(trace.ActPatch) {
		return nil
	}
	for _, c := range s.pod.All() {
		if c.Liveness != nil || c.Startup != nil || c.PostStart != kubelet.None {
			return nil
		}
	}
	var stopped time.Time
	begun := map[string]bool{}
	for _, l := range s.lines {
		id := fmt.Sprintf("%s#%d", l.Container, l.Run)
		switch {
		case stopped.IsZero() && (l.Actor == trace.PreStop || l.Mark.Kind == trace.Signal):
			stopped = l.Time
		case !stopped.IsZero() && !begun[id] && l.Time.Sub(stopped) > latest:
			return fmt.Errorf("%v after a container was stopped", l)
		}
		begun[id] = true
	}
	return nil
}

// A regular container that has ended well, or at all, is not started again where the
// policy of the Pod says so, if no probe and no hook has it stopped.
func (s *story) policyRestarts() error {
	if !s.calm() || s.resets() || s.did(trace.ActPatch) || s.pod.Policy == corev1.RestartPolicyAlways {
		return nil
	}
	code := map[string]int{}
	for _, l := range s.lines {
		c := s.spec(l)
		if !s.regular(l) || c.Policy != nil || len(c.Rules) > 0 || c.Liveness != nil || c.Startup != nil || c.PostStart != kubelet.None {
			continue
		}
		if l.Run > 0 {
			last, ended := code[fmt.Sprintf("%s#%d", l.Container, l.Run-1)]
			if s.pod.Policy == corev1.RestartPolicyNever || ended && last == 0 {
				return fmt.Errorf("%v after exit code %d", l, last)
			}
		}
		if l.Actor == trace.Main && l.Mark.Kind == trace.End {
			code[fmt.Sprintf("%s#%d", l.Container, l.Run)] = l.Mark.N
		}
	}
	return nil
}
