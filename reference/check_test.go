package reference_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
)

// recorded reads a trace that a real kubelet left, and the Pod that it ran.
func recorded(t testing.TB, experiment, kubelet string) (*corev1.Pod, *trace.Trace, reference.Kubelet) {
	t.Helper()
	return stored(t, filepath.Join("testdata", "article", experiment), kubelet+".trace.jsonl")
}

// stored reads a Pod and a trace of it from a folder of testdata.
func stored(t testing.TB, dir, file string) (*corev1.Pod, *trace.Trace, reference.Kubelet) {
	t.Helper()
	manifest, err := os.ReadFile(filepath.Join(dir, "pod.yaml"))
	assert.NilError(t, err)
	pod, err := reference.ParsePod(manifest)
	assert.NilError(t, err)
	f, err := os.Open(filepath.Join(dir, file))
	assert.NilError(t, err)
	defer f.Close()
	tr, err := trace.Read(f)
	assert.NilError(t, err)
	k, err := reference.ParseKubelet(tr.Header.Kubelet)
	assert.NilError(t, err)
	return pod, tr, k
}

// logOf returns the trace of the log alone.
func logOf(t testing.TB, tr *trace.Trace) []string {
	t.Helper()
	var lines []string
	for _, e := range tr.Entries {
		if e.Log != nil {
			lines = append(lines, *e.Log)
		}
	}
	return lines
}

func judgeLog(t testing.TB, k reference.Kubelet, pod *corev1.Pod, lines []string) reference.Verdict {
	t.Helper()
	tr, err := trace.ReadLog(strings.NewReader(strings.Join(lines, "\n")), k.String())
	assert.NilError(t, err)
	return reference.Check(k, pod, tr)
}

var kubelets = []string{
	"v1.28.5", "v1.29.6", "v1.30.14", "v1.31.14", "v1.32.13", "v1.33.13", "v1.34.4", "v1.35.4", "v1.36.3", "v1.37.2", "v1.38.0-beta.0",
}

// The two experiments on eleven real kubelets: the traces, and their logs
// alone, with the manifest and with the Pod that the API server made of it.
func TestRecordedExperimentsPass(t *testing.T) {
	for _, experiment := range []string{"S1", "S2"} {
		for _, kubelet := range kubelets {
			t.Run(experiment+"/"+kubelet, func(t *testing.T) {
				pod, tr, k := recorded(t, experiment, kubelet)
				v := reference.Check(k, pod, tr)
				assert.Equal(t, v.Outcome, reference.Pass, v.Text())
				assert.Equal(t, v.Accepted, len(tr.Entries))

				at := slices.IndexFunc(tr.Entries, func(e trace.Entry) bool { return e.Pod != nil })
				v = reference.Check(k, tr.Entries[at].Pod, tr)
				assert.Equal(t, v.Outcome, reference.Pass, v.Text())

				v = judgeLog(t, k, pod, logOf(t, tr))
				assert.Equal(t, v.Outcome, reference.Pass, v.Text())
			})
		}
	}
}

// A prefix of a Pod's life is judged as such: whatever is cut off behind, what
// is left passes.
func TestEveryPrefixPasses(t *testing.T) {
	pod, tr, k := recorded(t, "S1", "v1.36.3")
	for n := 1; n <= len(tr.Entries); n++ {
		cut := &trace.Trace{Header: tr.Header, Entries: tr.Entries[:n]}
		v := reference.Check(k, pod, cut)
		want := reference.Pass
		if cut.Logs() == 0 {
			want = reference.Inconclusive
		}
		assert.Equal(t, v.Outcome, want, "first %d entries: %s", n, v.Text())
	}
}

// In the reversed experiment the same log is no violation, since container2
// stands first; in the ordered one it is.
func TestReversedLogAgainstOrderedPod(t *testing.T) {
	_, reversed, k := recorded(t, "S2", "v1.37.2")
	pod, _, _ := recorded(t, "S1", "v1.37.2")
	v := judgeLog(t, k, pod, logOf(t, reversed))
	assert.Equal(t, v.Outcome, reference.Violation)
	assert.Equal(t, v.Rule, "hooks/poststart-blocks-next")
}

// Recorded on a real node whose kubelet v1.37.2 was changed to run postStart
// hooks in the background: not one line of it is made up.
func TestRecordedWrongKubelet(t *testing.T) {
	for name, want := range map[string]reference.Verdict{
		"poststart-blocks":          {Rule: "hooks/poststart-blocks-next", Line: 22, Log: "container1#0 / post start hook: tick 3"},
		"poststart-blocks-reversed": {Rule: "status/between-syncs", Line: 28, Log: "container1#0 running ready=false; container2#0 running ready=true"},
	} {
		t.Run(name, func(t *testing.T) {
			pod, tr, k := stored(t, filepath.Join("testdata", "background-hook", name), "trace.jsonl")
			v := reference.Check(k, pod, tr)
			assert.Equal(t, v.Outcome, reference.Violation)
			assert.Equal(t, v.Rule, want.Rule)
			assert.Equal(t, v.Line, want.Line)
			assert.Assert(t, strings.HasSuffix(v.Log, want.Log), v.Log)
		})
	}
}

// passesCutOff asserts that a trace passes, whatever is cut off behind.
func passesCutOff(t *testing.T, k reference.Kubelet, pod *corev1.Pod, tr *trace.Trace) {
	t.Helper()
	for n := range tr.Entries {
		cut := &trace.Trace{Header: tr.Header, Entries: tr.Entries[:n+1]}
		v := reference.Check(k, pod, cut)
		assert.Assert(t, v.Outcome == reference.Pass || cut.Logs() == 0, "first %d entries: %s", n+1, v.Text())
	}
}

