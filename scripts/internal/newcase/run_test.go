package newcase

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/golden"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/harness/nodeimage"
	"github.com/podorder/podorder/reference"
)

func call(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = Run(args, strings.NewReader(stdin), &out, &errs)
	return status, out.String(), errs.String()
}

// TestWritten: what is made of the output of a chart is a reviewed file, and a case that the suite
// reads.
func TestWritten(t *testing.T) {
	isRule := func(string) bool { return true }
	for _, tt := range []struct {
		name, object string
		args         []string
		notes        []string
	}{
		{"mesh", "Deployment/shop-web", nil, []string{"left out: ", "nodeSelector", "volumes"}},
		{"job", "Job/shop-import", nil, []string{"left out: ", "env"}},
		{"api", "Pod/api", []string{"-tell", "api/startup probe: fail-first=2"}, []string{"the postStart hook of vault-agent runs a command"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "mine")
			args := append(tt.args, "-object", tt.object, "-out", dir, "testdata/shop.yaml")
			status, out, errs := call(t, "", args...)
			assert.Equal(t, status, exitWritten, errs)
			assert.Check(t, is.Contains(out, "make conformance FLAGS=-fixtures="+dir+"\n"))
			for _, n := range tt.notes {
				assert.Check(t, is.Contains(errs, n))
			}
			cases, err := fixtures.LoadDir(dir, isRule)
			assert.NilError(t, err)
			assert.Assert(t, cases[0].HasAllowed())
			var all strings.Builder
			for _, name := range []string{"case.yaml", "pod.yaml", "allowed.txt"} {
				text, err := os.ReadFile(filepath.Join(dir, name))
				assert.NilError(t, err)
				fmt.Fprintf(&all, "-- %s --\n%s", name, text)
			}
			golden.Assert(t, all.String(), tt.name+".golden")

			status, _, errs = call(t, "", args...)
			assert.Equal(t, status, exitUsage)
			assert.Check(t, is.Contains(errs, dir+" has a file pod.yaml"))
		})
	}
}

// TestDefaultFolder: the folder has the name of the Pod.
func TestDefaultFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	status, out, errs := call(t, "apiVersion: v1\nkind: Pod\nmetadata: {generateName: My.Web-}\nspec: {containers: [{name: a, image: i}]}\n", "-")
	assert.Equal(t, status, exitWritten, errs)
	assert.Check(t, is.Contains(out, "my-web\n"))
	cases, err := fixtures.LoadDir("my-web", nil)
	assert.NilError(t, err)
	assert.DeepEqual(t, cases[0].Rules, []string{"terminate/cause"})
}

// TestBundled: a case can be made of the Pod of any case. Explaining all of them takes too long here.
func TestBundled(t *testing.T) {
	cases, err := fixtures.All()
	assert.NilError(t, err)
	for i, c := range cases {
		if i%12 != 0 || c.Static || !c.Versions.Includes(kubelet) || c.Kubelet != nil {
			continue
		}
		_, _, err := newCase(options{kubernetes: kubelet, file: "pod.yaml"}, c.Manifest)
		assert.Check(t, err == nil, "%s: %v", c.ID, err)
	}
}

