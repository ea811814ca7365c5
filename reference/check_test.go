package reference_test

import (
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
	pod := storedPod(t, dir)
	f, err := os.Open(filepath.Join(dir, file))
	assert.NilError(t, err)
	defer f.Close()
	tr, err := trace.Read(f)
	assert.NilError(t, err)
	k, err := reference.ParseKubelet(tr.Header.Kubelet)
	assert.NilError(t, err)
	return pod, tr, k
}

func storedPod(t testing.TB, dir string) *corev1.Pod {
	t.Helper()
	manifest, err := os.ReadFile(filepath.Join(dir, "pod.yaml"))
	assert.NilError(t, err)
	pod, err := reference.ParsePod(manifest)
	assert.NilError(t, err)
	return pod
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
			assert.Assert(t, strings.Contains(v.Reason, c.reason), v.Text())
			assert.Assert(t, !v.Outcome.Green())
		})
	}
}

func TestNoTrace(t *testing.T) {
	_, _, k := recorded(t, "S1", "v1.37.2")
	assert.Equal(t, reference.Check(k, twoContainers(), nil).Outcome, reference.Inconclusive)
}

func TestUnmodelled(t *testing.T) {
	pod := parsePodScript(t, "container1\n")
	signal := corev1.SIGUSR1
	pod.Spec.EvictionResponders = []corev1.EvictionResponder{{Name: "acme.io/foo"}}
	pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{StopSignal: &signal}
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(t, err)
	tr, _ := parseTraceScript(t, pod, "v1.37.2", "container1#0 / main: begin\n")
	v := reference.Check(k, pod, tr)
	assert.Equal(t, v.Outcome, reference.Unmodelled)
	assert.DeepEqual(t, v.Unmodelled, []string{"spec.evictionResponders", "spec.containers[0].lifecycle.stopSignal (feature gate ContainerStopSignals is off)"})
	_, err = reference.Explain(k, pod)
	assert.ErrorContains(t, err, "spec.evictionResponders")

	pod = parsePodScript(t, "container1\n")
	tr, _ = parseTraceScript(t, pod, "v1.37.2", "did restart\ncontainer1#0 / main: begin\n")
	v = reference.Check(k, pod, tr)
	assert.Equal(t, v.Outcome, reference.Unmodelled)
	assert.DeepEqual(t, v.Unmodelled, []string{"did.restart"})
}

func twoContainers() *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}, {Name: "b"}}}}
}