// Recorded on a real node: a postStart hook that nobody answers has the kubelet
// stop the first instance of worker before it writes anything, so that the second
// one is worker#0 in the log. Whatever is cut off behind, it passes; what that
// instance writes after it was shown to have ended does not.
func TestRecordedSilentInstance(t *testing.T) {
	pod, tr, k := stored(t, filepath.Join("testdata", "silent-instance", "poststart-http-refused"), "trace.jsonl")
	passesCutOff(t, k, pod, tr)

	over := slices.IndexFunc(tr.Entries, func(e trace.Entry) bool {
		return e.Pod != nil && slices.ContainsFunc(e.Pod.Status.ContainerStatuses, func(cs corev1.ContainerStatus) bool {
			return cs.Name == "worker" && cs.RestartCount == 1 && cs.State.Terminated != nil
		})
	})
	at := tr.Entries[over].At.Add(time.Second)
	for _, mark := range []string{"worker#0 / main: tick 1", "worker#0 / main: begin"} {
		late := at.Format(time.RFC3339Nano) + ": " + mark
		entries := slices.Insert(slices.Clone(tr.Entries[:over+1]), over+1, trace.Entry{At: at, Line: over + 3, Log: &late})
		v := reference.Check(k, pod, &trace.Trace{Header: tr.Header, Entries: entries})
		assert.Equal(t, v.Outcome, reference.Violation, v.Text())
		assert.Equal(t, v.Rule, "start/one-instance-at-a-time")
		assert.Equal(t, v.Line, over+3)
	}
}

// Made by package kubelet: all containers are restarted, several times a second, and an
// instance of each is silent. Which one, no single line shows, and there are
// more places where it may have been than are needed. What an instance writes
// after the next one has begun is refused all the same.
func TestSilentInstanceOfManyRestarts(t *testing.T) {
	pod, tr, k := stored(t, filepath.Join("testdata", "silent-instance", "many-restarts"), "trace.jsonl")
	v := reference.Check(k, pod, tr)
	assert.Equal(t, v.Outcome, reference.Pass, v.Text())

	last := tr.Entries[len(tr.Entries)-1]
	for _, mark := range []string{"sidecar1#1 / readiness probe: end 0", "sidecar1#1 / main: tick 1"} {
		late := last.At.Format(time.RFC3339Nano) + ": " + mark
		entries := append(slices.Clone(tr.Entries), trace.Entry{At: last.At, Line: last.Line + 1, Log: &late})
		v := reference.Check(k, pod, &trace.Trace{Header: tr.Header, Entries: entries})
		assert.Equal(t, v.Outcome, reference.Violation, v.Text())
		assert.Equal(t, v.Rule, "start/one-instance-at-a-time")
		assert.Equal(t, v.Line, last.Line+1)
	}
}

// Made by package kubelet: a container could not be started, and the next instance of
// it is the first that writes; or one that could not be started was removed, with its
// ID, since another container asks for the restart of all.
func TestInstanceNotStarted(t *testing.T) {
	for name, marks := range map[string][]string{
		"not-started":       {"container1#1 / main: begin", "container1#0 / main: tick 1"},
		"removed-unstarted": {"init2#2 / main: tick 1", "init2#1 / main: tick 1"},
	} {
		pod, tr, k := stored(t, filepath.Join("testdata", "silent-instance", name), "trace.jsonl")
		v := reference.Check(k, pod, tr)
		assert.Equal(t, v.Outcome, reference.Pass, "%s: %s", name, v.Text())

		last := tr.Entries[len(tr.Entries)-1]
		entries := slices.Clone(tr.Entries)
		for i, mark := range marks {
			at := last.At.Add(time.Duration(i+1) * time.Minute)
			line := at.Format(time.RFC3339Nano) + ": " + mark
			entries = append(entries, trace.Entry{At: at, Line: last.Line + 1 + i, Log: &line})
		}
		v = reference.Check(k, pod, &trace.Trace{Header: tr.Header, Entries: entries})
		assert.Equal(t, v.Outcome, reference.Violation, "%s: %s", name, v.Text())
		assert.Equal(t, v.Rule, "start/one-instance-at-a-time", name)
		assert.Equal(t, v.Line, last.Line+2, name)
	}
}

// Made by package kubelet: a container was stopped without a line since its hook failed,
// and nothing but Events shows that there were two instances: the second one of such a stop, or
// one of a start behind it. Where it was stopped only later, there was one.
func TestInstanceShownByEvents(t *testing.T) {
	for name, hook := range map[string]string{"hook-failed-twice": "post start hook: end 1", "hook-failed-once": "post start hook: end 0"} {
		pod, tr, k := stored(t, filepath.Join("testdata", "silent-instance", name), "trace.jsonl")
		v := reference.Check(k, pod, tr)
		assert.Equal(t, v.Outcome, reference.Pass, "%s: %s", name, v.Text())

		kills := 0
		entries := slices.DeleteFunc(slices.Clone(tr.Entries), func(e trace.Entry) bool {
			if e.Event != nil && e.Event.Reason == "Killing" {
				kills++
				e.Event.LastTimestamp.Time = e.Event.LastTimestamp.Add(time.Minute)
			}
			return e.Event != nil && e.Event.Reason == "Created" || kills == 2
		})
		v = reference.Check(k, pod, &trace.Trace{Header: tr.Header, Entries: entries})
		assert.Equal(t, v.Outcome, reference.Violation, "%s: %s", name, v.Text())
		assert.Equal(t, v.Rule, "terminate/cause", "%s: %s", name, v.Text())
		assert.Assert(t, strings.HasSuffix(v.Log, hook), "%s: %s", name, v.Text())
	}
}

