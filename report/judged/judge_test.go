package judged

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
	"github.com/podorder/podorder/report"
	"github.com/podorder/podorder/report/judged/judgedtest"
)

const startup = judgedtest.Startup

var (
	caseByID, startupPod   = judgedtest.CaseByID, judgedtest.StartupPod
	recording, recordingOf = judgedtest.Recording, judgedtest.RecordingOf
	ordered, early         = judgedtest.Ordered, judgedtest.Early
)

func TestJudge(t *testing.T) {
	c := caseByID(t, startup)
	late := &report.Ended{Why: "waiting for line container2 / main: deadline exceeded"}
	decided := &report.Ended{Why: "step 2: the case was ended", Decided: "hooks/poststart-blocks-next, line 6"}
	foreign := recording(append(ordered, "hello")...)
	unversioned := recording(ordered...)
	unversioned.Header.Kubelet = ""
	tests := []struct {
		name    string
		trace   *trace.Trace
		ended   *report.Ended
		outcome reference.Outcome
		rule    string
		reason  string
	}{
		{"as it should be", recording(ordered...), nil, reference.Pass, "", ""},
		{"a violation", recording(early...), nil, reference.Violation, "hooks/poststart-blocks-next", ""},
		{"a violation, and a step that never ended", recording(early...), late, reference.Violation, "hooks/poststart-blocks-next", late.Why},
		{"a violation, for which the case was ended", recording(early...), decided, reference.Violation, "hooks/poststart-blocks-next", ""},
		{"a case that was ended for what is none", recording(ordered...), decided, reference.Inconclusive, "", "hooks/poststart-blocks-next, line 6"},
		{"a step that never ended", recording(ordered[:4]...), late, reference.Inconclusive, "", late.Why},
		{"all witnesses, and a step that never ended", recording(ordered...), late, reference.Inconclusive, "", late.Why},
		{"no witness", recording(ordered[:4]...), nil, reference.Inconclusive, "", "container2 / main"},
		{"an empty log", recording(), nil, reference.Inconclusive, "", ""},
		{"no Pod", recordingOf(nil, ordered...), nil, reference.Inconclusive, "", "no Pod"},
		{"no Pod, and a step that never ended", recordingOf(nil), late, reference.Inconclusive, "", late.Why},
		{"no trace", nil, late, reference.Broken, "", late.Why},
		{"no trace and no error", nil, nil, reference.Broken, "", "nothing was recorded"},
		{"a foreign line", foreign, nil, reference.Broken, "", "hello"},
		{"no kubelet", unversioned, nil, reference.Broken, "", "header"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := Judge(c, "", tt.trace, tt.ended)
			v := j.Verdict
			assert.Equal(t, j.Skipped, "")
			assert.Equal(t, v.Outcome, tt.outcome, v.Text())
			assert.Equal(t, v.Rule, tt.rule)
			assert.Check(t, is.Contains(v.Reason, tt.reason))
			if tt.ended == decided && tt.outcome == reference.Violation {
				assert.Check(t, !strings.Contains(v.Text(), "did not end well"))
			}
		})
	}
}

// TestDecides: a case that waits is decided by a violation, and by nothing else that it may come to.
func TestDecides(t *testing.T) {
	c := caseByID(t, startup)
	elsewhere := startupPod()
	elsewhere.Spec.Containers[1].Command = []string{"other"}
	for name, tt := range map[string]struct {
		trace *trace.Trace
		want  string
	}{
		"nothing yet":                  {recording(), ""},
		"no witness yet":               {recording(ordered[:2]...), ""},
		"as it should be":              {recording(ordered...), ""},
		"a violation":                  {recording(early...), "hooks/poststart-blocks-next, line 7"},
		"a violation, in another case": {recordingOf(elsewhere, early...), ""},
		"no Pod yet":                   {recordingOf(nil), ""},
		"no kubelet yet":               {&trace.Trace{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, Decides(c, "", tt.trace), tt.want)
		})
	}
}

// life is a recording that is being written: of a Pod as somebody else made it.
type life struct {
	tr  *trace.Trace
	pod *corev1.Pod
	at  time.Time
}

// lifeOf begins the life of a Pod of a case that was changed when it was admitted.
func lifeOf(c fixtures.Case, change func(*corev1.Pod)) *life {
	pod := c.Pod()
	change(pod)
	l := &life{
		tr:  &trace.Trace{Header: trace.Header{Trace: trace.Version, Case: c.ID, Kubelet: "v1.37.2"}},
		pod: pod, at: time.Date(2023, 12, 21, 10, 40, 51, 0, time.UTC),
	}
	l.did(trace.ActApply, nil)
	l.shown(trace.Added, func(st *corev1.PodStatus) { st.Phase = corev1.PodPending })
	return l
}

