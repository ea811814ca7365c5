package reference_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
)

// fuzzPods are the Pods that a fuzzed trace may be of.
func fuzzPods(f *testing.F) []*corev1.Pod {
	manifest, err := os.ReadFile(filepath.Join("testdata", "background-hook", "poststart-blocks", "pod.yaml"))
	assert.NilError(f, err)
	pod, err := reference.ParsePod(manifest)
	assert.NilError(f, err)
	exec := &corev1.ExecAction{Command: []string{"x"}}
	hook := &corev1.LifecycleHandler{Exec: exec}
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: exec}}
	always := corev1.ContainerRestartPolicyAlways
	full := &corev1.Pod{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyOnFailure,
		InitContainers: []corev1.Container{
			{Name: "init"},
			{Name: "proxy", RestartPolicy: &always, StartupProbe: probe, Lifecycle: &corev1.Lifecycle{PostStart: hook, PreStop: hook}},
		},
		Containers: []corev1.Container{
			{Name: "container1", Lifecycle: &corev1.Lifecycle{PostStart: hook, PreStop: hook}, LivenessProbe: probe, ReadinessProbe: probe},
			{Name: "container2", RestartPolicyRules: []corev1.ContainerRestartRule{{
				Action:    corev1.ContainerRestartRuleActionRestartAllContainers,
				ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}},
			}}},
		},
		EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "shell"}}},
	}}
	return []*corev1.Pod{pod, full}
}

// Short seeds: what a recorder writes is too long to be changed often.
const fuzzHead = `{"trace":1,"kubelet":"v1.37.2"}` + "\n"

var fuzzTraces = []string{
	`{"at":"2026-01-02T03:04:05Z","did":{"apply":{}}}
{"at":"2026-01-02T03:04:06Z","log":"2026-01-02T03:04:06Z: container1#0 / post start hook: begin"}
{"at":"2026-01-02T03:04:07Z","event":{"reason":"Started","fieldPath":"spec.containers{container2}"}}
{"at":"2026-01-02T03:04:08Z","log":"2026-01-02T03:04:08Z: container1#0 / post start hook: end 0"}
`,
	`{"at":"2026-01-02T03:04:05Z","type":"MODIFIED","pod":{"status":{"phase":"Running","containerStatuses":[{"name":"container1","ready":true,"started":true,"state":{"running":{}}}]}}}
{"at":"2026-01-02T03:04:06Z","did":{"delete":{"gracePeriodSeconds":1}}}
{"at":"2026-01-02T03:04:07Z","log":"2026-01-02T03:04:07Z: container2 / main: signal TERM"}
`,
	`{"at":"2026-01-02T03:04:05Z","log":"2026-01-02T03:04:05Z: init#0 / main: begin"}
{"at":"2026-01-02T03:04:06Z","log":"2026-01-02T03:04:06Z: init#0 / main: end 0"}
{"at":"2026-01-02T03:04:07Z","log":"2026-01-02T03:04:07Z: proxy#0 / post start hook: end 1"}
{"at":"2026-01-02T03:04:08Z","did":{"stop":"sandbox"}}
{"at":"2026-01-02T03:04:09Z","did":{"restart":"kubelet"}}
{"at":"2026-01-02T03:04:09Z","log":"2026-01-02T03:04:09Z: container2#1 / main: end 42"}
`,
}

// FuzzCheck judges whatever can be read as a trace. There is always a verdict,
// and what it points at exists.
func FuzzCheck(f *testing.F) {
	pods := fuzzPods(f)
	for i, text := range fuzzTraces {
		f.Add(byte(i), []byte(fuzzHead+text))
	}
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(f, err)
	f.Fuzz(func(t *testing.T, which byte, b []byte) {
		tr, err := trace.Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		v := reference.Check(k, pods[int(which)%len(pods)], tr)
		pointsAtLines(t, v, 2, len(tr.Entries)+1)
	})
}

// FuzzCheckLog judges whatever may be a log, and judges it as the same log in
// memory.
func FuzzCheckLog(f *testing.F) {
	pods := fuzzPods(f)
	f.Add(byte(1), "2026-01-02T03:04:05Z: init#0 / main: begin\n2026-01-02T03:04:06Z: init#0 / main: end 0\n2026-01-02T03:04:06Z: proxy#0 / startup probe: end 0\n2026-01-02T03:04:07Z: container1#0 / liveness probe: end 1\n")
	f.Add(byte(0), "Thu Dec 21 10:40:51 UTC 2023: container1 / main\nThu Dec 21 10:40:51 UTC 2023: container2 / main\nThu Dec 21 10:40:51 UTC 2023: container1 / post start hook\n")
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(f, err)
	f.Fuzz(func(t *testing.T, which byte, log string) {
		pod := pods[int(which)%len(pods)]
		v := reference.CheckLog(k, pod, strings.NewReader(log))
		tr, err := trace.ReadLog(strings.NewReader(log), "v1.37.2")
		if err != nil {
			return
		}
		pointsAtLines(t, v, 1, len(tr.Entries))
		if w := reference.Check(k, pod, tr); w.Outcome != v.Outcome && !strings.Contains(v.Reason, "larger than any") {
			t.Fatalf("from its file: %s\nfrom memory: %s", v.Text(), w.Text())
		}
	})
}

func pointsAtLines(t *testing.T, v reference.Verdict, first, last int) {
	t.Helper()
	if v.Outcome.String() == "no verdict" {
		t.Fatal("no verdict")
	}
	if v.Line < 0 || v.Line > last || v.Accepted > last {
		t.Fatalf("line %d and %d accepted, of %d lines", v.Line, v.Accepted, last)
	}
	for _, w := range v.Because {
		if w.Line < first || w.Line > last {
			t.Fatalf("an explanation names line %d of %d", w.Line, last)
		}
	}
	_ = v.Text()
}