// Made by package kubelet: a container whose hook had failed is started again by the
// second sync, before the one behind it. That a liveness probe has it stopped later is no part of
// this start, and may come behind that of the other; where its hook fails once more, that is.
func TestKilledBehindTheStartOfTheNext(t *testing.T) {
	pod, tr, k := stored(t, filepath.Join("testdata", "killed-behind-start", "restarted-first"), "trace.jsonl")
	v := reference.Check(k, pod, tr)
	assert.Equal(t, v.Outcome, reference.Pass, v.Text())

	last := len(tr.Entries) - 1
	entries := slices.Delete(slices.Clone(tr.Entries), last-3, last-2) // the update
	first := "2026-01-02T03:00:11.137Z: container2#1 / main: begin"
	entries = slices.Insert(entries, last-1, trace.Entry{At: tr.Entries[last].At, Line: tr.Entries[last-1].Line, Log: &first})
	v = reference.Check(k, pod, &trace.Trace{Header: tr.Header, Entries: entries})
	assert.Equal(t, v.Outcome, reference.Pass, v.Text())

	failed := strings.TrimSuffix(*entries[2].Log, "0") + "1"
	entries[2].Log = &failed
	entries[3].Event.Message = "FailedPostStartHook"
	v = reference.Check(k, pod, &trace.Trace{Header: tr.Header, Entries: entries})
	assert.Equal(t, v.Outcome, reference.Violation, v.Text())
	assert.Equal(t, v.Rule, "start/listed-order", v.Text())
	assert.Assert(t, strings.HasSuffix(v.Log, "container1#1 / pre stop hook: end 0"), v.Text())
}

// Made by package kubelet: each trace passes because of one of its entries, and is refused
// without it.
func TestWithoutItsCause(t *testing.T) {
	for name, c := range map[string]struct {
		cause              func(e trace.Entry) bool
		rule, line, reason string
	}{
		// A container that is never started again, by its policy, has a second instance in
		// a new sandbox and a third one since its image was changed.
		"replaced-in-new-sandbox": {
			func(e trace.Entry) bool { return e.Event != nil && e.Event.Reason == "SandboxChanged" },
			"restart/container-rules", "container3#2 / main: begin", "no state of a correct kubelet admits this here",
		},
		// The instance before had started, but a kubelet that was restarted since does not
		// know that, and its startup probe reaches the new one, whose hook still runs.
		"startup-asks-old-instance": {
			func(e trace.Entry) bool { return e.Did != nil && e.Did.Name == trace.ActRestart },
			"probes/after-sync", "container1#1 / post start hook: end 0",
			"line 7 shows that the post start hook of container1 had ended, and here it goes on",
		},
		// A container was stopped without a line since its hook failed, and the Events of its
		// next start were lost: the line is of that one, and none of the sync whose end a probe shows.
		"start-without-events": {
			func(e trace.Entry) bool { return e.Event != nil && e.Event.Reason == "Killing" },
			"probes/after-sync", "container3#0 / post start hook: tick 1",
			"line 5 shows that the post start hook of container3 had ended, and here it goes on",
		},
		// A container is started again and not probed, since its Pod ends; its TERM comes behind a
		// preStop hook that sleeps.
		"ended-before-it-was-probed": {
			func(e trace.Entry) bool { return e.Pod != nil },
			"terminate/cause", "container1#1 / main: signal TERM",
			"nothing that was seen by then gives the kubelet a reason to stop container container1",
		},
		// A sidecar had been started before it died and was started again. The kubelet was
		// restarted so shortly before that it may have cut off the hook of the second instance:
		// that need not be so, and what is listed behind starts because of the first one.
		"started-by-new-kubelet": {
			func(e trace.Entry) bool {
				return e.Log != nil && strings.HasSuffix(*e.Log, "sidecar2#0 / post start hook: end 0")
			},
			"sidecar/started-before-next", "sidecar2#1 / post start hook: begin", "line 5 forbids it",
		},
		// An init container has logged that it ends well and was killed before it did; in the
		// same second the next instance began, which did end well.
		"killed-at-its-end": {
			func(e trace.Entry) bool { return e.Pod != nil && e.Line == 5 },
			"init/not-again", "init2#1 / main: end 0", "line 6 forbids it",
		},
		// Two more instances are told of than have numbers, of which one was silent: the first
		// line is of the second one, and not of the third.
		"one-of-two-silent": {
			func(e trace.Entry) bool { return e.Pod != nil && e.Line == 5 },
			"hooks/poststart-blocks-next", "container2#0 / post start hook: begin",
			"line 2 shows that the post start hook of container2 had ended, and here it goes on",
		},
		// A sidecar has died without a line before its Pod ends, as a later status shows: the one
		// before it does not wait for the one behind it.
		"died-before-the-end": {
			func(e trace.Entry) bool { return e.Pod != nil },
			"sidecar/reverse-order", "sidecar3#0 / readiness probe: end 0", "line 4 forbids it",
		},
		// A kubelet that was stopped had created a container again and not started it: the
		// end that is shown beside the instance behind that one is of the first one, as before.
		"created-never-started": {
			func(e trace.Entry) bool { return e.Pod != nil && e.Line == 4 },
			"start/restart-after-sync", "container3#0 / post start hook: begin",
			"line 2 shows that the post start hook of container3 had ended, and here it goes on",
		},
		// The restart of the kubelet may have cut off the hook of either instance, and the
		// second one goes on.
		"either-cut-off": {
			func(e trace.Entry) bool {
				return e.Log != nil && strings.HasSuffix(*e.Log, "sidecar1#0 / main: tick 1")
			},
			"sidecar/started-before-next", "sidecar1#1 / post start hook: end 1", "line 4 forbids it",
		},
		// An init container has died with a code for which it asks for the restart of all,
		// which no status shows, since the Pod was deleted by force.
		"end-unseen": {
			func(e trace.Entry) bool { return e.Pod != nil },
			"init/not-again", "init1#1 / main: begin", "line 2 forbids it",
		},
		// An init container has died without a line; a status that comes behind the TERM
		// of the sidecar shows it.
		"init-died-silent": {
			func(e trace.Entry) bool { return e.Pod != nil },
			"terminate/cause", "sidecar1#0 / main: signal TERM",
			"nothing that was seen by then gives the kubelet a reason to stop container sidecar1",
		},
	} {
		pod, tr, k := stored(t, filepath.Join("testdata", "with-cause", name), "trace.jsonl")
		v := reference.Check(k, pod, tr)
		assert.Equal(t, v.Outcome, reference.Pass, "%s: %s", name, v.Text())

		entries := slices.DeleteFunc(slices.Clone(tr.Entries), c.cause)
		assert.Equal(t, len(entries), len(tr.Entries)-1, name)
		v = reference.Check(k, pod, &trace.Trace{Header: tr.Header, Entries: entries})
		assert.Equal(t, v.Outcome, reference.Violation, "%s: %s", name, v.Text())
		assert.Equal(t, v.Rule, c.rule, "%s: %s", name, v.Text())
		assert.Assert(t, strings.HasSuffix(v.Log, c.line), "%s: %s", name, v.Text())
		assert.Equal(t, v.Reason, c.reason, name)
	}
}

