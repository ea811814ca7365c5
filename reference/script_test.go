package reference_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
)

// The files of testdata/rules are written in a short form, so that a person
// sees at a glance what a trace says. A pod section has a line for each
// container, "container1 postStart readiness", and may have "restartPolicy
// Never", "static", "hostNetwork", "hostPID", "writes container1, container2/post start hook" (who leaves a
// line whenever it runs), "oneProcessNamespace", "gate Gate" (a readiness gate), "grace 30" and "deadline 60". "init setup" and "sidecar proxy startup" stand for the
// entries of initContainers, "debug shell" for an ephemeral container; a word
// "postStart=3" or "preStop=3" is a hook that sleeps for 3 s, "preStop=kills" one that signals its process,
// "recorder" is a main process that logs its begin for sure,
// "startup=http" and "liveness=http" are probes over the network,
// "delay=5", "successes=2" or "http" changes the readiness probe, "failures=3" and "grace=3"
// all of them, which need one otherwise; "stop=USR1" is a stop signal;
// "resize=memory" is a resource of which a change has it restarted; "policy=Never" and "on42=Restart" are restartPolicy and restartPolicyRules.
// A trace section has one entry a line:
//
//	container1#0 / main: begin            a log line; stamps are made up, 0.1 s apart
//	+5s                                   time passes
//	node -2s                              the clock of the node is slow from here on
//	did delete 10                         an act, with a grace period
//	did restart kubelet                   an act, with what it was done to
//	did patch {"spec":{}}                 an act, with its parameter
//	pod Running container1=running,ready  an update; see parseUpdate
//	event Started container1 text         an Event
//	event Started*2 container1 text       the second one like it
//	gap log text                          a gap
//
// In a refuse section one line ends in "<-": it is the one to be refused.
const refused = "<-"

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func parsePodScript(t *testing.T, s string) *corev1.Pod {
	t.Helper()
	// A script has the lines that matter: who else writes, it has to say.
	pod := reference.WithWrites(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}, "")
	for line := range strings.Lines(s) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
		case f[0] == "restartPolicy":
			pod.Spec.RestartPolicy = corev1.RestartPolicy(f[1])
		case f[0] == "writes":
			pod.Annotations[reference.WritesAnnotation] = strings.Join(f[1:], " ")
		case f[0] == "static":
			pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
		case f[0] == "hostNetwork":
			pod.Spec.HostNetwork = true
		case f[0] == "hostPID":
			pod.Spec.HostPID = true
		case f[0] == "oneProcessNamespace":
			shared := true
			pod.Spec.ShareProcessNamespace = &shared
		case f[0] == "gate":
			pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: corev1.PodConditionType(f[1])})
		case f[0] == "deadline":
			n, err := strconv.ParseInt(f[1], 10, 64)
			assert.NilError(t, err)
			pod.Spec.ActiveDeadlineSeconds = &n
		case f[0] == "grace":
			n, err := strconv.ParseInt(f[1], 10, 64)
			assert.NilError(t, err)
			pod.Spec.TerminationGracePeriodSeconds = &n
		case f[0] == "init", f[0] == "sidecar":
			c := parseContainerScript(t, f[1:])
			if f[0] == "sidecar" {
				always := corev1.ContainerRestartPolicyAlways
				c.RestartPolicy = &always
			}
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
		case f[0] == "debug":
			c := corev1.EphemeralContainerCommon(parseContainerScript(t, f[1:]))
			pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, corev1.EphemeralContainer{EphemeralContainerCommon: c})
		default:
			pod.Spec.Containers = append(pod.Spec.Containers, parseContainerScript(t, f))
		}
	}
	return pod
}

