package search_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
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

// story is a trace taken apart.
type story struct {
	pod   kubelet.Pod
	tr    *trace.Trace
	lines []trace.Line
	index map[string]int // of containers, in the order of the spec
}

func anyStory(t *rapid.T) *story {
	choose := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
	version := rapid.SampledFrom(kubelet.Versions()).Draw(t, "version")
	p := search.AnyPod(version, choose)
	return tell(t, p, kubelet.Run(p, version, choose))
}

func tell(t assert.TestingT, p kubelet.Pod, tr *trace.Trace) *story {
	s := &story{pod: p, tr: tr, index: map[string]int{}}
	for i, c := range p.All() {
		s.index[c.Name] = i
	}
	for _, e := range tr.Entries {
		if e.Log != nil {
			l, err := trace.ParseLine(*e.Log)
			assert.NilError(t, err)
			s.lines = append(s.lines, l)
		}
	}
	return s
}

func (s *story) spec(l trace.Line) kubelet.Container { return s.pod.All()[s.index[l.Container]] }
func (s *story) regular(l trace.Line) bool           { return s.index[l.Container] >= len(s.pod.Init) }

func (s *story) did(name string) bool {
	for _, e := range s.tr.Entries {
		if e.Did != nil && e.Did.Name == name {
			return true
		}
	}
	return false
}

// calm tells that nothing befell the node.
func (s *story) calm() bool { return !s.did(trace.ActRestart) && !s.did(trace.ActStop) }

// resets tells whether the whole Pod may be restarted by a rule.
func (s *story) resets() bool {
	for _, c := range s.pod.All() {
		for _, r := range c.Rules {
			if r.All {
				return true
			}
		}
	}
	return false
}