// Where a node stood still nothing is refused for being late alone, nor passed instead. What
// is in the wrong order is refused, and what was not late passes.
func TestNodeStoodStill(t *testing.T) {
	const still = "gap clock node n1 stood still\n"
	for name, c := range map[string]struct {
		script  string
		outcome reference.Outcome
		reason  string
	}{
		"late": {
			"container1#0 / main: end 1\n+60s\nproxy#0 / main: signal TERM\n" + still, reference.Inconclusive,
			"line 7: node n1 stood still; else this line would be refused by sidecar/stops-in-turn: everything that sidecar proxy waits for had stopped 1m0.1s before its TERM",
		},
		"late, unnoticed": {
			"container1#0 / main: end 1\n+60s\nproxy#0 / main: signal TERM\n", reference.Violation,
			"everything that sidecar proxy waits for had stopped 1m0.1s before its TERM",
		},
		"in the wrong order": {
			"proxy#0 / main: signal TERM\n+60s\ncontainer1#0 / main: tick 1\n" + still, reference.Violation, "line 5 forbids it",
		},
		"not late": {"container1#0 / main: end 1\nproxy#0 / main: signal TERM\n" + still, reference.Pass, ""},
	} {
		pod := parsePodScript(t, "restartPolicy Never\nsidecar proxy\ncontainer1\n")
		tr, _ := parseTraceScript(t, pod, "v1.37.2", "did apply\nproxy#0 / main: begin\ncontainer1#0 / main: begin\n"+c.script)
		k, err := reference.ParseKubelet("v1.37.2")
		assert.NilError(t, err)
		v := reference.Check(k, pod, tr)
		assert.Equal(t, v.Outcome, c.outcome, "%s: %s", name, v.Text())
		assert.Equal(t, v.Reason, c.reason, name)
	}
}

// Made by package kubelet: two instances of an init container ended in one second, and one
// update shows both ends. That the first one failed is the reason for the second.
func TestLastStateTells(t *testing.T) {
	pod, tr, k := stored(t, filepath.Join("testdata", "last-state"), "trace.jsonl")
	v := reference.Check(k, pod, tr)
	assert.Equal(t, v.Outcome, reference.Pass, v.Text())

	last := &tr.Entries[len(tr.Entries)-1].Pod.Status.InitContainerStatuses[1].LastTerminationState
	last.Terminated.ExitCode = 0
	v = reference.Check(k, pod, tr)
	assert.Equal(t, v.Outcome, reference.Violation, v.Text())
	assert.Equal(t, v.Rule, "start/one-instance-at-a-time", v.Text())
	assert.Assert(t, strings.HasSuffix(v.Log, "sidecar1#1 / liveness probe: end 0"), v.Text())
}

