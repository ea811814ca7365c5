package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
	"github.com/podorder/podorder/report/judged/judgedtest"
)

// startup is the case of the original experiment: container1 with a postStart
// hook and two probes, then container2.
const startup = "article/startup-sequence"

// call runs the command and returns what it printed.
func call(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = Run(args, strings.NewReader(stdin), &out, &errs)
	return status, out.String(), errs.String()
}

// write puts a file into a temporary folder and returns its path.
func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	assert.NilError(t, os.WriteFile(path, []byte(content), 0o644))
	return path
}

// log returns lines of the original form, one second apart.
func log(lines ...string) string {
	at := time.Date(2023, 12, 21, 10, 40, 51, 0, time.UTC)
	var b strings.Builder
	for i, l := range lines {
		fmt.Fprintf(&b, "%s: %s\n", at.Add(time.Duration(i)*time.Second).Format(time.UnixDate), l)
	}
	return b.String()
}

var ordered = []string{
	"container1 / main",
	"container1 / post start hook",
	"container1 / main",
	"container1 / post start hook",
	"container2 / main",
	"container1 / readiness probe",
	"container1 / liveness probe",
	"container1 / main",
	"container2 / main",
}

func swapped(i, j int) []string {
	l := append([]string(nil), ordered...)
	l[i], l[j] = l[j], l[i]
	return l
}

func TestLog(t *testing.T) {
	pod := write(t, "pod.yaml", string(judgedtest.CaseByID(t, startup).Manifest))
	torn := log(ordered[:4]...) + "Thu Dec 21 10:40:55 UT"
	tests := []struct {
		name, log string
		status    int
		verdict   string
		rule      string
		line      int
	}{
		{"as it should be", log(ordered...), exitPass, "pass", "", 0},
		{"a beginning", log(ordered[:3]...), exitPass, "pass", "", 0},
		{"container2 before the hook's last line", log(swapped(3, 4)...), exitViolation, "violation", "hooks/poststart-blocks-next", 5},
		{"a probe during the hook", log(swapped(3, 5)...), exitViolation, "violation", "probes/after-sync", 6},
		{"a torn line", torn, exitUsage, "broken", "", 5},
		{"a foreign line", log(ordered[:2]...) + "hello\n", exitUsage, "broken", "", 3},
		{"nothing", "", exitInconclusive, "inconclusive", "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, "message", tt.log)
			status, out, errs := call(t, "", "-kubernetes", "v1.37.2", "-pod", pod, "-log", path, "-json")
			assert.Equal(t, status, tt.status, out+errs)
			var v struct {
				Verdict, Rule, Issue, Log *string
				Line, Accepted            *int
				Allowed, Unmodelled       []string
				Because                   []struct {
					Line      int
					Log, Rule string
				}
			}
			assert.NilError(t, json.Unmarshal([]byte(out), &v))
			assert.Assert(t, v.Verdict != nil && v.Rule != nil && v.Issue != nil && v.Log != nil && v.Line != nil && v.Accepted != nil, out)
			assert.Assert(t, v.Allowed != nil && v.Unmodelled != nil && v.Because != nil, "no list may be null: %s", out)
			assert.Equal(t, *v.Verdict, tt.verdict)
			assert.Equal(t, *v.Rule, tt.rule)
			assert.Equal(t, *v.Line, tt.line)

			// Text says the same, the word and the rule first.
			status, out, errs = call(t, tt.log, "-kubernetes", "v1.37.2", "-case", startup, "-log", "-")
			if tt.name == "a beginning" {
				// The case's witnesses are not seen yet.
				assert.Equal(t, status, exitInconclusive)
				return
			}
			assert.Equal(t, status, tt.status)
			assert.Equal(t, errs, "")
			first := tt.verdict
			if tt.rule != "" {
				first += ": " + tt.rule
			}
			assert.Assert(t, strings.HasPrefix(out, first), out)
		})
	}
}