func (l *life) add(e trace.Entry) {
	e.At, e.Line = l.at, len(l.tr.Entries)+2
	l.tr.Entries = append(l.tr.Entries, e)
}

func (l *life) did(act string, param any) {
	a, err := trace.NewAct(act, param)
	if err != nil {
		panic(err)
	}
	l.add(trace.Entry{Did: &a})
}

// shown adds an update.
func (l *life) shown(kind string, status func(*corev1.PodStatus)) {
	pod := l.pod.DeepCopy()
	pod.Spec.NodeName = "n"
	status(&pod.Status)
	l.add(trace.Entry{Type: kind, Pod: pod})
}

// logs adds lines, a second apart.
func (l *life) logs(lines ...string) *life {
	for _, text := range lines {
		l.at = l.at.Add(time.Second)
		text = l.at.Format(time.RFC3339) + ": " + text
		l.add(trace.Entry{Log: &text})
	}
	return l
}

func waiting(name, reason string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
}

func running(name string, started, ready bool) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, Started: &started, Ready: ready, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
}

func condition(kind corev1.PodConditionType, is corev1.ConditionStatus) corev1.PodCondition {
	return corev1.PodCondition{Type: kind, Status: is}
}

// initializing is the status while what somebody put before the containers of the startup
// case has not come to its end, or its start.
func initializing(st *corev1.PodStatus) {
	st.Phase = corev1.PodPending
	st.Conditions = []corev1.PodCondition{condition(corev1.PodReadyToStartContainers, corev1.ConditionTrue), condition(corev1.PodInitialized, corev1.ConditionFalse)}
	st.InitContainerStatuses = []corev1.ContainerStatus{running("added", false, false)}
	st.ContainerStatuses = []corev1.ContainerStatus{waiting("container1", "PodInitializing"), waiting("container2", "PodInitializing")}
}

// unready is the status when both containers of the startup case are ready, and what was
// added beside them is not.
func unready(st *corev1.PodStatus) {
	st.Phase = corev1.PodRunning
	st.Conditions = []corev1.PodCondition{
		condition(corev1.PodReadyToStartContainers, corev1.ConditionTrue), condition(corev1.PodInitialized, corev1.ConditionTrue),
		condition(corev1.ContainersReady, corev1.ConditionFalse), condition(corev1.PodReady, corev1.ConditionFalse),
	}
	st.ContainerStatuses = []corev1.ContainerStatus{running("added", true, false), running("container1", true, true), running("container2", true, true)}
}

var (
	asked   = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"ask"}}}}
	sidecar = corev1.ContainerRestartPolicyAlways
)

// first puts a container before those of a list.
func first(list []corev1.Container, c corev1.Container) []corev1.Container {
	c.Name, c.Image = "added", "mesh:1"
	return append([]corev1.Container{c}, list...)
}