func (s *story) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %+v\n", s.tr.Header.Kubelet, s.pod)
	for _, e := range s.tr.Entries {
		b.WriteString(e.At.Format("05.000 "))
		switch {
		case e.Log != nil:
			b.WriteString(*e.Log)
		case e.Event != nil:
			fmt.Fprintf(&b, "event %s %s: %s", e.Event.Reason, e.Event.FieldPath, e.Event.Message)
		case e.Did != nil:
			fmt.Fprintf(&b, "did %s %s", e.Did.Name, e.Did.Param)
		case e.Pod != nil:
			fmt.Fprintf(&b, "%s deleted=%t %s", e.Type, e.Pod.DeletionTimestamp != nil, e.Pod.Status.Phase)
			for _, c := range e.Pod.Status.Conditions {
				fmt.Fprintf(&b, " %s=%s", c.Type, c.Status)
			}
			for _, cs := range append(e.Pod.Status.InitContainerStatuses, e.Pod.Status.ContainerStatuses...) {
				fmt.Fprintf(&b, " | %s#%d", cs.Name, cs.RestartCount)
				switch {
				case cs.State.Running != nil:
					b.WriteString(" running")
				case cs.State.Terminated != nil:
					fmt.Fprintf(&b, " exit %d", cs.State.Terminated.ExitCode)
				case cs.State.Waiting != nil:
					b.WriteString(" " + cs.State.Waiting.Reason)
				}
				fmt.Fprintf(&b, " started=%t ready=%t", cs.Started != nil && *cs.Started, cs.Ready)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

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
	"back-off":                              (*story).backOff,
	"the status goes on":                    (*story).statusGoesOn,
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

// What the watch shows of a container only goes on: its count of restarts never
// falls, a container ID that has ended does not run again, and a terminal phase
// stays.
func (s *story) statusGoesOn() error {
	count, over, final := map[string]int32{}, map[string]bool{}, ""
	for n, e := range s.tr.Entries {
		if e.Pod == nil {
			continue
		}
		phase := string(e.Pod.Status.Phase)
		if final != "" && phase != final {
			return fmt.Errorf("line %d: phase %s after %s", n+2, phase, final)
		}
		if phase == string(corev1.PodSucceeded) || phase == string(corev1.PodFailed) {
			final = phase
		}
		for _, cs := range append(e.Pod.Status.InitContainerStatuses, e.Pod.Status.ContainerStatuses...) {
			c := s.index[cs.Name]
			init := c < len(s.pod.Init)
			// In a new sandbox, up to 1.35, an init container or a sidecar of which no log
			// file is left is counted anew.
			if again := init && !s.calm() && !kubelet.MustParseRelease(s.tr.Header.Kubelet).Has(kubelet.RestartAllContainers); cs.RestartCount < count[cs.Name] && !again {
				return fmt.Errorf("line %d: restart count %d of %s after %d", n+2, cs.RestartCount, cs.Name, count[cs.Name])
			}
			count[cs.Name] = cs.RestartCount
			if cs.State.Terminated != nil && cs.ContainerID != "" {
				over[cs.ContainerID] = true
			}
			if cs.State.Running != nil && over[cs.ContainerID] {
				return fmt.Errorf("line %d: %s runs again", n+2, cs.Name)
			}
			plain := init && !s.pod.Init[c].Sidecar
			// One that was removed, after RestartAllContainers or in a new sandbox, is shown as
			// ready for as long as what is shown is taken over from before.
			last := cs.LastTerminationState.Terminated
			removed := cs.State.Waiting != nil && last != nil && (last.Reason == "RestartingAllContainers" || last.ExitCode == 0)
			if plain && !removed && cs.Ready != (cs.State.Terminated != nil && cs.State.Terminated.ExitCode == 0) {
				return fmt.Errorf("line %d: init container %s has ready=%t", n+2, cs.Name, cs.Ready)
			}
			if cs.Ready && cs.State.Running == nil && !plain {
				return fmt.Errorf("line %d: %s is ready and does not run", n+2, cs.Name)
			}
		}
	}
	return nil
}

// Ready and ContainersReady are True only where all sidecars and regular
// containers are ready, and Initialized is not True before the init containers
// have ended, unless they had before.
func (s *story) conditionsFit() error {
	for n, e := range s.tr.Entries {
		if e.Pod == nil {
			continue
		}
		ready, init := true, true
		for i, cs := range e.Pod.Status.InitContainerStatuses {
			if s.pod.Init[i].Sidecar {
				ready = ready && cs.Ready
				init = init && *cs.Started
			} else {
				init = init && cs.Ready
			}
		}
		for _, cs := range e.Pod.Status.ContainerStatuses {
			ready = ready && cs.Ready
			init = init || cs.State.Running != nil || cs.State.Terminated != nil
		}
		for _, kind := range []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady} {
			if got := conditionIs(&e.Pod.Status, kind); got && !ready || !got && ready && len(e.Pod.Status.Conditions) > 0 && e.Pod.Status.Phase == corev1.PodRunning && !s.pod.May.LatePhase {
				return fmt.Errorf("line %d: %s is %t", n+2, kind, got)
			}
		}
		if conditionIs(&e.Pod.Status, corev1.PodInitialized) && !init && s.calm() && !s.resets() && !slices.ContainsFunc(s.pod.Init, func(c kubelet.Container) bool { return c.Sidecar }) {
			return fmt.Errorf("line %d: Initialized is True", n+2)
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

// An instance is shown to run only when its postStart hook has ended, so that this
// writes nothing any more.
func (s *story) shownAfterHook() error {
	if !s.calm() || s.pod.May.Silent || s.resets() {
		return nil
	}
	last := map[string]time.Time{}
	for _, l := range s.lines {
		if l.Actor == trace.PostStart {
			last[fmt.Sprintf("%s#%d", l.Container, l.Run)] = l.Time
		}
	}
	for n, e := range s.tr.Entries {
		if e.Pod == nil {
			continue
		}
		for _, cs := range append(e.Pod.Status.InitContainerStatuses, e.Pod.Status.ContainerStatuses...) {
			c := s.pod.All()[s.index[cs.Name]]
			if cs.State.Running != nil && !c.NoStart && !c.NoCreate && last[fmt.Sprintf("%s#%d", cs.Name, cs.RestartCount)].After(e.At) {
				return fmt.Errorf("line %d: %s#%d is shown and its postStart hook goes on", n+2, cs.Name, cs.RestartCount)
			}
		}
	}
	return nil
}

// A container with a readiness probe that is run in it is shown as ready only when that has
// succeeded.
func (s *story) readyAfterProbe() error {
	if !s.calm() || s.pod.May.Silent || s.resets() {
		return nil
	}
	first := map[string]time.Time{}
	for _, l := range s.lines {
		id := fmt.Sprintf("%s#%d", l.Container, l.Run)
		if _, ok := first[id]; !ok && l.Actor == trace.ReadinessProbe && l.Mark.N == 0 {
			first[id] = l.Time
		}
	}
	for n, e := range s.tr.Entries {
		if e.Pod == nil {
			continue
		}
		for _, cs := range append(e.Pod.Status.InitContainerStatuses, e.Pod.Status.ContainerStatuses...) {
			c := s.pod.All()[s.index[cs.Name]]
			if !cs.Ready || c.Readiness == nil || c.Readiness.HTTP || c.NoStart || c.NoCreate {
				continue
			}
			if at, ok := first[fmt.Sprintf("%s#%d", cs.Name, cs.RestartCount)]; !ok || at.After(e.At) {
				return fmt.Errorf("line %d: %s#%d is ready before a probe of it has succeeded", n+2, cs.Name, cs.RestartCount)
			}
		}
	}
	return nil
}

// Where nothing but the end of the Pod stops a container, none is started behind the
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
				return fmt.Errorf("%v behind exit code %d", l, last)
			}
		}
		if l.Actor == trace.Main && l.Mark.Kind == trace.End {
			code[fmt.Sprintf("%s#%d", l.Container, l.Run)] = l.Mark.N
		}
	}
	return nil
}

// The runs are as varied as the rules: each of these things happens.
func TestEverythingHappens(t *testing.T) {
	seen := map[string]int{}
	r := rand.New(rand.NewPCG(1, 2))
	choose := func(n int) int { return r.IntN(n) }
	for n := range 3000 {
		version := kubelet.Versions()[n%len(kubelet.Versions())]
		p := search.AnyPod(version, choose)
		s := tell(t, p, kubelet.Run(p, version, choose))
		here := map[string]bool{}
		for _, e := range s.tr.Entries {
			switch {
			case e.Event != nil:
				words := strings.Fields(e.Event.Message)
				here["event "+e.Event.Reason+" "+words[0]] = true
			case e.Did != nil:
				here["did "+e.Did.Name] = true
			case e.Pod != nil:
				here["phase "+string(e.Pod.Status.Phase)+" "+e.Pod.Status.Reason] = true
				here["type "+e.Type] = true
				for _, cs := range append(e.Pod.Status.InitContainerStatuses, e.Pod.Status.ContainerStatuses...) {
					if cs.State.Waiting != nil {
						here["waiting "+cs.State.Waiting.Reason] = true
					}
				}
			}
		}
		for _, l := range s.lines {
			kind := "regular"
			if !s.regular(l) {
				kind = "init"
				if s.spec(l).Sidecar {
					kind = "sidecar"
				}
			}
			here[fmt.Sprintf("%s %s %s", kind, l.Actor, l.Mark.Kind)] = true
			here[fmt.Sprintf("%s run %d", kind, min(l.Run, 3))] = true
		}
		for what := range here {
			seen[what]++
		}
	}
	for _, what := range []string{
		"did apply", "did delete", "did restart", "did stop", "did patch", "type DELETED",
		"phase Pending ", "phase Running ", "phase Succeeded ", "phase Failed ", "phase Failed Evicted",
		"waiting ContainerCreating", "waiting PodInitializing", "waiting CrashLoopBackOff", "waiting PostStartHookError",
		"waiting ErrImagePull", "waiting ImagePullBackOff", "waiting CreateContainerError", "waiting CreateContainerConfigError",
		"event BackOff Back-off", "event SandboxChanged Pod", "event FailedPostStartHook PostStartHook",
		"event FailedPreStopHook PreStopHook", "event Killing Stopping", "event Killing killing", "event Killing Container",
		"event Killing FailedPostStartHook", "event Unhealthy Startup", "event Unhealthy Readiness", "event Unhealthy Liveness",
		"init run 0", "init run 1", "init run 2", "sidecar run 2", "regular run 2", "regular run 3",
		"regular main signal", "sidecar main signal", "init main signal", "regular post start hook end", "sidecar post start hook end",
		"regular pre stop hook end", "sidecar pre stop hook end", "regular startup probe end", "sidecar readiness probe end", "sidecar liveness probe end",
	} {
		assert.Check(t, seen[what] > 0, "%s: never seen", what)
	}
}

// Each fault of a kubelet shows in some run, and never in that of a correct
// one: it writes what a correct one never does, or never what a correct one
// does.
func TestFaultsShow(t *testing.T) {
	fails := func(properties ...func(s *story) error) func(s *story) bool {
		return func(s *story) bool {
			for _, holds := range properties {
				if holds(s) != nil {
					return true
				}
			}
			return false
		}
	}
	any := func(choose kubelet.Chooser) kubelet.Pod { return search.AnyPod("v1.37.2", choose) }
	at := func(s *story, container string, a trace.Actor, kind trace.MarkKind, run int) (time.Time, bool) {
		for _, l := range s.lines {
			if l.Container == container && l.Actor == a && l.Mark.Kind == kind && l.Run >= run {
				return l.Time, true
			}
		}
		return time.Time{}, false
	}
	for _, test := range []struct {
		name    string
		pod     func(choose kubelet.Chooser) kubelet.Pod
		fault   kubelet.Faults
		mark    func(s *story) bool
		correct bool // the mark is one of a correct kubelet
	}{
		{"hook in background", any, kubelet.Faults{HookInBackground: true}, fails((*story).hookBlocks, (*story).hooksNeverOverlap, (*story).initComesFirst), false},
		{"started inherited", func(kubelet.Chooser) kubelet.Pod {
			return kubelet.Pod{Policy: corev1.RestartPolicyAlways, Grace: 3, Seconds: 20, Containers: []kubelet.Container{{Name: "a", Startup: &kubelet.Probe{}, Readiness: &kubelet.Probe{}, Liveness: &kubelet.Probe{}, LivenessFails: true}}}
		}, kubelet.Faults{StartedInherited: true}, fails((*story).startupGates), false},
		{"frozen readiness", func(kubelet.Chooser) kubelet.Pod {
			return kubelet.Pod{Policy: corev1.RestartPolicyAlways, Grace: 4, Containers: []kubelet.Container{{Name: "a", Readiness: &kubelet.Probe{}, PreStop: kubelet.Exec, Deaf: true}}}
		}, kubelet.Faults{FrozenReadiness: true}, func(s *story) bool {
			for _, e := range s.tr.Entries {
				if e.Did == nil || e.Did.Name != trace.ActDelete {
					continue
				}
				for _, l := range s.lines {
					if l.Actor == trace.ReadinessProbe && l.Time.After(e.At.Add(500*time.Millisecond)) {
						return true
					}
				}
			}
			return false
		}, true},
		{"waits for the dead", func(kubelet.Chooser) kubelet.Pod {
			return kubelet.Pod{Policy: corev1.RestartPolicyAlways, Grace: 4, Init: []kubelet.Container{{Name: "s", Sidecar: true}, {Name: "i"}}, Containers: []kubelet.Container{{Name: "a"}}}
		}, kubelet.Faults{WaitsForDead: true}, func(s *story) bool {
			a, one := at(s, "a", trace.Main, trace.Signal, 0)
			b, two := at(s, "s", trace.Main, trace.Signal, 0)
			return one && two && b.Sub(a) < 800*time.Millisecond
		}, true},
		{"forgets a sidecar", func(kubelet.Chooser) kubelet.Pod {
			return kubelet.Pod{Policy: corev1.RestartPolicyNever, Grace: 4, Seconds: 40, Init: []kubelet.Container{{Name: "s", Sidecar: true, Exits: true, Readiness: &kubelet.Probe{}}}, Containers: []kubelet.Container{{Name: "a"}}}
		}, kubelet.Faults{ForgetsSidecar: true}, func(s *story) bool {
			// From the third instance on: in the back-off before it a tick has found
			// the ended one for sure.
			_, probed := at(s, "s", trace.ReadinessProbe, trace.End, 2)
			return probed
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 6))
			choose := func(n int) int { return r.IntN(n) }
			marks := map[bool]int{}
			for range 150 {
				p := test.pod(choose)
				marks[false] += count(test.mark(tell(t, p, kubelet.Run(p, "v1.37.2", choose))))
				p.Faults = test.fault
				marks[true] += count(test.mark(tell(t, p, kubelet.Run(p, "v1.37.2", choose))))
			}
			t.Log(marks)
			assert.Assert(t, marks[!test.correct] > 0)
			assert.Equal(t, marks[test.correct], 0)
		})
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// conditionIs tells whether a condition is there and True.
func conditionIs(s *corev1.PodStatus, kind corev1.PodConditionType) bool {
	return slices.ContainsFunc(s.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionTrue
	})
}