func parseContainerScript(t *testing.T, f []string) corev1.Container {
	t.Helper()
	exec := corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"x"}}}
	hook := &corev1.LifecycleHandler{Exec: exec.Exec}
	c := corev1.Container{Name: f[0]}
	number := func(s string) int32 {
		n, err := strconv.ParseInt(s, 10, 32)
		assert.NilError(t, err)
		return int32(n)
	}
	for _, has := range f[1:] {
		name, value, _ := strings.Cut(has, "=")
		if c.Lifecycle == nil && (name == "postStart" || name == "preStop" || name == "stop") {
			c.Lifecycle = &corev1.Lifecycle{}
		}
		switch name {
		case "postStart":
			c.Lifecycle.PostStart = hook
			if value != "" {
				c.Lifecycle.PostStart = &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: int64(number(value))}}
			}
		case "preStop":
			c.Lifecycle.PreStop = hook
			if value == "kills" {
				c.Lifecycle.PreStop = &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sh", "-c", "echo; kill 1"}}}
			} else if value != "" {
				c.Lifecycle.PreStop = &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: int64(number(value))}}
			}
		case "startup":
			c.StartupProbe = &corev1.Probe{ProbeHandler: exec, FailureThreshold: 1}
			if value == "http" {
				c.StartupProbe.ProbeHandler = corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{}}
			}
		case "readiness":
			c.ReadinessProbe = &corev1.Probe{ProbeHandler: exec, FailureThreshold: 1}
		case "liveness":
			c.LivenessProbe = &corev1.Probe{ProbeHandler: exec, FailureThreshold: 1}
			if value == "http" {
				c.LivenessProbe.ProbeHandler = corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{}}
			}
		case "delay":
			c.ReadinessProbe.InitialDelaySeconds = number(value)
		case "successes":
			c.ReadinessProbe.SuccessThreshold = number(value)
		case "grace":
			grace := int64(number(value))
			for _, p := range []*corev1.Probe{c.StartupProbe, c.LivenessProbe} {
				if p != nil {
					p.TerminationGracePeriodSeconds = &grace
				}
			}
		case "failures":
			for _, p := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
				if p != nil {
					p.FailureThreshold = number(value)
				}
			}
		case "resize":
			c.ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceName(value), RestartPolicy: corev1.RestartContainer}}
		case "recorder":
			c.Image = "podorder/recorder:1"
		case "stop":
			signal := corev1.Signal("SIG" + value)
			c.Lifecycle.StopSignal = &signal
		case "http":
			c.ReadinessProbe.ProbeHandler = corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{}}
		case "policy":
			p := corev1.ContainerRestartPolicy(value)
			c.RestartPolicy = &p
		default:
			code, ok := strings.CutPrefix(name, "on")
			assert.Assert(t, ok, "pod script: %q", has)
			c.RestartPolicyRules = append(c.RestartPolicyRules, corev1.ContainerRestartRule{
				Action:    corev1.ContainerRestartRuleAction(value),
				ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{number(code)}},
			})
		}
	}
	return c
}

// parseTraceScript returns the trace and the line number, in the trace, of the
// entry that is marked as refused; 0 if none is.
func parseTraceScript(t *testing.T, pod *corev1.Pod, kubelet, s string) (*trace.Trace, int) {
	t.Helper()
	var file bytes.Buffer
	w, err := trace.NewWriter(&file, trace.Header{Kubelet: kubelet})
	assert.NilError(t, err)
	mark, n, now, ahead := 0, 1, epoch, time.Duration(0)
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		if d, ok := strings.CutPrefix(line, "+"); ok {
			wait, err := time.ParseDuration(d)
			assert.NilError(t, err)
			now = now.Add(wait)
			continue
		}
		if d, ok := strings.CutPrefix(line, "node "); ok {
			var err error
			ahead, err = time.ParseDuration(d)
			assert.NilError(t, err)
			continue
		}
		now, n = now.Add(100*time.Millisecond), n+1
		if l, ok := strings.CutSuffix(line, refused); ok {
			line, mark = strings.TrimSpace(l), n
		}
		e := trace.Entry{At: now}
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "did":
			name, arg, _ := strings.Cut(rest, " ")
			var param any
			if arg != "" {
				if strings.HasPrefix(arg, "{") {
					param = json.RawMessage(arg)
				} else if g, err := strconv.ParseInt(arg, 10, 64); err == nil {
					param = trace.DeleteParam{GracePeriodSeconds: &g}
				} else {
					param = arg
				}
			}
			a, err := trace.NewAct(name, param)
			assert.NilError(t, err)
			e.Did = &a
		case "pod":
			e.Type, e.Pod = parseUpdate(t, pod, kubelet, rest)
		case "event":
			f := strings.SplitN(rest, " ", 3)
			list := "spec.containers"
			if slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == f[1] }) {
				list = "spec.initContainers"
			}
			reason, many, _ := strings.Cut(f[0], "*")
			e.Event = &trace.Event{Reason: reason, FieldPath: list + "{" + f[1] + "}", Message: strings.Join(f[2:], ""), LastTimestamp: metav1.Time{Time: now.Truncate(time.Second)}}
			if many != "" {
				count, err := strconv.ParseInt(many, 10, 32)
				assert.NilError(t, err)
				e.Event.Count = int32(count)
			}
		case "gap":
			channel, why, _ := strings.Cut(rest, " ")
			e.Gap = &trace.Gap{Channel: channel, Why: why}
		default:
			l := now.Add(ahead).Format(time.RFC3339Nano) + ": " + line
			e.Log = &l
		}
		assert.NilError(t, w.Write(e), line)
	}
	tr, err := trace.Read(&file)
	assert.NilError(t, err)
	return tr, mark
}