// TestJudgeAdmitted: the Pod that the API server admitted is judged, never the manifest, and what was added says
// nothing by its silence. Who judges by the manifest refuses the first four.
func TestJudgeAdmitted(t *testing.T) {
	c, stop := caseByID(t, startup), caseByID(t, "terminate/kill-after-term")
	notReady := &report.Ended{Why: "step 1: waiting for condition Ready: the Pod is gone; seen last: it is there", Awaited: "condition Ready"}
	noLine := &report.Ended{Why: "step 1: waiting for line: the Pod is gone; seen last: nothing", Awaited: `line "container2 / main"`}
	waits := c
	ready := &fixtures.Await{Condition: "Ready"}
	waits.Steps = append([]fixtures.Step{{Await: ready}}, c.Steps...)
	long, short := int64(100), int64(2)

	tests := []struct {
		name    string
		c       fixtures.Case
		change  func(*corev1.Pod)
		live    func(*life)
		ended   *report.Ended
		outcome reference.Outcome // 0 where the case is skipped
		skipped string
		line    string
	}{
		{
			name: "a sidecar", c: c,
			change: func(p *corev1.Pod) {
				p.Spec.InitContainers = first(nil, corev1.Container{RestartPolicy: &sidecar, StartupProbe: asked})
			},
			live: func(l *life) {
				l.shown(trace.Modified, initializing)
				l.logs(ordered...)
			},
			outcome: reference.Pass, line: "admission added: initContainers[added]",
		},
		{
			name: "an init container", c: c,
			change: func(p *corev1.Pod) { p.Spec.InitContainers = first(nil, corev1.Container{}) },
			live: func(l *life) {
				l.shown(trace.Modified, initializing)
				l.logs(ordered...)
			},
			outcome: reference.Pass, line: "admission added: initContainers[added]",
		},
		{
			name: "a regular container", c: c,
			change: func(p *corev1.Pod) {
				p.Spec.Containers = first(p.Spec.Containers, corev1.Container{ReadinessProbe: asked})
			},
			live: func(l *life) {
				l.logs(ordered...)
				l.shown(trace.Modified, unready)
			},
			outcome: reference.Pass, line: "admission added: containers[added]",
		},
		{
			name: "a longer grace period", c: stop,
			change: func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = &long },
			live: func(l *life) {
				l.logs("deaf#0 / main: begin", "other#0 / main: begin")
				l.did(trace.ActDelete, trace.DeleteParam{})
				l.logs("other#0 / main: signal TERM", "deaf#0 / main: signal TERM", "other#0 / main: end 0")
				l.at = l.at.Add(60 * time.Second)
				l.logs("deaf#0 / main: tick 1")
			},
			outcome: reference.Pass, line: "admission changed: spec.terminationGracePeriodSeconds",
		},
		{
			name: "a sidecar, and a kubelet that is wrong", c: c,
			change: func(p *corev1.Pod) {
				p.Spec.InitContainers = first(nil, corev1.Container{RestartPolicy: &sidecar})
			},
			live:    func(l *life) { l.logs(early...) },
			outcome: reference.Violation, line: "admission added: initContainers[added]",
		},
		{
			name: "labels, variables and volumes", c: c,
			change: func(p *corev1.Pod) {
				p.Labels = map[string]string{"injected": "true"}
				p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "HOST", Value: "h"}}
				p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "certs"})
			},
			live:    func(l *life) { l.logs(ordered...) },
			outcome: reference.Pass, line: "admission added: containers[container1].env, spec.volumes[certs], metadata.labels.injected",
		},
		{
			name: "labels, and a witness that did not come", c: c,
			change:  func(p *corev1.Pod) { p.Labels = map[string]string{"injected": "true"} },
			live:    func(l *life) { l.logs(ordered[:4]...) },
			outcome: reference.Inconclusive, line: "admission added: metadata.labels.injected",
		},
		{
			name: "a field that the model does not know", c: c,
			change:  func(p *corev1.Pod) { p.Spec.EvictionResponders = []corev1.EvictionResponder{{Name: "acme.io/foo"}} },
			live:    func(l *life) { l.logs(ordered...) },
			skipped: "added what the model does not know: spec.evictionResponders", line: "admission added: spec.evictionResponders",
		},
		{
			name: "another command", c: c,
			change:  func(p *corev1.Pod) { p.Spec.Containers[0].Command = []string{"wrap"} },
			live:    func(l *life) { l.logs(early...) },
			skipped: "changed the Pod: added containers[container1].command", line: "admission added: containers[container1].command",
		},
		{
			name: "a hook", c: c,
			change: func(p *corev1.Pod) {
				p.Spec.Containers[1].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 5}}}
			},
			live:    func(l *life) { l.logs(ordered...) },
			skipped: "added containers[container2].lifecycle", line: "admission added: containers[container2].lifecycle",
		},
		{
			name: "another restart policy", c: c,
			change:  func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever },
			live:    func(l *life) { l.logs(ordered...) },
			skipped: "changed spec.restartPolicy", line: "admission changed: spec.restartPolicy",
		},
		{
			name: "the containers in another order", c: c,
			change: func(p *corev1.Pod) {
				p.Spec.Containers[0], p.Spec.Containers[1] = p.Spec.Containers[1], p.Spec.Containers[0]
			},
			live:    func(l *life) { l.logs("container2 / main", "container1 / main") },
			skipped: "changed order of containers", line: "admission changed: order of containers",
		},
		{
			name: "a container that is never ready, and a case that waits for the Pod", c: waits,
			change: func(p *corev1.Pod) {
				p.Spec.Containers = first(p.Spec.Containers, corev1.Container{ReadinessProbe: asked})
			},
			live: func(l *life) {
				l.logs(ordered...)
				l.shown(trace.Modified, unready)
			},
			ended:   notReady,
			skipped: "container added, which admission added, is not ready", line: "admission added: containers[added]",
		},
		{
			// It is ready, or not: nothing waits for it.
			name: "the same, and a case that waits for a line", c: waits,
			change: func(p *corev1.Pod) {
				p.Spec.Containers = first(p.Spec.Containers, corev1.Container{ReadinessProbe: asked})
			},
			live: func(l *life) {
				l.logs(ordered...)
				l.shown(trace.Modified, unready)
			},
			ended:   noLine,
			outcome: reference.Inconclusive, line: "admission added: containers[added]",
		},
		{
			name: "an init container that does not end", c: c,
			change:  func(p *corev1.Pod) { p.Spec.InitContainers = first(nil, corev1.Container{}) },
			live:    func(l *life) { l.shown(trace.Modified, initializing) },
			ended:   noLine,
			skipped: "container added, which admission added, has not ended with 0", line: "admission added: initContainers[added]",
		},
		{
			name: "a shorter grace period, which takes a witness away", c: stop,
			change: func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = &short },
			live: func(l *life) {
				l.logs("deaf#0 / main: begin", "other#0 / main: begin")
				l.did(trace.ActDelete, trace.DeleteParam{})
				l.logs("deaf#0 / main: signal TERM", "other#0 / main: signal TERM")
			},
			skipped: "which may be because admission changed spec.terminationGracePeriodSeconds", line: "admission changed: spec.terminationGracePeriodSeconds",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := lifeOf(tt.c, tt.change)
			tt.live(l)
			j := Judge(tt.c, "", l.tr, tt.ended)
			assert.Equal(t, j.Verdict.Outcome, tt.outcome, "%s %s", j.Skipped, j.Verdict.Text())
			assert.Check(t, is.Contains(j.Skipped, tt.skipped))
			assert.Equal(t, tt.skipped == "", j.Skipped == "")
			// The table has room for why, and not for all that was seen.
			brief := (&report.Run{Outcome: report.Skipped, Reason: j.Skipped, Trace: "t"}).Brief()
			assert.Check(t, is.Contains(brief, tt.skipped))
			assert.Equal(t, j.Changes.String(), tt.line)
		})
	}
}

