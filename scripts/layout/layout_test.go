package layout

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestRepository applies the rules to every package of the repository.
func TestRepository(t *testing.T) {
	pkgs := list(t)
	seen := map[string]bool{}
	for _, p := range pkgs {
		if rule, ok := partOf(p.ImportPath); ok {
			seen[rule.under] = true
		}
	}
	// A rule for a part that is not there would hold for nothing.
	for _, p := range parts {
		assert.Check(t, seen[p.under], "no package belongs to part %s", p.under)
	}
	for _, sentence := range Imports(pkgs) {
		t.Error(sentence)
	}
	files := 0
	fset := token.NewFileSet()
	for _, p := range pkgs {
		if !below(p.ImportPath, Module+"/reference") {
			continue
		}
		for _, name := range append(p.GoFiles, p.CgoFiles...) {
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			assert.NilError(t, err)
			files++
			for _, sentence := range Purity(fset, file) {
				t.Error(sentence)
			}
		}
	}
	assert.Check(t, files > 0, "no file of reference was read")
}

func list(t *testing.T) []Package {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,GoFiles,CgoFiles,Imports,TestImports,XTestImports", Module+"/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	assert.NilError(t, err, "go list: %s", &stderr)
	var pkgs []Package
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p Package
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return pkgs
		}
		assert.NilError(t, err)
		pkgs = append(pkgs, p)
	}
}