// The first line of each container may be of either instance, so that each container
// doubles the ways to number the lines. A line that none of them admits is
// refused only where all were tried.
func TestMoreWaysToNumberThanAreTried(t *testing.T) {
	const start = "2026-01-02T03:00:00"
	for doubts, want := range map[int]reference.Outcome{6: reference.Violation, 7: reference.Inconclusive} {
		var file strings.Builder
		var pod corev1.Pod
		var statuses []string
		file.WriteString(`{"trace":1,"kubernetes":"v1.28.5","kubelet":"v1.28.5"}` + "\n" + `{"at":"` + start + `Z","did":{"apply":{}}}` + "\n")
		for c := range doubts + 1 {
			name, restarts, lastState := fmt.Sprintf("container%d", c), 0, ""
			if c < doubts {
				restarts, lastState = 1, fmt.Sprintf(`,"lastState":{"terminated":{"exitCode":1,"startedAt":"%sZ","finishedAt":"%sZ"}}`, start, start)
			}
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name})
			fmt.Fprintf(&file, `{"at":"%s.5Z","log":"%s.5Z: %s#0 / main: begin"}`+"\n", start, start, name)
			statuses = append(statuses, fmt.Sprintf(`{"name":"%s","restartCount":%d,"started":true,"ready":true,"state":{"running":{"startedAt":"%sZ"}}%s}`,
				name, restarts, start, lastState))
		}
		fmt.Fprintf(&file, `{"at":"%s.6Z","type":"MODIFIED","pod":{"status":{"phase":"Running","containerStatuses":[%s]}}}`+"\n", start, strings.Join(statuses, ","))
		for _, mark := range []string{"end 0", "tick 1"} {
			fmt.Fprintf(&file, `{"at":"%s.7Z","log":"%s.7Z: container%d#0 / main: %s"}`+"\n", start, start, doubts, mark)
		}
		tr, err := trace.Read(strings.NewReader(file.String()))
		assert.NilError(t, err)
		k, err := reference.ParseKubelet("v1.28.5")
		assert.NilError(t, err)
		v := reference.Check(k, &pod, tr)
		assert.Equal(t, v.Outcome, want, v.Text())
		assert.Equal(t, v.Line, tr.Entries[len(tr.Entries)-1].Line, v.Text())
		if want == reference.Inconclusive {
			assert.Assert(t, strings.Contains(v.Reason, "more ways to read"), v.Text())
		}
	}
}

// Recorded on a real node that was short of time: the second failure of a liveness
// probe, whose failureThreshold is 2, left no line, since its process had written
// nothing when its time was over. Its Event came later than the container was
// stopped. Without that one the container was stopped too soon.
func TestRecordedSilentProbe(t *testing.T) {
	pod, tr, k := stored(t, filepath.Join("testdata", "silent-probe", "exec-timeout"), "trace.jsonl")
	passesCutOff(t, k, pod, tr)

	term := slices.IndexFunc(tr.Entries, func(e trace.Entry) bool {
		return e.Log != nil && strings.HasSuffix(*e.Log, "stuck#0 / main: signal TERM")
	})
	entries := slices.DeleteFunc(slices.Clone(tr.Entries), func(e trace.Entry) bool {
		return e.Event != nil && e.Event.Count == 2 && strings.HasPrefix(e.Event.Message, "Liveness probe failed")
	})
	assert.Equal(t, len(entries), len(tr.Entries)-1)
	v := reference.Check(k, pod, &trace.Trace{Header: tr.Header, Entries: entries})
	assert.Equal(t, v.Outcome, reference.Violation, v.Text())
	assert.Equal(t, v.Rule, "terminate/cause")
	assert.Equal(t, v.Line, tr.Entries[term].Line)
}