// TestRecordedInjection: recorded on a real cluster that put a container into every Pod, as a sidecar, before the
// containers of the case, and after them. By the manifest each of them is refused.
func TestRecordedInjection(t *testing.T) {
	for name, line := range map[string]string{
		"sidecar": "admission added: initContainers[injected]",
		"first":   "admission added: containers[injected]",
		"last":    "admission added: containers[injected]",
	} {
		t.Run(name, func(t *testing.T) {
			f, err := os.Open(filepath.Join("..", "..", "reference", "testdata", "injected", name+".trace.jsonl"))
			assert.NilError(t, err)
			defer f.Close()
			tr, err := trace.Read(f)
			assert.NilError(t, err)
			c := caseByID(t, tr.Header.Case)
			j := Judge(c, "", tr, nil)
			assert.Equal(t, j.Verdict.Outcome, reference.Pass, j.Skipped+j.Verdict.Text())
			assert.Equal(t, j.Changes.String(), line)

			k, err := reference.ParseKubelet(tr.Header.Kubelet)
			assert.NilError(t, err)
			assert.Equal(t, reference.Check(k, c.Pod(), tr).Outcome, reference.Violation)
		})
	}
}

// TestJudgeGateOff: a kubelet that does not know sidecars runs something else than was admitted.
func TestJudgeGateOff(t *testing.T) {
	c := caseByID(t, startup)
	l := lifeOf(c, func(p *corev1.Pod) {
		p.Spec.InitContainers = first(nil, corev1.Container{RestartPolicy: &sidecar})
	})
	l.tr.Header.Kubelet = "v1.28.5"
	j := Judge(c, "", l.logs(ordered...).tr, nil)
	assert.Check(t, is.Contains(j.Skipped, "added what the model does not know: initContainers[added].restartPolicy (feature gate SidecarContainers is off)"), j.Verdict.Text())
}

// TestJudgeEphemeral: a container that the case itself adds is nobody else's.
func TestJudgeEphemeral(t *testing.T) {
	c := caseByID(t, startup)
	l := lifeOf(c, func(*corev1.Pod) {})
	debug := corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: "i:1"}}
	l.logs(ordered...)
	l.did(trace.ActDebug, debug.EphemeralContainerCommon)
	l.pod.Spec.EphemeralContainers = append(l.pod.Spec.EphemeralContainers, debug)
	l.logs("debug / main: begin")
	j := Judge(c, "", l.tr, nil)
	assert.Equal(t, j.Verdict.Outcome, reference.Pass, j.Verdict.Text())
	assert.Check(t, is.Len(j.Changes, 0))
}

// TestByName: a reader knows a container by its name.
func TestByName(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Name: "a"}, {Name: "b"}}}}
	got := byName([]string{"spec.initContainers[1].restartPolicy (off)", "spec.containers[3].x", "spec.hostPID"}, pod)
	assert.DeepEqual(t, got, []string{"initContainers[b].restartPolicy (off)", "spec.containers[3].x", "spec.hostPID"})
	assert.Assert(t, !strings.Contains(strings.Join(got, " "), "[1]"))
}