func TestImports(t *testing.T) {
	const m = Module + "/"
	tests := []struct {
		name string
		pkg  Package
		want string // empty where the package is allowed
	}{
		{"reference imports the Kubernetes types", Package{ImportPath: m + "reference", Imports: []string{"fmt", "time", "k8s.io/api/core/v1", "k8s.io/apimachinery/pkg/util/intstr", m + "reference/trace"}}, ""},
		{"reference imports its own packages", Package{ImportPath: m + "reference", Imports: []string{m + "reference/internal/search"}}, ""},
		{"a package of reference imports reference", Package{ImportPath: m + "reference/render", Imports: []string{m + "reference"}}, ""},
		{"reference imports a client", Package{ImportPath: m + "reference", Imports: []string{"k8s.io/client-go/kubernetes"}}, "k8s.io/client-go/kubernetes"},
		{"reference imports a sibling of an allowed module", Package{ImportPath: m + "reference", Imports: []string{"k8s.io/apiserver/pkg/server"}}, "k8s.io/apiserver/pkg/server"},
		{"reference imports the network", Package{ImportPath: m + "reference", Imports: []string{"net/http"}}, "net/http"},
		{"reference imports a logger", Package{ImportPath: m + "reference", Imports: []string{"log/slog"}}, "log/slog"},
		{"reference imports os", Package{ImportPath: m + "reference/internal/search", Imports: []string{"os"}}, "os"},
		{"reference imports testing", Package{ImportPath: m + "reference", Imports: []string{"testing"}}, "testing"},
		{"a report imports the model and the cases", Package{ImportPath: m + "report/judged", Imports: []string{"os", m + "reference", m + "fixtures", m + "report"}}, ""},
		{"a report imports the harness", Package{ImportPath: m + "report/saved", Imports: []string{m + "harness/record"}}, m + "harness/record"},
		{"what was observed comes from a file", Package{ImportPath: m + "report/observed", Imports: []string{"os"}}, "os"},
		{"the harness imports a report", Package{ImportPath: m + "harness", Imports: []string{m + "report"}}, m + "report"},
		{"reference imports fixtures", Package{ImportPath: m + "reference", Imports: []string{m + "fixtures"}}, m + "fixtures"},
		{"reference imports the harness", Package{ImportPath: m + "reference", Imports: []string{m + "harness"}}, m + "harness"},
		{"a test of reference reads files", Package{ImportPath: m + "reference", TestImports: []string{"os", "testing", "gotest.tools/v3/assert", "pgregory.net/rapid"}}, ""},
		{"a test of reference imports the harness", Package{ImportPath: m + "reference", XTestImports: []string{m + "harness"}}, m + "harness"},
		{"trace imports the model", Package{ImportPath: m + "reference/trace", Imports: []string{m + "reference"}}, m + "reference"},
		{"a test of trace imports the model", Package{ImportPath: m + "reference/trace", XTestImports: []string{m + "reference"}}, m + "reference"},
		{"the model imports the executable kubelet", Package{ImportPath: m + "reference", Imports: []string{m + "reference/kubelet"}}, m + "reference/kubelet"},
		{"the model imports its explorer", Package{ImportPath: m + "reference", Imports: []string{m + "reference/kubelet/explore"}}, m + "reference/kubelet/explore"},
		{"a test of the model runs the executable kubelet", Package{ImportPath: m + "reference", XTestImports: []string{m + "reference/kubelet", m + "reference/kubelet/explore"}}, ""},
		{"the executable kubelet imports the trace", Package{ImportPath: m + "reference/kubelet", Imports: []string{m + "reference/trace", "k8s.io/api/core/v1"}}, ""},
		{"the executable kubelet imports the model", Package{ImportPath: m + "reference/kubelet", Imports: []string{m + "reference"}}, m + "reference"},
		{"the executable kubelet imports what searches it", Package{ImportPath: m + "reference/kubelet", Imports: []string{m + "reference/kubelet/search"}}, m + "reference/kubelet/search"},
		{"the executable kubelet imports chance", Package{ImportPath: m + "reference/kubelet", Imports: []string{"math/rand/v2"}}, "math/rand/v2"},
		{"a test of the executable kubelet imports the model", Package{ImportPath: m + "reference/kubelet", XTestImports: []string{m + "reference"}}, ""},
		{"its explorer imports it", Package{ImportPath: m + "reference/kubelet/explore", Imports: []string{m + "reference/kubelet"}}, ""},
		{"its explorer imports the model", Package{ImportPath: m + "reference/kubelet/explore", Imports: []string{m + "reference"}}, m + "reference"},
		{"what searches it imports the model", Package{ImportPath: m + "reference/kubelet/search", Imports: []string{m + "reference"}}, m + "reference"},
		{"a test of what searches it imports the model", Package{ImportPath: m + "reference/kubelet/search", XTestImports: []string{m + "reference"}}, ""},
		{"the judge imports the model", Package{ImportPath: m + "reference/internal/judge", Imports: []string{m + "reference/internal/model", m + "reference/internal/record", m + "reference/rules"}}, ""},
		{"the model imports the judge", Package{ImportPath: m + "reference/internal/model", Imports: []string{m + "reference/internal/judge"}}, m + "reference/internal/judge"},
		{"the record imports the model", Package{ImportPath: m + "reference/internal/record", Imports: []string{m + "reference/internal/model"}}, m + "reference/internal/model"},
		{"the rules import what is recorded", Package{ImportPath: m + "reference/rules", Imports: []string{m + "reference/internal/record"}}, m + "reference/internal/record"},
		{"the model imports the front", Package{ImportPath: m + "reference/internal/model", Imports: []string{m + "reference"}}, m + "reference"},
		{"fixtures import the trace", Package{ImportPath: m + "fixtures", Imports: []string{m + "reference/trace", "os"}}, ""},
		{"fixtures read manifests as the judge does", Package{ImportPath: m + "fixtures", Imports: []string{m + "reference/manifest"}}, ""},
		{"manifests are read with the API server's libraries", Package{ImportPath: m + "reference/manifest", Imports: []string{"sigs.k8s.io/yaml", "sigs.k8s.io/json", "k8s.io/api/core/v1"}}, ""},
		{"who reads manifests knows the model", Package{ImportPath: m + "reference/manifest", Imports: []string{m + "reference"}}, m + "reference"},
		{"the model reads YAML itself", Package{ImportPath: m + "reference", Imports: []string{"sigs.k8s.io/yaml"}}, "sigs.k8s.io/yaml"},
		{"fixtures import the model", Package{ImportPath: m + "fixtures", Imports: []string{m + "reference"}}, m + "reference"},
		{"fixtures import a part of the model", Package{ImportPath: m + "fixtures/image", Imports: []string{m + "reference/internal/search"}}, m + "reference/internal/search"},
		{"a test of fixtures imports the model", Package{ImportPath: m + "fixtures", TestImports: []string{m + "reference"}}, m + "reference"},
		{"fixtures import the harness", Package{ImportPath: m + "fixtures/image", Imports: []string{m + "harness/host"}}, m + "harness/host"},
		{"fixtures import a library", Package{ImportPath: m + "fixtures/image", Imports: []string{"github.com/google/go-containerregistry/pkg/v1"}}, ""},
		{"the recorder imports x/sys", Package{ImportPath: m + "fixtures/recorder", Imports: []string{"net/http", "golang.org/x/sys/unix"}}, ""},
		{"the recorder imports a library", Package{ImportPath: m + "fixtures/recorder", Imports: []string{"sigs.k8s.io/yaml"}}, "sigs.k8s.io/yaml"},
		{"the recorder imports the trace", Package{ImportPath: m + "fixtures/recorder", Imports: []string{m + "reference/trace"}}, m + "reference/trace"},
		{"a test of the recorder imports the harness", Package{ImportPath: m + "fixtures/recorder", TestImports: []string{m + "harness"}}, m + "harness"},
		{"a test of the recorder parses what it wrote", Package{ImportPath: m + "fixtures/recorder", TestImports: []string{m + "reference/trace"}}, ""},
		{"the harness imports trace and fixtures", Package{ImportPath: m + "harness", Imports: []string{m + "reference/trace", m + "fixtures", m + "harness/cluster", "k8s.io/client-go/rest"}}, ""},
		{"the harness imports the model", Package{ImportPath: m + "harness/record", Imports: []string{m + "reference"}}, m + "reference"},
		{"a test of the harness imports the model", Package{ImportPath: m + "harness/record", XTestImports: []string{m + "reference"}}, m + "reference"},
		{"the harness imports the suites", Package{ImportPath: m + "harness", Imports: []string{m + "suites/run"}}, m + "suites/run"},
		{"a picture imports the judge", Package{ImportPath: m + "report/picture", Imports: []string{m + "reference", m + "reference/rules", m + "reference/trace"}}, ""},
		{"a picture imports the harness", Package{ImportPath: m + "report/picture", Imports: []string{m + "harness"}}, m + "harness"},
		{"a picture reads files", Package{ImportPath: m + "report/picture", Imports: []string{"os"}}, "imports os"},
		{"the suites import everything", Package{ImportPath: m + "suites/run", Imports: []string{m + "reference", m + "harness", m + "fixtures", "testing"}}, ""},
		{"a script imports everything", Package{ImportPath: m + "scripts/judge", Imports: []string{m + "reference", m + "fixtures", "os"}}, ""},
		{"a package outside the parts", Package{ImportPath: m + "pkg/utils"}, "is not in a part"},
		{"a name that only begins like a part", Package{ImportPath: m + "referenced"}, "is not in a part"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Imports([]Package{tt.pkg})
			if tt.want == "" {
				assert.DeepEqual(t, got, []string(nil))
				return
			}
			assert.Assert(t, is.Len(got, 1))
			assert.Check(t, is.Contains(got[0], tt.want))
			assert.Check(t, is.Contains(got[0], tt.pkg.ImportPath))
		})
	}
}

func TestPurity(t *testing.T) {
	tests := []struct {
		name, source string
		want         string
	}{
		{"reads a stamp", "package p\nimport \"time\"\nfunc f(a, b time.Time) time.Duration { return a.Sub(b) }", ""},
		{"reads the clock", "package p\nimport \"time\"\nfunc f() time.Time { return time.Now() }", "x.go:3:29: asks for the time with time.Now"},
		{"reads the clock by another name", "package p\nimport t \"time\"\nfunc f() { t.Sleep(1) }", "x.go:3:12: asks for the time with time.Sleep"},
		{"has a Now of its own", "package p\ntype s struct{ Now int }\nfunc f(time s) int { return time.Now }", ""},
		{"starts a goroutine", "package p\nfunc f() { go f() }", "x.go:2:12: starts a goroutine"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, "x.go", tt.source, parser.SkipObjectResolution)
			assert.NilError(t, err)
			assert.Equal(t, strings.Join(Purity(fset, file), "\n"), tt.want)
		})
	}
}