// TestStories: what a case waits for, and what it wants to have seen.
func TestStories(t *testing.T) {
	const pod = `apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  restartPolicy: %s
  initContainers:
  - {name: init, image: i}
  - {name: side, image: i, restartPolicy: Always, lifecycle: {postStart: {exec: {command: [x]}}}}
  containers:
  - {name: app, image: i, readinessProbe: {exec: {command: [x]}, initialDelaySeconds: 40}}
`
	const inits = "init / main: begin, init / main: end 0, side / main: begin, side / post start hook: end 0, "
	for _, tt := range []struct {
		name, policy, tell string
		steps, witness     string
	}{
		{
			"it runs", "Always", "",
			"log=app / main: begin; condition=Ready within=1m52s; delete", inits + "app / main: begin, app / readiness probe: end 0, app / main: signal TERM, side / main: signal TERM",
		},
		{
			"it is done", "Never", "",
			"log=app / main: begin; phase=Succeeded; delete", inits + "app / main: begin, app / main: end 0, side / main: signal TERM",
		},
		{
			"it fails", "Never", "app: exit=3",
			"log=app / main: begin; phase=Failed; delete", inits + "app / main: begin, app / main: end 3, side / main: signal TERM",
		},
		{"it is started again", "OnFailure", "app: exit=3", "log=app / main: begin; log=app / main: end 3; delete", inits + "app / main: begin, app / main: end 3"},
		{"it is started again each time", "Always", "app: idle=25s", "log=app / main: begin; log=app / main: end 0 within=1m27s; delete", inits + "app / main: begin, app / main: end 0"},
		{"it fails at first", "Always", "app: fail-first=2 fail-exit=7 fail-idle=1s", "log=app / main: begin; log=app / main: end 7; delete", inits + "app / main: begin, app / main: end 7"},
		{"it would be done, and runs on", "Never", "app: idle=forever", "log=app / main: begin; condition=Ready within=1m52s; delete", inits + "app / main: begin, app / readiness probe: end 0, app / main: signal TERM, side / main: signal TERM"},
		{"it is never ready", "Always", "app/readiness probe: exit=1", "log=app / main: begin; log=app / readiness probe: end 1 within=1m52s; delete", inits + "app / main: begin, app / readiness probe: end 1"},
		{"it is ready late", "Always", "app/readiness probe: fail-first=2", "log=app / main: begin; condition=Ready within=2m12s; delete", inits + "app / main: begin, app / readiness probe: end 0, app / main: signal TERM, side / main: signal TERM"},
		{"the init container fails", "Always", "init: exit=1", "await init / main: end 1; delete", "init / main: begin, init / main: end 1"},
		{"the init container does not end", "Always", "init: idle=forever", "await init / main: begin; delete", "init / main: begin"},
		{"the init container takes long", "Always", "init: idle=50s", "log=app / main: begin within=1m52s; condition=Ready within=2m42s; delete", inits + "app / main: begin, app / readiness probe: end 0, app / main: signal TERM, side / main: signal TERM"},
		{"the hook of the sidecar fails", "Always", "side/post start hook: exit=1", "await side / main: begin; delete", "init / main: begin, init / main: end 0, side / main: begin, side / post start hook: begin"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := options{kubernetes: kubelet, file: "-", told: told{}}
			assert.NilError(t, parseTold(tt.tell, o.told))
			m, _, err := newCase(o, fmt.Appendf(nil, pod, tt.policy))
			assert.NilError(t, err)
			var c struct {
				Steps []struct {
					Await  any `yaml:"await"`
					Delete any `yaml:"delete"`
				}
				Witness []string
			}
			assert.NilError(t, yaml.Unmarshal(m.files[1].text, &c))
			var steps []string
			for _, s := range c.Steps {
				switch a := s.Await.(type) {
				case string:
					steps = append(steps, "await "+a)
				case map[string]any:
					text := ""
					for _, key := range []string{"log", "condition", "phase", "within"} {
						if a[key] != nil {
							text += fmt.Sprintf(" %s=%v", key, a[key])
						}
					}
					steps = append(steps, strings.TrimSpace(text))
				default:
					steps = append(steps, "delete")
				}
			}
			want := tt.steps
			if strings.Contains(tt.name, "is done") || tt.name == "it fails" { // no probe is waited for
				assert.Check(t, !slices.ContainsFunc(c.Witness, func(w string) bool { return strings.Contains(w, "probe") }))
			}
			assert.Equal(t, strings.Join(steps, "; "), want)
			assert.Equal(t, strings.Join(c.Witness, ", "), tt.witness)
		})
	}
}

// TestNeeds: what is left out are fields that there are.
func TestNeeds(t *testing.T) {
	for _, of := range []struct {
		reflect.Type
		names []string
	}{{reflect.TypeFor[corev1.PodSpec](), needsOfPod}, {reflect.TypeFor[corev1.Container](), slices.Concat(needsOfContainer, replaced)}} {
		var fields []string
		for _, f := range reflect.VisibleFields(of.Type) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			fields = append(fields, name)
		}
		for _, name := range of.names {
			assert.Check(t, slices.Contains(fields, name), "%s has no field %s", of.Type, name)
		}
	}
	for _, name := range defaulted {
		assert.Check(t, slices.Contains(needsOfPod, name) || slices.Contains(needsOfContainer, name), name)
	}
	assert.Equal(t, kubelet, nodeimage.Default)
}