// A log has no Events. A container that is started again was stopped since its
// liveness probe failed, which may have left no line if there was time for it.
func TestSilentProbeInALog(t *testing.T) {
	pod, err := reference.ParsePod([]byte(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probed"}, "spec": {"containers": [
		{"name": "a", "image": "a", "livenessProbe": {"exec": {"command": ["a"]}, "periodSeconds": 2, "failureThreshold": 2}}]}}`))
	assert.NilError(t, err)
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(t, err)
	for silence, want := range map[time.Duration]reference.Outcome{
		// Two seconds until it is run once more, and one until its time is over.
		3 * time.Second:         reference.Pass,
		2500 * time.Millisecond: reference.Violation,
	} {
		log, at := "", epoch
		for _, l := range []struct {
			after time.Duration
			line  string
		}{{0, "a#0 / main: begin"}, {time.Second, "a#0 / liveness probe: end 0"}, {silence, "a#0 / main: signal TERM"}, {0, "a#0 / main: end 0"}, {time.Second, "a#1 / main: begin"}} {
			at = at.Add(l.after)
			log += at.Format(time.RFC3339Nano) + ": " + l.line + "\n"
		}
		v := reference.CheckLog(k, pod, strings.NewReader(log))
		assert.Equal(t, v.Outcome, want, "%s: %s", silence, v.Text())
	}
}

// Recorded on a real node: the kubelet removes the containers of a Pod that is
// through, and the status between shows the first instance of main, which is still there,
// as the one that has ended, and the second one, which is not, as the one before it.
// Whatever is cut off behind, it passes; a third instance does not.
func TestRecordedRemovedFirst(t *testing.T) {
	pod, tr, k := stored(t, filepath.Join("testdata", "removed-first", "image-changed"), "trace.jsonl")
	passesCutOff(t, k, pod, tr)

	end := slices.IndexFunc(tr.Entries, func(e trace.Entry) bool { return e.Log != nil && strings.HasSuffix(*e.Log, "main#1 / main: end 0") })
	assert.Assert(t, end > 0)
	third := tr.Entries[end].At.Format(time.RFC3339Nano) + ": main#2 / main: begin"
	entries := slices.Insert(slices.Clone(tr.Entries), end+1, trace.Entry{At: tr.Entries[end].At, Line: tr.Entries[end].Line, Log: &third})
	v := reference.Check(k, pod, &trace.Trace{Header: tr.Header, Entries: entries})
	assert.Equal(t, v.Outcome, reference.Violation, v.Text())
}

// Recorded on a real node: a Pod that is given an activeDeadlineSeconds which is over
// has its containers stopped, and is shown as not ready before they are. Whatever is
// cut off behind, it passes; without the deadline as the reason it does not.
func TestRecordedDeadline(t *testing.T) {
	pod, tr, k := stored(t, filepath.Join("testdata", "deadline", "readiness-gate"), "trace.jsonl")
	passesCutOff(t, k, pod, tr)

	entries := slices.Clone(tr.Entries)
	changed := 0
	for n := range entries {
		if entries[n].Pod == nil {
			continue
		}
		entries[n].Pod = entries[n].Pod.DeepCopy()
		for i := range entries[n].Pod.Status.Conditions {
			if c := &entries[n].Pod.Status.Conditions[i]; c.Type == corev1.ContainersReady && c.Reason == "PodFailed" {
				c.Reason = "ContainersNotReady"
				changed++
			}
		}
	}
	assert.Assert(t, changed > 0)
	v := reference.Check(k, pod, &trace.Trace{Header: tr.Header, Entries: entries})
	assert.Equal(t, v.Outcome, reference.Violation, v.Text())
	assert.Equal(t, v.Rule, "status/conditions")
}

func TestContainer2BeforeTheHooksLastLine(t *testing.T) {
	pod, tr, k := recorded(t, "S1", "v1.28.5")
	lines := logOf(t, tr)
	moved := slices.IndexFunc(lines, func(l string) bool { return strings.HasSuffix(l, "container2 / main") })
	last := moved - 1
	for !strings.HasSuffix(lines[last], "post start hook") {
		last--
	}
	// The first line of container2 goes right before the last of the hook.
	line := lines[moved]
	lines = slices.Insert(slices.Delete(lines, moved, moved+1), last, line)

	v := judgeLog(t, k, pod, lines)
	assert.Equal(t, v.Outcome, reference.Violation)
	assert.Equal(t, v.Rule, "hooks/poststart-blocks-next")
	assert.Equal(t, v.Line, last+2)
	assert.Equal(t, v.Log, lines[last+1])
	assert.Equal(t, v.Accepted, last+1)
	assert.DeepEqual(t, v.Because, []reference.Because{{Line: last + 1, Log: lines[last], Rule: "hooks/poststart-blocks-next"}})
	assert.Assert(t, slices.Contains(v.Allowed, "container2 / main: tick"))
	assert.Assert(t, !slices.Contains(v.Allowed, "container1 / post start hook: tick"))
}

func TestProbeDuringTheHook(t *testing.T) {
	pod, tr, k := recorded(t, "S1", "v1.37.2")
	lines := logOf(t, tr)
	probe := slices.IndexFunc(lines, func(l string) bool { return strings.HasSuffix(l, "readiness probe") })
	line := lines[probe]
	lines = slices.Insert(slices.Delete(lines, probe, probe+1), 10, line)
	next := 11
	for !strings.HasSuffix(lines[next], "post start hook") {
		next++
	}
	v := judgeLog(t, k, pod, lines)
	assert.Equal(t, v.Outcome, reference.Violation)
	assert.Equal(t, v.Rule, "probes/after-sync")
	assert.Equal(t, v.Line, next+1)
	assert.Equal(t, v.Because[0].Line, 11)
}

func TestReadyDuringTheHook(t *testing.T) {
	pod, tr, k := recorded(t, "S1", "v1.33.13")
	// The first update that shows container2 ready is delivered ten seconds
	// into the hook.
	at := slices.IndexFunc(tr.Entries, func(e trace.Entry) bool {
		return e.Pod != nil && slices.ContainsFunc(e.Pod.Status.ContainerStatuses, func(cs corev1.ContainerStatus) bool { return cs.Name == "container2" && cs.Ready })
	})
	to := slices.IndexFunc(tr.Entries, func(e trace.Entry) bool {
		return e.Log != nil && e.At.After(tr.Entries[0].At.Add(15*time.Second))
	})
	update := tr.Entries[at]
	update.At = tr.Entries[to].At
	entries := slices.Insert(slices.Delete(slices.Clone(tr.Entries), at, at+1), to, update)
	for i := range entries {
		entries[i].Line = i + 2
	}
	v := reference.Check(k, pod, &trace.Trace{Header: tr.Header, Entries: entries})
	assert.Equal(t, v.Outcome, reference.Violation)
	assert.Equal(t, v.Rule, "status/between-syncs")
	assert.Equal(t, v.Because[0].Line, to+2)
	assert.Assert(t, strings.Contains(v.Because[0].Log, "container2#0 running ready=true"), v.Because[0].Log)
	assert.Assert(t, strings.HasSuffix(v.Log, "container1 / post start hook"), v.Log)
	// The first line of the hook that was surely written after the update: the
	// stamps of date(1) leave one second open.
	assert.Assert(t, v.Line > to+2 && v.Line < to+8, "line %d after update %d", v.Line, to+2)
}

func TestNoUsableTrace(t *testing.T) {
	pod, tr, k := recorded(t, "S1", "v1.37.2")
	whole := logOf(t, tr)
	torn := slices.Clone(whole)
	torn[20] = torn[20][:len(torn[20])-3]
	foreign := slices.Clone(whole)
	foreign[5] = strings.Replace(foreign[5], "container1", "container9", 1)
	undeclared := slices.Insert(slices.Clone(whole), 7, strings.Replace(whole[0], "/ main", "/ startup probe", 1))
	early := *tr
	early.Header.Kubelet = "v1.29.6"
	for name, c := range map[string]struct {
		lines   []string
		outcome reference.Outcome
		line    int
		reason  string
	}{
		"torn line":        {torn, reference.Broken, 21, "is not an actor"},
		"foreign line":     {foreign, reference.Broken, 6, `no container "container9"`},
		"undeclared actor": {undeclared, reference.Broken, 8, "declares no startup probe"},
		"empty log":        {nil, reference.Inconclusive, 0, "nothing was recorded"},
		"empty line":       {[]string{whole[0], "", whole[1]}, reference.Broken, 2, "no time stamp"},
	} {
		t.Run(name, func(t *testing.T) {
			v := judgeLog(t, k, pod, c.lines)
			assert.Equal(t, v.Outcome, c.outcome, v.Text())
			assert.Equal(t, v.Line, c.line)
			assert.ErrorContains(t, reasonError(v.Reason), c.reason)
			assert.Assert(t, !v.Outcome.Green())
		})
	}
}

type reasonError string

func (e reasonError) Error() string { return string(e) }

func TestNoLogLineIsInconclusive(t *testing.T) {
	pod := parsePodScript(t, "container1\n")
	tr, _ := parseTraceScript(t, pod, "v1.37.2", "did apply\npod Running container1=running,ready\n")
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(t, err)
	v := reference.Check(k, pod, tr)
	assert.Equal(t, v.Outcome, reference.Inconclusive)
	assert.Equal(t, v.Reason, "the log is empty")
	assert.Equal(t, reference.Check(k, pod, nil).Outcome, reference.Inconclusive)
}

func TestGap(t *testing.T) {
	pod := parsePodScript(t, "container1 readiness postStart\n")
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(t, err)
	tr, _ := parseTraceScript(t, pod, "v1.37.2", "did apply\ncontainer1#0 / main: begin\ngap log stream broke\n")
	v := reference.Check(k, pod, tr)
	assert.Equal(t, v.Outcome, reference.Inconclusive)
	assert.ErrorContains(t, reasonError(v.Reason), "stream broke")

	// What a missing line would explain is not held against the kubelet ...
	tr, _ = parseTraceScript(t, pod, "v1.37.2", "did apply\ncontainer1#0 / readiness probe: end 1\ngap log stream broke\npod Running container1=running,ready\n")
	assert.Equal(t, reference.Check(k, pod, tr).Outcome, reference.Inconclusive)
	// ... and what none can explain still is.
	tr, _ = parseTraceScript(t, pod, "v1.37.2", "did apply\ngap log stream broke\ncontainer1#0 / readiness probe: end 1\ncontainer1#0 / post start hook: end 0\n")
	assert.Equal(t, reference.Check(k, pod, tr).Outcome, reference.Violation)
}

func TestKnownIssue(t *testing.T) {
	pod := parsePodScript(t, "container1 startup readiness\n")
	for kubelet, want := range map[string]reference.Outcome{
		"v1.34.4": reference.Violation, "v1.35.4": reference.Known, "v1.37.2": reference.Known, "v1.38.0-beta.0": reference.Violation,
	} {
		k, err := reference.ParseKubelet(kubelet)
		assert.NilError(t, err)
		tr, _ := parseTraceScript(t, pod, kubelet, "container1#0 / readiness probe: end 0\ncontainer1#0 / startup probe: end 0\n")
		v := reference.Check(k, pod, tr)
		assert.Equal(t, v.Outcome, want, kubelet)
		assert.Equal(t, v.Issue != "", want == reference.Known)
		assert.Equal(t, v.Rule, "probes/startup-gates")
	}

	// Recorded on v1.32.13: a restarted sidecar is ready before its startup probe.
	never := parsePodScript(t, "restartPolicy Never\nsidecar proxy startup\nmain\n")
	for kubelet, want := range map[string]reference.Outcome{"v1.32.13": reference.Known, "v1.33.13": reference.Violation} {
		k, err := reference.ParseKubelet(kubelet)
		assert.NilError(t, err)
		tr, _ := parseTraceScript(t, never, kubelet, "did apply\nproxy#0 / startup probe: end 1\nproxy#0 / main: end 1\nproxy#1 / main: begin\n"+
			"pod Pending proxy=running,notstarted,ready,run1 main=waiting\n")
		v := reference.Check(k, never, tr)
		assert.Equal(t, v.Outcome, want, "%s: %s", kubelet, v.Text())
		assert.Equal(t, v.Issue != "", want == reference.Known)
	}
}

// Lines without numbers are of the only instance that can have written them:
// once a restart is shown, a hook that had ended is that of the next instance.
func TestUnnumberedRestart(t *testing.T) {
	pod := parsePodScript(t, "container1 postStart liveness\ncontainer2\n")
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(t, err)
	const log = "did apply\ncontainer1 / main\ncontainer1 / post start hook\ncontainer2 / main\ncontainer1 / main\ncontainer1 / post start hook\ncontainer1 / main\n"
	tr, _ := parseTraceScript(t, pod, "v1.37.2", log+"pod Running container1=running,ready,run1 container2=running,ready\n")
	v := reference.Check(k, pod, tr)
	assert.Equal(t, v.Outcome, reference.Pass, v.Text())
	// No restart is assumed that nothing shows.
	tr, _ = parseTraceScript(t, pod, "v1.37.2", log+"pod Running container1=running,ready container2=running,ready\n")
	v = reference.Check(k, pod, tr)
	assert.Equal(t, v.Outcome, reference.Violation)
	assert.Equal(t, v.Rule, "hooks/poststart-blocks-next")
}

// A listed issue that always shows and did not makes a pass fixed, which is not
// green; one that shows by chance does not.
func TestDue(t *testing.T) {
	pass := reference.Verdict{Outcome: reference.Pass}
	for _, tt := range []struct {
		kubelet, rule string
		want          reference.Outcome
	}{
		{"v1.36.3", "probes/readiness-until-stopped", reference.Fixed},
		{"v1.37.2", "probes/readiness-until-stopped", reference.Pass},
		{"v1.36.3", "probes/startup-gates", reference.Pass},
		{"v1.29.6", "sidecar/stops-in-turn", reference.Fixed},
		{"v1.30.14", "sidecar/stops-in-turn", reference.Pass},
	} {
		k, err := reference.ParseKubelet(tt.kubelet)
		assert.NilError(t, err)
		v := pass.Due(k, []string{"status/phase", tt.rule})
		assert.Equal(t, v.Outcome, tt.want, "%s %s", tt.kubelet, tt.rule)
		assert.Equal(t, v.Issue != "", tt.want == reference.Fixed)
	}
	k, err := reference.ParseKubelet("v1.36.3")
	assert.NilError(t, err)
	bad := reference.Verdict{Outcome: reference.Inconclusive}
	assert.Equal(t, bad.Due(k, []string{"probes/readiness-until-stopped"}).Outcome, reference.Inconclusive)
}

func TestUnmodelled(t *testing.T) {
	pod := parsePodScript(t, "container1\n")
	shared, signal := true, corev1.SIGUSR1
	pod.Spec.ShareProcessNamespace, pod.Spec.HostPID = &shared, true
	pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{StopSignal: &signal}
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(t, err)
	tr, _ := parseTraceScript(t, pod, "v1.37.2", "container1#0 / main: begin\n")
	v := reference.Check(k, pod, tr)
	assert.Equal(t, v.Outcome, reference.Unmodelled)
	assert.DeepEqual(t, v.Unmodelled, []string{"spec.hostPID", "spec.shareProcessNamespace", "spec.containers[0].lifecycle.stopSignal (feature gate ContainerStopSignals is off)"})
	_, err = reference.Explain(k, pod)
	assert.ErrorContains(t, err, "spec.hostPID")

	pod = parsePodScript(t, "container1\n")
	tr, _ = parseTraceScript(t, pod, "v1.37.2", "did restart\ncontainer1#0 / main: begin\n")
	v = reference.Check(k, pod, tr)
	assert.Equal(t, v.Outcome, reference.Unmodelled)
	assert.DeepEqual(t, v.Unmodelled, []string{"did.restart"})
}

func TestUnknownKubeletCannotPass(t *testing.T) {
	pod := parsePodScript(t, "container1 postStart\ncontainer2\n")
	for _, kubelet := range []string{"v1.27.16", "v1.38.0", "v1.41.3"} {
		k, err := reference.ParseKubelet(kubelet)
		assert.NilError(t, err)
		tr, _ := parseTraceScript(t, pod, kubelet, "container1#0 / main: begin\n")
		v := reference.Check(k, pod, tr)
		assert.Equal(t, v.Outcome, reference.Inconclusive)
		assert.ErrorContains(t, reasonError(v.Reason), kubelet)
		tr, _ = parseTraceScript(t, pod, kubelet, "container2#0 / main: begin\ncontainer1#0 / post start hook: end 0\n")
		assert.Equal(t, reference.Check(k, pod, tr).Outcome, reference.Violation)
	}
}

func TestWitnessed(t *testing.T) {
	pod := parsePodScript(t, "container1 postStart\n")
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(t, err)
	tr, _ := parseTraceScript(t, pod, "v1.37.2", "container1#0 / main: begin\ncontainer1#0 / post start hook: end 0\n")
	hook, err := trace.ParsePattern("container1 / post start hook: end 0")
	assert.NilError(t, err)
	term, err := trace.ParsePattern("container1 / main: signal TERM")
	assert.NilError(t, err)
	v := reference.Check(k, pod, tr)
	assert.Equal(t, v.Witnessed(tr, []trace.Pattern{hook}).Outcome, reference.Pass)
	v = v.Witnessed(tr, []trace.Pattern{hook, term})
	assert.Equal(t, v.Outcome, reference.Inconclusive)
	assert.ErrorContains(t, reasonError(v.Reason), `no line "container1 / main: signal TERM"`)
	bad := reference.Verdict{Outcome: reference.Violation}
	assert.Equal(t, bad.Witnessed(tr, []trace.Pattern{term}).Outcome, reference.Violation)
}

func TestOutcomes(t *testing.T) {
	var none reference.Outcome
	assert.Assert(t, !none.Green())
	assert.Equal(t, none.String(), "no verdict")
	for o := reference.Pass; o <= reference.Fixed; o++ {
		assert.Equal(t, o.Green(), o == reference.Pass)
		assert.Assert(t, o.String() != "no verdict")
	}
}

func TestVerdictJSON(t *testing.T) {
	b, err := json.Marshal(reference.Verdict{Outcome: reference.Broken, Line: 3, Log: "x"})
	assert.NilError(t, err)
	assert.Equal(t, string(b), `{"verdict":"broken","rule":"","issue":"","line":3,"log":"x","accepted":0,"allowed":[],"because":[],"unmodelled":[],"reason":""}`)
}

// A log that lags behind the watch on a busy machine does not make a violation:
// the line of the probe was written before the update that it caused.
func TestLateLogLine(t *testing.T) {
	pod := parsePodScript(t, "container1 readiness\n")
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(t, err)
	tr, _ := parseTraceScript(t, pod, "v1.37.2", "did apply\ncontainer1#0 / readiness probe: end 0\npod Running container1=running,ready\n")
	probe, update := &tr.Entries[1], &tr.Entries[2]
	probe.At = update.At.Add(600 * time.Millisecond)
	tr.Entries[1], tr.Entries[2] = tr.Entries[2], tr.Entries[1]
	v := reference.Check(k, pod, tr)
	assert.Equal(t, v.Outcome, reference.Pass, v.Text())
}