// save writes a trace of log lines.
func save(t *testing.T, h trace.Header, entries ...trace.Entry) string {
	t.Helper()
	var b bytes.Buffer
	w, err := trace.NewWriter(&b, h)
	assert.NilError(t, err)
	for i := range entries {
		entries[i].At = time.Date(2023, 12, 21, 10, 40, 51+i, 0, time.UTC)
		assert.NilError(t, w.Write(entries[i]))
	}
	return write(t, "trace.jsonl", b.String())
}

func lines(all ...string) []trace.Entry {
	var out []trace.Entry
	for l := range strings.Lines(log(all...)) {
		l = strings.TrimSuffix(l, "\n")
		out = append(out, trace.Entry{Log: &l})
	}
	return out
}

func TestTrace(t *testing.T) {
	c := judgedtest.CaseByID(t, startup)
	header := trace.Header{Case: startup, Kubelet: "v1.37.2"}
	bare := trace.Header{Kubelet: "v1.37.2"}
	pod := write(t, "pod.yaml", string(c.Manifest))
	object, err := reference.ParsePod(c.Manifest)
	assert.NilError(t, err)
	apply, err := trace.NewAct(trace.ActApply, nil)
	assert.NilError(t, err)
	did, added := trace.Entry{Did: &apply}, trace.Entry{Type: trace.Added, Pod: object}
	recorded := func(log ...string) []trace.Entry { return append([]trace.Entry{did, added}, lines(log...)...) }

	t.Run("names its kubelet and its case", func(t *testing.T) {
		status, out, errs := call(t, "", "-trace", save(t, header, recorded(ordered...)...))
		assert.Equal(t, status, exitPass, out+errs)
	})
	t.Run("wants the witnesses of its case", func(t *testing.T) {
		status, out, _ := call(t, "", "-trace", save(t, header, recorded(ordered[:3]...)...))
		assert.Equal(t, status, exitInconclusive, out)
		assert.Check(t, is.Contains(out, "container2 / main"))
	})
	t.Run("wants no witness with a Pod of its own", func(t *testing.T) {
		status, out, _ := call(t, "", "-pod", pod, "-trace", save(t, header, recorded(ordered[:3]...)...))
		assert.Equal(t, status, exitPass, out)
	})
	t.Run("counts the lines of the file", func(t *testing.T) {
		path := save(t, header, recorded(swapped(3, 4)...)...)
		status, out, _ := call(t, "", "-json", "-trace", path)
		assert.Equal(t, status, exitViolation)
		var v struct{ Line int }
		assert.NilError(t, json.Unmarshal([]byte(out), &v))
		// The header, the act, the Pod, three lines that fit, then the one that counts;
		// the hook's late line after it is what shows that it was too early.
		assert.Equal(t, v.Line, 8, out)
	})
	t.Run("has a Pod inside", func(t *testing.T) {
		status, out, errs := call(t, "", "-trace", save(t, bare, added, did))
		assert.Equal(t, status, exitInconclusive, out+errs)
	})
	t.Run("has a Pod that its case has no more", func(t *testing.T) {
		older := object.DeepCopy()
		older.Spec.Containers[0].Lifecycle = nil
		log := lines("container1 / main", "container2 / main", "container1 / main")
		first := trace.Entry{Type: trace.Added, Pod: older}
		status, out, errs := call(t, "", "-trace", save(t, header, append([]trace.Entry{did, first}, log...)...))
		assert.Equal(t, status, exitInconclusive, out+errs)
		assert.Check(t, is.Contains(errs, "removed: containers[container1].lifecycle"))
		assert.Check(t, is.Contains(out, "post start hook"))
		assert.Check(t, is.Contains(out, "or the case has changed since"))
		// By the Pod that ran a hook's line is foreign.
		status, out, errs = call(t, "", "-trace", save(t, header, append([]trace.Entry{did, first}, lines(ordered...)...)...))
		assert.Equal(t, status, exitUsage, out+errs)
		assert.Check(t, is.Contains(out, "declares no post start hook"))
		// What the API server admitted is what ran, whatever a manifest says.
		status, out, errs = call(t, "", "-pod", pod, "-trace", save(t, header, append([]trace.Entry{did, first}, lines(ordered...)...)...))
		assert.Equal(t, status, exitUsage, out+errs)
		assert.Check(t, is.Contains(out, "declares no post start hook"))
		assert.Check(t, is.Contains(errs, "the Pod in the trace is not that of "+pod))
	})
	t.Run("has a container that somebody added to its case", func(t *testing.T) {
		more := object.DeepCopy()
		more.Spec.Containers = append([]corev1.Container{{Name: "agent"}}, more.Spec.Containers...)
		injected := append([]trace.Entry{did, {Type: trace.Added, Pod: more}}, lines(ordered...)...)
		for _, args := range [][]string{{}, {"-pod", pod}} {
			status, out, errs := call(t, "", append(args, "-trace", save(t, header, injected...))...)
			assert.Equal(t, status, exitPass, out+errs)
			assert.Check(t, is.Contains(errs, "admission added: containers[agent]"))
		}
	})
	t.Run("was recorded where a container is put into every Pod", func(t *testing.T) {
		for _, name := range []string{"sidecar", "first", "last"} {
			path := filepath.Join("..", "..", "..", "reference", "testdata", "injected", name+".trace.jsonl")
			status, out, errs := call(t, "", "-trace", path)
			assert.Equal(t, status, exitPass, out+errs)
			assert.Check(t, is.Contains(errs, "ontainers[injected]"))
		}
	})
	t.Run("names its case and shows no Pod", func(t *testing.T) {
		// The case may not be what was run.
		path := save(t, header, append([]trace.Entry{did}, lines(ordered...)...)...)
		status, out, errs := call(t, "", "-trace", path)
		assert.Equal(t, status, exitInconclusive, out+errs)
		assert.Check(t, is.Contains(out, "has no Pod"))
		status, out, errs = call(t, "", "-case", startup, "-trace", path)
		assert.Equal(t, status, exitPass, out+errs)
	})
	t.Run("has no Pod at all", func(t *testing.T) {
		status, out, errs := call(t, "", "-trace", save(t, bare, lines(ordered...)...))
		assert.Equal(t, status, exitUsage)
		assert.Equal(t, out, "")
		assert.Check(t, is.Contains(errs, "-pod"))
	})
	t.Run("is empty", func(t *testing.T) {
		status, out, errs := call(t, "", "-trace", write(t, "trace.jsonl", ""))
		assert.Equal(t, status, exitInconclusive, errs)
		assert.Check(t, is.Contains(out, "inconclusive"))
	})
	t.Run("is not a trace", func(t *testing.T) {
		status, out, _ := call(t, "", "-json", "-trace", write(t, "trace.jsonl", "hello\n"))
		assert.Equal(t, status, exitUsage)
		assert.Check(t, is.Contains(out, `"verdict":"broken"`))
		assert.Check(t, is.Contains(out, `"line":1`))
	})
	t.Run("is torn", func(t *testing.T) {
		path := save(t, header, lines(ordered...)...)
		b, err := os.ReadFile(path)
		assert.NilError(t, err)
		status, out, _ := call(t, "", "-json", "-trace", write(t, "trace.jsonl", string(b[:len(b)-20])))
		assert.Equal(t, status, exitUsage)
		assert.Check(t, is.Contains(out, `"verdict":"broken"`))
		assert.Check(t, is.Contains(out, fmt.Sprintf(`"line":%d`, len(ordered)+1)))
	})
}

