package reference_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
)

// A log is judged alike from memory and from its file.
func TestCheckLogIsCheck(t *testing.T) {
	for _, experiment := range []string{"S1", "S2"} {
		pod, tr, k := recorded(t, experiment, "v1.37.2")
		lines := logOf(t, tr)
		moved := append(append([]string{lines[len(lines)-1]}, lines[1:]...), lines[0])
		for name, lines := range map[string][]string{
			"whole": lines, "empty": nil, "prefix": lines[:40], "moved": moved,
			"backwards": backwards(lines), "torn": append(lines[:10:10], "Thu Dec 21 10:40"), "foreign": append(lines[:10:10], "2026-01-02T03:04:05Z: other / main"),
		} {
			t.Run(experiment+"/"+name, func(t *testing.T) {
				want := judgeLog(t, k, pod, lines)
				got := reference.CheckLog(k, pod, strings.NewReader(strings.Join(lines, "\n")))
				want.Log, got.Log = "", "" // the file is not read again for a torn line
				assert.DeepEqual(t, got, want)
			})
		}
	}
}

func backwards(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[len(lines)-1-i] = l
	}
	return out
}

// longLog is a log of the article's Pod that goes on for n lines: its own lines
// first, then a second of its life over and over.
type longLog struct {
	head, block string
	n, line     int
	rest        string
}

func newLongLog(head []string, n int) *longLog {
	const stamp = "Thu Dec 21 10:42:51 UTC 2023: "
	lines := []string{"container1 / main\n", "container2 / main\n", "container1 / readiness probe\n", "container1 / liveness probe\n"}
	return &longLog{head: strings.Join(head, "\n") + "\n", n: n - len(head), block: strings.Repeat(stamp+strings.Join(lines, stamp), 64)}
}

func (l *longLog) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekStart {
		return 0, fmt.Errorf("only to the start")
	}
	l.line, l.rest = 0, l.head
	return 0, nil
}

func (l *longLog) Read(p []byte) (int, error) {
	if l.rest == "" {
		left := l.n - l.line
		if left <= 0 {
			return 0, io.EOF
		}
		const lines = 4 * 64
		l.rest = l.block
		if left < lines {
			l.rest = strings.Join(strings.SplitAfter(l.block, "\n")[:left], "")
		}
		l.line += lines
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// The figures of reference/README.md: lines a second on one core, for the article's Pod.
// A log of ten times the lines takes ten times as long; peak-MB is what the heap
// held at most beyond its size before.
func BenchmarkCheckLog(b *testing.B) {
	pod, tr, k := recorded(b, "S1", "v1.37.2")
	head := logOf(b, tr)
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("lines=%d", n), func(b *testing.B) {
			log := newLongLog(head, n)
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			b.ReportAllocs()
			for b.Loop() {
				if v := reference.CheckLog(k, pod, log); v.Outcome != reference.Pass || v.Accepted != n {
					b.Fatal(v.Text())
				}
			}
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
			b.ReportMetric(float64(after.HeapSys-after.HeapReleased)/1e6, "heap-MB")
		})
	}
}

// The same from memory, as a trace.
func BenchmarkCheckTrace(b *testing.B) {
	pod, tr, k := recorded(b, "S1", "v1.37.2")
	b.ReportAllocs()
	for b.Loop() {
		if v := reference.Check(k, pod, tr); v.Outcome != reference.Pass {
			b.Fatal(v.Text())
		}
	}
	b.ReportMetric(float64(len(tr.Entries))*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
}

// largePod has twelve containers, four of them sidecars, all with hooks and
// probes, and a log of n lines that one kubelet could have made of it.
func largePod(n int) (*corev1.Pod, *trace.Trace) {
	pod := &corev1.Pod{}
	exec := corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"x"}}}
	hook := &corev1.LifecycleHandler{Exec: exec.Exec}
	var lines []string
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	write := func(format string, args ...any) {
		at = at.Add(20 * time.Millisecond)
		lines = append(lines, at.Format(time.RFC3339Nano)+": "+fmt.Sprintf(format, args...))
	}
	always := corev1.ContainerRestartPolicyAlways
	const sidecars, all = 4, 12
	for i := range all {
		c := corev1.Container{
			Name: fmt.Sprintf("container%d", i), Lifecycle: &corev1.Lifecycle{PostStart: hook, PreStop: hook},
			StartupProbe: &corev1.Probe{ProbeHandler: exec}, ReadinessProbe: &corev1.Probe{ProbeHandler: exec}, LivenessProbe: &corev1.Probe{ProbeHandler: exec},
		}
		write("%s#0 / main: begin", c.Name)
		write("%s#0 / post start hook: begin", c.Name)
		write("%s#0 / post start hook: end 0", c.Name)
		if i < sidecars {
			c.RestartPolicy = &always
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
			write("%s#0 / startup probe: end 0", c.Name)
		} else {
			pod.Spec.Containers = append(pod.Spec.Containers, c)
		}
	}
	for i := sidecars; i < all; i++ {
		write("container%d#0 / startup probe: end 0", i)
	}
	for i := 0; len(lines) < n-5*all; i++ {
		c := i / 3 % all
		write("container%d#0 / %s", c, []string{"main", "readiness probe: end 0", "liveness probe: end 0"}[i%3])
	}
	for i := range all {
		write("container%d#0 / pre stop hook: begin", i)
	}
	for i := range all {
		write("container%d#0 / pre stop hook: end 0", i)
	}
	for i := all - 1; i >= 0; i-- {
		write("container%d#0 / main: signal TERM", i)
		write("container%d#0 / main: end 0", i)
	}
	tr := &trace.Trace{Header: trace.Header{Kubelet: "v1.37.2"}, LogOnly: true}
	for i := range lines {
		tr.Entries = append(tr.Entries, trace.Entry{Log: &lines[i], Line: i + 1})
	}
	return pod, tr
}

func TestLargePod(t *testing.T) {
	pod, tr := largePod(5000)
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(t, err)
	v := reference.Check(k, pod, tr)
	assert.Equal(t, v.Outcome, reference.Pass, v.Text())
	// The same with a line of the first hook after everything else.
	late := *tr.Entries[1].Log
	tr.Entries = append(tr.Entries, trace.Entry{Log: &late, Line: len(tr.Entries) + 1})
	v = reference.Check(k, pod, tr)
	assert.Equal(t, v.Outcome, reference.Violation, v.Text())
}

// A Pod of 12 containers with hooks and probes, 4 of them sidecars, 5,000 lines.
func BenchmarkLargePod(b *testing.B) {
	pod, tr := largePod(5000)
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if v := reference.Check(k, pod, tr); v.Outcome != reference.Pass {
			b.Fatal(v.Text())
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "ms/pod")
}
