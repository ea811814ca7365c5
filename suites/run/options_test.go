package run

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/harness/nodeimage"
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/report/judged"
)

func TestSelectCases(t *testing.T) {
	cases := []fixtures.Case{{ID: "article/startup"}, {ID: "hooks/a"}, {ID: "hooks/b"}}
	ids := func(cs []fixtures.Case) (out []string) {
		for _, c := range cs {
			out = append(out, c.ID)
		}
		return out
	}
	got, err := selectCases(cases, "")
	assert.NilError(t, err)
	assert.DeepEqual(t, ids(got), []string{"article/startup", "hooks/a", "hooks/b"})

	got, err = selectCases(cases, "^hooks/")
	assert.NilError(t, err)
	assert.DeepEqual(t, ids(got), []string{"hooks/a", "hooks/b"})

	_, err = selectCases(cases, "probes/")
	assert.ErrorContains(t, err, `"probes/"`)
	assert.ErrorContains(t, err, "article/, hooks/, and")

	_, err = selectCases(cases, "(")
	assert.ErrorContains(t, err, "-cases")
}

func TestCheck(t *testing.T) {
	readable := filepath.Join(t.TempDir(), "config")
	assert.NilError(t, os.WriteFile(readable, nil, 0o600))
	missing := filepath.Join(t.TempDir(), "nothing")
	tests := []struct {
		name   string
		args   []string
		target target
		want   string // empty where it is all right
	}{
		{"nothing", nil, target{}, ""},
		{"a version", []string{"-kubernetes", "v1.28.5"}, target{}, ""},
		{"a version that is none", []string{"-kubernetes", "newest"}, target{}, "-kubernetes"},
		{"a cluster that exists", nil, target{kubeconfig: readable}, ""},
		{"its version", []string{"-kubernetes", "v1.28.5"}, target{kubeconfig: readable}, ""},
		{"a context", nil, target{context: "other"}, ""},
		{"a cluster that exists and an image for one that does not", []string{"-node-image", "kindest/node:v1.37.2"}, target{context: "other"}, "-node-image"},
		{"kubelets", []string{"-kubelets", "v1.28.5,v1.37.2", "-raise-inotify"}, target{}, ""},
		{"kubelets under a control plane", []string{"-kubelets", "v1.28.5", "-kubernetes", "v1.37.2"}, target{}, ""},
		{"a kubelet that is none", []string{"-kubelets", "v1.28.5,old"}, target{}, "-kubelets"},
		{"some kubelets of a cluster that exists", []string{"-kubelets", "v1.28.5"}, target{context: "other"}, ""},
		{"some kubelets, and what all must be", []string{"-kubelets", "v1.28.5", "-kubernetes", "v1.28.5"}, target{context: "other"}, "-kubelets"},
		{"kubelets of one's own for a cluster that exists", []string{"-kubelet-files", "kubelet"}, target{context: "other"}, "-kubelet-files"},
		{"a limit raised for nobody", []string{"-raise-inotify"}, target{context: "other"}, "-raise-inotify"},
		{"never", []string{"-repeat", "0"}, target{}, "-repeat"},
		{"a missing kubeconfig", nil, target{kubeconfig: missing}, missing},
		{"a folder", nil, target{kubeconfig: t.TempDir()}, "is a folder"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var o Options
			fs := flag.NewFlagSet("suites", flag.ContinueOnError)
			fs.SetOutput(io.Discard)
			o.Register(fs)
			assert.NilError(t, fs.Parse(tt.args))
			err := o.check(tt.target)
			if tt.want == "" {
				assert.NilError(t, err)
				return
			}
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

// TestNeedsLinux: where no cluster can be made, it is said at once what works.
func TestNeedsLinux(t *testing.T) {
	assert.NilError(t, needsLinux("linux"))
	for _, goos := range []string{"darwin", "windows"} {
		err := needsLinux(goos)
		for _, want := range []string{goos, "-kubeconfig", "-image-mirror"} {
			assert.ErrorContains(t, err, want)
		}
	}
}

// TestGates: gates that would keep the cluster from coming up, or that the judge does
// not know, are refused at once.
func TestGates(t *testing.T) {
	tests := []struct {
		list, version string
		set           bool
		want          string
	}{
		{"", "v1.37.2", true, ""},
		{"ContainerStopSignals=true", "v1.37.2", true, ""},
		{"ContainerStopSignals=true", "v1.28.5", true, "came with 1.33"},
		{"ContainerStopSignals", "v1.37.2", true, "Name=true"},
		{"Nothing=true", "v1.37.2", true, "does not affect order"},
		{"SidecarContainers=true", "v1.28.5", true, ""},
		{"SidecarContainers=true", "v1.37.2", true, "refuses to have SidecarContainers set"},
		{"SidecarContainers=true", "v1.37.2", false, ""},
	}
	for _, tt := range tests {
		err := checkGates(tt.list, []string{tt.version}, tt.set)
		if tt.want == "" {
			assert.NilError(t, err)
			continue
		}
		assert.ErrorContains(t, err, tt.want)
		assert.ErrorContains(t, err, "-feature-gates: ")
	}
	assert.DeepEqual(t, parseGates("A=true,B=false"), map[string]bool{"A": true, "B": false})

	// They are set in the cluster that is made, and the judge knows of them.
	s, _ := suiteFor(t, nil)
	s.options.FeatureGates = "ContainerStopSignals=true"
	s.machine = &machine{image: nodeimage.Image{Ref: "node", Version: "v1.37.2"}}
	o, err := s.clusterOptions([]string{})
	assert.NilError(t, err)
	assert.DeepEqual(t, o.FeatureGates, map[string]bool{"ContainerStopSignals": true})
	v := judged.Judge(caseByID(t, startup), "ContainerStopSignals=true", recording(ordered...), nil).Verdict
	assert.Equal(t, v.Outcome, reference.Pass, v.Text())
	v = judged.Judge(caseByID(t, startup), "Nothing=true", recording(ordered...), nil).Verdict
	assert.Equal(t, v.Outcome, reference.Broken, v.Text())
}

func TestRoot(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b")
	assert.NilError(t, os.MkdirAll(deep, 0o755))
	_, err := root(deep)
	assert.ErrorContains(t, err, deep)
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "go.mod"), nil, 0o644))
	got, err := root(deep)
	assert.NilError(t, err)
	assert.Equal(t, got, dir)

	assert.Equal(t, absolute("/r", ""), "")
	assert.Equal(t, absolute("/r", "artifacts"), "/r/artifacts")
	assert.Equal(t, absolute("/r", "/else/where"), "/else/where")
}

var testFunction = regexp.MustCompile(`(?m)^func Test(\w+)\(t \*testing\.T\) +\{ suite\.Group\(t, "([a-z-]+)"\) \}$`)

// TestGroups: every group of cases has its function in package suites, and
// every function its group. A group without one would never run.
func TestGroups(t *testing.T) {
	cases, err := fixtures.All()
	assert.NilError(t, err)
	want := map[string]string{ownGroup: title(ownGroup)}
	for _, c := range cases {
		group, _ := testOf(c)
		want[group] = title(group)
	}
	source, err := os.ReadFile(filepath.Join("..", "suites_test.go"))
	assert.NilError(t, err)
	got := map[string]string{}
	for _, m := range testFunction.FindAllStringSubmatch(string(source), -1) {
		got[m[2]] = m[1]
	}
	assert.Check(t, is.DeepEqual(got, want))
}