// parseSection is parseTraceScript for a whole section, which may have words of its own: what
// the reason of the verdict is, and that the log alone is judged. What befell stands
// behind the word "fault".
func parseSection(t *testing.T, pod *corev1.Pod, kubelet, s string) (*trace.Trace, int) {
	t.Helper()
	var entries strings.Builder
	logAlone := false
	for line := range strings.Lines(s) {
		line = strings.TrimPrefix(line, "fault ")
		switch word, _, _ := strings.Cut(line, " "); {
		case strings.TrimSpace(line) == "log alone":
			logAlone = true
		case word == "reason", strings.TrimSpace(line) == "cut anywhere":
		default:
			entries.WriteString(line)
		}
	}
	tr, mark := parseTraceScript(t, pod, kubelet, entries.String())
	if logAlone {
		return onlyLog(tr, mark)
	}
	return tr, mark
}

// onlyLog is the log of a trace alone, whose lines have the numbers that they have in the
// log, and where the given line is in it; 0 if that is no line of the log.
func onlyLog(tr *trace.Trace, line int) (*trace.Trace, int) {
	log, at := &trace.Trace{Header: tr.Header, LogOnly: true}, 0
	for _, e := range tr.Entries {
		if e.Log != nil {
			log.Entries = append(log.Entries, trace.Entry{Log: e.Log, Line: len(log.Entries) + 1})
			if e.Line == line {
				at = len(log.Entries)
			}
		}
	}
	return log, at
}