// TestAnnotation: the manifest itself may say what its containers do, and -tell goes before it.
func TestAnnotation(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  annotations:\n    podorder.dev/new-case: |\n      a: idle=5s\n      b: exit=2 idle=1s\nspec:\n  containers:\n  - {name: a, image: i}\n  - {name: b, image: i}\n"
	o := options{kubernetes: kubelet, file: "-", told: told{}}
	assert.NilError(t, parseTold("a: ticks=3; a/main: stop-delay=2s", o.told))
	m, _, err := newCase(o, []byte(pod))
	assert.NilError(t, err)
	p, err := reference.ParsePod(m.files[0].text)
	assert.NilError(t, err)
	assert.DeepEqual(t, p.Spec.Containers[0].Command[6:], []string{"-idle", "forever", "-stop-delay", "2s"})
	assert.DeepEqual(t, p.Spec.Containers[1].Command[6:], []string{"-idle", "1s", "-exit", "2"})
}

func TestErrors(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - {name: app, image: i, readinessProbe: {tcpSocket: {port: 1}}}\n"
	missing := filepath.Join(t.TempDir(), "nothing")
	for _, tt := range []struct {
		name, stdin string
		args        []string
		status      int
		want        string
	}{
		{"nothing", "", nil, exitUsage, "name the manifest"},
		{"two files", "", []string{"a", "b"}, exitUsage, `unexpected argument "b"`},
		{"an unknown flag", "", []string{"-png"}, exitUsage, "-png"},
		{"a missing file", "", []string{missing}, exitUsage, missing},
		{"no Pod", "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n", []string{"-"}, exitUsage, "Service/s"},
		{"a version that is none", pod, []string{"-kubernetes", "1.37", "-"}, exitUsage, "-kubernetes"},
		{"Windows", pod + "  os: {name: windows}\n", []string{"-"}, exitUsage, "field spec.os.name"},
		{"an unmodelled field", pod + "  evictionResponders: [{name: acme.io/foo}]\n", []string{"-"}, exitUnmodelled, "evictionResponders"},
		{"several Pods", pod + "---\n" + strings.Replace(pod, "name: p", "name: q", 1), []string{"-"}, exitUsage, "with -object"},
		{"told without a colon", pod, []string{"-tell", "app idle=1s", "-"}, exitUsage, `write "CONTAINER: KEY=VALUE"`},
		{"told nothing", pod, []string{"-tell", "app:", "-"}, exitUsage, "says nothing"},
		{"told no setting", pod, []string{"-tell", "app: idle", "-"}, exitUsage, `"idle" is not KEY=VALUE`},
		{"told no duration", pod, []string{"-tell", "app: idle=5", "-"}, exitUsage, "idle=5 is not a duration"},
		{"told no number", pod, []string{"-tell", "app: exit=-1", "-"}, exitUsage, "exit=-1 is not a number"},
		{"told no actor", pod, []string{"-tell", "app/probe: exit=1", "-"}, exitUsage, "readiness probe"},
		{"told what it does not know", pod, []string{"-tell", "app: require=/x", "-"}, exitUsage, `app: "require" is nothing that it can be told`},
		{"told who is not there", pod, []string{"-tell", "web: exit=1", "-"}, exitUsage, "the Pod has no web that could be told something; it has app, app/readiness probe"},
		{"told a connection", pod, []string{"-tell", "app/readiness probe: fail-first=1", "-"}, exitUsage, "it knows exit"},
		{"told in the manifest", strings.Replace(pod, "{name: p}", `{name: p, annotations: {podorder.dev/new-case: "x"}}`, 1), []string{"-"}, exitUsage, "annotation podorder.dev/new-case: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			status, out, errs := call(t, tt.stdin, tt.args...)
			assert.Equal(t, status, tt.status, errs)
			assert.Equal(t, out, "")
			assert.Equal(t, strings.Count(errs, "\n"), 1, errs)
			assert.Check(t, is.Contains(errs, tt.want))
			left, err := os.ReadDir(".")
			assert.NilError(t, err)
			assert.Check(t, is.Len(left, 0))
		})
	}
}