// TestStatus holds the exit status against the word of every verdict.
func TestStatus(t *testing.T) {
	tests := []struct {
		outcome reference.Outcome
		strict  bool
		want    int
	}{
		{reference.Pass, false, 0},
		{reference.Pass, true, 0},
		{reference.Violation, false, 1},
		{reference.Fixed, false, 1},
		{reference.Known, true, 1},
		{reference.Broken, false, 2},
		{reference.Inconclusive, false, 3},
		{reference.Unmodelled, false, 4},
		{reference.Known, false, 5},
		{0, false, 2},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s strict=%v", tt.outcome, tt.strict), func(t *testing.T) {
			var out, errs bytes.Buffer
			got := print(reference.Verdict{Outcome: tt.outcome}, options{strict: tt.strict}, &out, &errs)
			assert.Equal(t, got, tt.want)
			assert.Check(t, is.Contains(out.String(), tt.outcome.String()))
		})
	}
}

// TestUsage gives the command input that cannot be judged: one line that says
// what is wrong, and what to do.
// The Pod of a Deployment is judged as one that is written by itself.
func TestTemplate(t *testing.T) {
	chart := write(t, "chart.yaml", `apiVersion: v1
kind: Service
metadata: {name: web}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      initContainers: [{name: migrate, image: web}]
      containers: [{name: web, image: web}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: test}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: web, image: web}]}}}
`)
	first := log("migrate / main: begin", "web / main: begin", "migrate / main: end 0")
	judge := func(object, log string) (int, string) {
		status, out, errs := call(t, "", "-kubernetes", "v1.37.2", "-pod", chart, "-object", object, "-log", write(t, "message", log))
		assert.Equal(t, errs, "")
		return status, out
	}
	status, out := judge("Deployment/web", first)
	assert.Equal(t, status, exitViolation)
	assert.Check(t, is.Contains(out, "init/before-regular"))
	again := log("web#0 / main: begin", "web#0 / main: end 1", "web#1 / main: begin")
	status, out = judge("job/test", again)
	assert.Equal(t, status, exitViolation)
	assert.Check(t, is.Contains(out, "restart/policy"))
	status, _ = judge("job/test", log("web / main: begin", "web / main: end 1"))
	assert.Equal(t, status, exitPass)
}