// parseUpdate reads "Running container1=running,ready container2=waiting
// Ready=False": the phase, the shown state of each container with its flags
// (ready, notstarted, run1, code9, id5 for its container ID, at5 for a start or an end at second 5, ended5 for
// the end of the instance before, redefined
// for another image, or the reason of a wait or of an end), and conditions that differ from the ones that fit.
// "deleting" and "gone" set a deletion, "evicted" is why the Pod has failed, and "begun3" is
// its startTime at second 3.
func parseUpdate(t *testing.T, of *corev1.Pod, kubelet, s string) (string, *corev1.Pod) {
	t.Helper()
	kind, pod := trace.Modified, of.DeepCopy()
	f := strings.Fields(s)
	pod.Status.Phase = corev1.PodPhase(f[0])
	set := map[string]corev1.ConditionStatus{"Initialized": "True", "ContainersReady": "True", "PodReadyToStartContainers": "False"}
	over := map[string]corev1.ConditionStatus{}
	for _, w := range f[1:] {
		name, is, _ := strings.Cut(w, "=")
		switch {
		case w == "deleting":
			pod.DeletionTimestamp = &metav1.Time{Time: epoch}
		case w == "evicted":
			pod.Status.Reason = "Evicted"
		case strings.HasPrefix(w, "begun"):
			n, err := strconv.Atoi(w[5:])
			assert.NilError(t, err)
			pod.Status.StartTime = &metav1.Time{Time: epoch.Add(time.Duration(n) * time.Second)}
		case w == "gone":
			kind = trace.Deleted
			pod.DeletionTimestamp = &metav1.Time{Time: epoch}
		case strings.ToUpper(name[:1]) == name[:1]:
			over[name] = corev1.ConditionStatus(is)
		default:
			words := strings.Split(is, ",")
			if k := slices.Index(words, "redefined"); k >= 0 {
				words = slices.Delete(words, k, k+1)
				at := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == name })
				pod.Spec.Containers[at].Image = "other"
			}
			cs := parseContainer(t, name, words)
			init := slices.IndexFunc(of.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == name })
			plain := init >= 0 && of.Spec.InitContainers[init].RestartPolicy == nil
			if plain {
				cs.Ready = cs.Ready || cs.State.Terminated != nil && cs.State.Terminated.ExitCode == 0
			}
			if !cs.Ready && !plain {
				set["ContainersReady"] = "False"
			}
			if init >= 0 && !cs.Ready && (plain || !*cs.Started) {
				set["Initialized"] = "False"
			}
			if cs.State.Running != nil {
				set["PodReadyToStartContainers"] = "True"
			}
			if init >= 0 {
				pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, cs)
			} else {
				pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, cs)
			}
		}
	}
	set["Ready"] = set["ContainersReady"]
	if strings.HasPrefix(kubelet, "v1.28") {
		delete(set, "PodReadyToStartContainers")
	}
	for name, is := range over {
		set[name] = is
	}
	for name, is := range set {
		c := corev1.PodCondition{Type: corev1.PodConditionType(name), Status: is}
		if is == "False" {
			c.Reason = "ContainersNotReady"
		}
		pod.Status.Conditions = append(pod.Status.Conditions, c)
	}
	return kind, pod
}

// creating is why a container waits where nothing else is said.
const creating = "ContainerCreating"

func parseContainer(t *testing.T, name string, words []string) corev1.ContainerStatus {
	t.Helper()
	started := words[0] == "running"
	cs := corev1.ContainerStatus{Name: name, Started: &started}
	code, reason, when := int32(0), creating, metav1.Time{}
	for _, w := range words[1:] {
		switch {
		case w == "ready":
			cs.Ready = true
		case w == "started", w == "notstarted":
			started = w == "started"
		case strings.HasPrefix(w, "run"):
			_, err := fmt.Sscanf(w, "run%d", &cs.RestartCount)
			assert.NilError(t, err)
		case strings.HasPrefix(w, "at"):
			n, err := strconv.Atoi(w[2:])
			assert.NilError(t, err)
			when.Time = epoch.Add(time.Duration(n) * time.Second)
		case strings.HasPrefix(w, "ended"):
			n, err := strconv.Atoi(w[5:])
			assert.NilError(t, err)
			cs.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{FinishedAt: metav1.Time{Time: epoch.Add(time.Duration(n) * time.Second)}}
		case strings.HasPrefix(w, "id"):
			cs.ContainerID = "x://" + w[2:]
		case strings.HasPrefix(w, "code"):
			_, err := fmt.Sscanf(w, "code%d", &code)
			assert.NilError(t, err)
		default:
			reason = w
		}
	}
	switch words[0] {
	case "running":
		cs.State.Running = &corev1.ContainerStateRunning{StartedAt: when}
	case "ran": // from second N on, and ended
		cs.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: code, StartedAt: when}
	case "terminated":
		cs.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: when}
		if reason != creating {
			cs.State.Terminated.Reason = reason
		}
	case "waiting":
		cs.State.Waiting = &corev1.ContainerStateWaiting{Reason: reason}
		if reason == "RestartingAllContainers" {
			cs.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: reason}
		}
		if reason == "CrashLoopBackOff" || reason == "PostStartHookError" {
			if cs.LastTerminationState.Terminated == nil {
				cs.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{}
			}
			cs.LastTerminationState.Terminated.ExitCode = code
		}
	default:
		t.Fatalf("update script: %q", words[0])
	}
	return cs
}