// Who writes to the log decides what a missing line means.
func TestWrites(t *testing.T) {
	pod := write(t, "pod.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  initContainers:
  - {name: proxy, image: "proxy:1", restartPolicy: Always, startupProbe: {exec: {command: [/up]}}}
  containers:
  - {name: web, image: "web:1"}
`)
	lines := write(t, "message", log("proxy / main: begin", "web / main: begin"))
	for _, tt := range []struct {
		flags  []string
		status int
	}{
		{nil, exitPass},
		{[]string{"-writes", ""}, exitPass},
		{[]string{"-writes", "web"}, exitPass},
		{[]string{"-writes", "web, proxy/startup probe"}, exitViolation},
		{[]string{"-writes", "proxy"}, exitViolation},
		{[]string{"-writes", "other"}, exitUnmodelled},
	} {
		status, stdout, stderr := call(t, "", append(tt.flags, "-kubernetes", "v1.37.2", "-pod", pod, "-log", lines)...)
		assert.Equal(t, status, tt.status, "%v\n%s%s", tt.flags, stdout, stderr)
	}
}

func TestUsage(t *testing.T) {
	pod := write(t, "pod.yaml", string(judgedtest.CaseByID(t, startup).Manifest))
	message := write(t, "message", log(ordered...))
	service := "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"
	none := write(t, "service.yaml", service)
	several := write(t, "several.yaml", service+"---\n"+string(judgedtest.CaseByID(t, startup).Manifest)+"---\n"+string(judgedtest.CaseByID(t, startup).Manifest))
	typo := write(t, "typo.yaml", strings.Replace(string(judgedtest.CaseByID(t, startup).Manifest), "containers:", "container:", 1))
	missing := filepath.Join(t.TempDir(), "nothing")
	tests := []struct {
		name string
		args []string
		want []string
	}{
		{"nothing", nil, []string{"-log", "-trace"}},
		{"an unknown flag", []string{"-podd", pod}, []string{"-podd", "-h"}},
		{"an argument", []string{"-kubernetes", "v1.37.2", "-pod", pod, message}, []string{message, "-log"}},
		{"log and trace", []string{"-log", message, "-trace", message}, []string{"one of them"}},
		{"Pod and case", []string{"-pod", pod, "-case", startup, "-log", message, "-kubernetes", "v1.37.2"}, []string{"one of them"}},
		{"a log without a version", []string{"-pod", pod, "-log", message}, []string{"-kubernetes"}},
		{"a log without a Pod", []string{"-kubernetes", "v1.37.2", "-log", message}, []string{"-pod"}},
		{"a version that is none", []string{"-kubernetes", "latest", "-pod", pod, "-log", message}, []string{"-kubernetes", `"latest"`}},
		{"a missing manifest", []string{"-kubernetes", "v1.37.2", "-pod", missing, "-log", message}, []string{missing, "no such file"}},
		{"a missing log", []string{"-kubernetes", "v1.37.2", "-pod", pod, "-log", missing}, []string{missing, "no such file"}},
		{"a missing trace", []string{"-trace", missing}, []string{missing, "no such file"}},
		{"a folder", []string{"-trace", t.TempDir()}, []string{"is a folder"}},
		{"a manifest that is no Pod", []string{"-kubernetes", "v1.37.2", "-pod", none, "-log", message}, []string{none, "there is only Service/web"}},
		{"a manifest with several Pods", []string{"-kubernetes", "v1.37.2", "-pod", several, "-log", message}, []string{several, "-object"}},
		{"an object that is not there", []string{"-kubernetes", "v1.37.2", "-pod", none, "-object", "Pod/web", "-log", message}, []string{none, "Pod/web"}},
		{"an object without a manifest", []string{"-kubernetes", "v1.37.2", "-case", startup, "-object", "Pod/web", "-log", message}, []string{"-pod"}},
		{"a manifest with a typing error", []string{"-kubernetes", "v1.37.2", "-pod", typo, "-log", message}, []string{typo, `"spec.container"`}},
		{"an unknown case", []string{"-kubernetes", "v1.37.2", "-case", "hooks/none", "-log", message}, []string{"hooks/none", startup}},
		{"a header without a version", []string{"-trace", save(t, trace.Header{Case: startup}, lines(ordered...)...)}, []string{"-kubernetes"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, out, errs := call(t, "", tt.args...)
			assert.Equal(t, status, exitUsage)
			assert.Equal(t, out, "")
			assert.Equal(t, strings.Count(errs, "\n"), 1, errs)
			for _, want := range tt.want {
				assert.Check(t, is.Contains(errs, want))
			}
		})
	}
}

func TestHelp(t *testing.T) {
	status, _, errs := call(t, "", "-h")
	assert.Equal(t, status, exitPass)
	assert.Check(t, is.Contains(errs, "-trace"))
}

func TestUnmodelled(t *testing.T) {
	manifest := strings.Replace(string(judgedtest.CaseByID(t, startup).Manifest), "spec:\n", "spec:\n  evictionResponders: [{name: acme.io/foo}]\n", 1)
	status, out, errs := call(t, "", "-json", "-kubernetes", "v1.37.2", "-pod", write(t, "pod.yaml", manifest), "-log", write(t, "message", log(ordered...)))
	assert.Equal(t, status, exitUnmodelled, out+errs)
	assert.Check(t, is.Contains(out, "evictionResponders"))
}

// TestUncovered: whatever comes of a kubelet that the model does not cover, it is
// said as which one it was judged, on standard error and in the verdict.
func TestUncovered(t *testing.T) {
	pod := write(t, "pod.yaml", string(judgedtest.CaseByID(t, startup).Manifest))
	good, bad := write(t, "good", log(ordered...)), write(t, "bad", log(swapped(3, 4)...))
	for _, tt := range []struct {
		version, log, as string
		status           int
	}{
		{"v1.27.3", good, "v1.28.0", exitInconclusive},
		{"v1.27.3", bad, "v1.28.0", exitViolation},
		{"v1.40.0", bad, "v1.38.0-beta.0", exitViolation},
		{"v1.37.2", bad, "", exitViolation},
	} {
		for _, of := range [][]string{
			{"-kubernetes", tt.version, "-pod", pod, "-log", tt.log},
			{"-trace", save(t, trace.Header{Kubelet: tt.version}, logged(t, tt.log)...), "-pod", pod},
		} {
			status, out, errs := call(t, "", append(of, "-json")...)
			assert.Equal(t, status, tt.status, out+errs)
			note := "the model covers kubelets from v1.28.0 to v1.38.0-beta.0, and " + tt.version + " is judged as " + tt.as
			assert.Equal(t, strings.Contains(errs, "judge: warning: "+note), tt.as != "", errs)
			var v struct{ Reason string }
			assert.NilError(t, json.Unmarshal([]byte(out), &v))
			assert.Equal(t, strings.Contains(v.Reason, note), tt.as != "", out)
		}
	}
}

// logged returns the lines of a file as the entries of a trace.
func logged(t *testing.T, path string) (out []trace.Entry) {
	t.Helper()
	b, err := os.ReadFile(path)
	assert.NilError(t, err)
	for l := range strings.Lines(string(b)) {
		l = strings.TrimSuffix(l, "\n")
		out = append(out, trace.Entry{Log: &l})
	}
	return out
}

// TestBroken: the line that cannot be read is shown, where it is known.
func TestBroken(t *testing.T) {
	pod := write(t, "pod.yaml", string(judgedtest.CaseByID(t, startup).Manifest))
	header := trace.Header{Case: startup, Kubelet: "v1.37.2"}
	for name, args := range map[string][]string{
		"a log":                  {"-kubernetes", "v1.37.2", "-pod", pod, "-log", write(t, "message", log(ordered[:2]...)+"hello\n")},
		"a log, for its case":    {"-kubernetes", "v1.37.2", "-case", startup, "-log", write(t, "message", log(ordered[:2]...)+"hello\n")},
		"a file that is neither": {"-trace", write(t, "trace.jsonl", "hello\n")},
		"a line of a trace":      {"-pod", pod, "-trace", save(t, header, append(lines(ordered[:2]...), trace.Entry{Log: new("hello")})...)},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, _ := call(t, "", args...)
			assert.Equal(t, status, exitUsage, out)
			assert.Check(t, is.Contains(out, "hello   <- cannot be read"))
			assert.Check(t, !strings.Contains(out, "not allowed here"), out)
		})
	}
	status, out, _ := call(t, "hello\n", "-trace", "-")
	assert.Equal(t, status, exitUsage)
	assert.Check(t, is.Contains(out, "  at       line 1\n"))
	assert.Check(t, !strings.Contains(out, "seen"), out)
}

// TestPicture: -svg writes a picture of a trace, of a log alone and of what is left of a damaged
// trace, and changes neither what is printed nor the exit status.
func TestPicture(t *testing.T) {
	pod := write(t, "pod.yaml", string(judgedtest.CaseByID(t, startup).Manifest))
	bad := write(t, "bad", log(swapped(3, 4)...))
	stored := filepath.Join("..", "..", "..", "reference", "testdata", "background-hook", "poststart-blocks", "trace.jsonl")
	for name, tt := range map[string]struct {
		args []string
		want []string
	}{
		"a trace":         {[]string{"-trace", stored}, []string{"line 22 is not allowed here", "The next container is not started before", `id="line-21"`}},
		"a log":           {[]string{"-kubernetes", "v1.37.2", "-pod", pod, "-log", bad}, []string{"by its log alone: violation", `id="line-4"`}},
		"of a case":       {[]string{"-kubernetes", "v1.37.2", "-case", startup, "-log", bad}, []string{"by its log alone: violation", `id="line-4"`}},
		"a damaged trace": {[]string{"-pod", pod, "-trace", save(t, trace.Header{Case: startup, Kubelet: "v1.37.2"}, append(lines(ordered[:2]...), trace.Entry{Log: new("hello")})...)}, []string{"cannot be read: hello"}},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, _ := call(t, "", tt.args...)
			path := filepath.Join(t.TempDir(), "picture.svg")
			withPicture, same, errs := call(t, "", append(tt.args, "-svg", path)...)
			assert.Equal(t, withPicture, status, errs)
			assert.Equal(t, same, out)
			svg, err := os.ReadFile(path)
			assert.NilError(t, err)
			for _, want := range tt.want {
				assert.Check(t, is.Contains(string(svg), want))
			}
		})
	}
	status, _, errs := call(t, "", "-trace", stored, "-svg", filepath.Join(t.TempDir(), "nowhere", "picture.svg"))
	assert.Equal(t, status, exitUsage)
	assert.Check(t, is.Contains(errs, "-svg: open"))
	status, _, errs = call(t, "", "-trace", write(t, "empty", ""), "-svg", filepath.Join(t.TempDir(), "picture.svg"))
	assert.Equal(t, status, exitUsage)
	assert.Check(t, is.Contains(errs, "there is nothing to draw"))
}
