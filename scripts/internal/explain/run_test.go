package explain

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/golden"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/rules"
)

func call(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = Run(args, strings.NewReader(stdin), &out, &errs)
	return status, out.String(), errs.String()
}

func article(t *testing.T) string {
	t.Helper()
	cases, err := fixtures.All()
	assert.NilError(t, err)
	for _, c := range cases {
		if c.ID == "article/startup-sequence" {
			return string(c.Manifest)
		}
	}
	t.Fatal("no case article/startup-sequence")
	return ""
}

func TestText(t *testing.T) {
	status, out, errs := call(t, article(t), "-kubernetes", "v1.37.2", "-pod", "-")
	assert.Equal(t, status, exitPrinted, errs)
	// The edge that the experiment is about, and its rule.
	found := false
	for line := range strings.Lines(out) {
		found = found || strings.Contains(line, "hooks/poststart-blocks-next") &&
			strings.Contains(line, "container1 / post start hook") && strings.Contains(line, "container2 / main")
	}
	assert.Assert(t, found, out)
	// Each rule of the order follows once, with its sentence and what suspends it.
	order, of, ok := strings.Cut(out, "\nRULES\n")
	assert.Assert(t, ok, out)
	rule, ok := rules.BySlug("hooks/poststart-blocks-next")
	assert.Assert(t, ok)
	assert.Equal(t, strings.Count(of, rule.Slug+"  MUST  "+rule.Says+"\n"), 1, of)
	words := strings.Join(strings.Fields(of), " ")
	assert.Check(t, is.Contains(words, "unless "+rule.UnlessText()))
	for line := range strings.Lines(of) {
		if slug := strings.Fields(line)[0]; !strings.HasPrefix(line, " ") {
			assert.Check(t, is.Contains(order, slug))
		}
	}
}

func TestSVG(t *testing.T) {
	status, out, errs := call(t, article(t), "-kubernetes", "v1.37.2", "-pod", "-", "-svg")
	assert.Equal(t, status, exitPrinted, errs)
	d := xml.NewDecoder(strings.NewReader(out))
	root := ""
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		assert.NilError(t, err)
		if start, ok := token.(xml.StartElement); ok && root == "" {
			root = start.Name.Local
		}
	}
	assert.Equal(t, root, "svg")
	assert.Check(t, is.Contains(out, "container2"))
}

func TestErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pod.yaml")
	missing := filepath.Join(t.TempDir(), "nothing")
	assert.NilError(t, os.WriteFile(path, []byte(article(t)), 0o644))
	foreign := strings.Replace(article(t), "spec:\n", "spec:\n  evictionResponders: [{name: acme.io/foo}]\n", 1)
	tests := []struct {
		name   string
		stdin  string
		args   []string
		status int
		want   string
	}{
		{"nothing", "", nil, exitUsage, "-kubernetes"},
		{"no Pod", "", []string{"-kubernetes", "v1.37.2"}, exitUsage, "-pod"},
		{"an unknown flag", "", []string{"-png"}, exitUsage, "-png"},
		{"an argument", "", []string{"-kubernetes", "v1.37.2", path}, exitUsage, "-pod"},
		{"a version that is none", "", []string{"-kubernetes", "1.37", "-pod", path}, exitUsage, "-kubernetes"},
		{"a missing manifest", "", []string{"-kubernetes", "v1.37.2", "-pod", missing}, exitUsage, missing},
		{"a manifest that is none", "hello", []string{"-kubernetes", "v1.37.2", "-pod", "-"}, exitUsage, "-: not an object; write a v1 Pod"},
		{"an unmodelled field", foreign, []string{"-kubernetes", "v1.37.2", "-pod", "-"}, exitUnmodelled, "evictionResponders"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, out, errs := call(t, tt.stdin, tt.args...)
			assert.Equal(t, status, tt.status, errs)
			assert.Equal(t, out, "")
			assert.Equal(t, strings.Count(errs, "\n"), 1, errs)
			assert.Check(t, is.Contains(errs, tt.want))
		})
	}
}

// A kubelet that the model does not cover is explained as the nearest, and that is said.
func TestUncovered(t *testing.T) {
	for version, want := range map[string]string{
		"v1.27.3": "explain: warning: the model covers kubelets from v1.28.0 to v1.38.0-beta.0, and v1.27.3 is judged as v1.28.0\n",
		"v1.40.0": "explain: warning: the model covers kubelets from v1.28.0 to v1.38.0-beta.0, and v1.40.0 is judged as v1.38.0-beta.0\n",
		"v1.37.2": "",
	} {
		status, out, errs := call(t, article(t), "-kubernetes", version, "-pod", "-")
		assert.Equal(t, status, exitPrinted)
		assert.Check(t, is.Contains(out, "container2"))
		assert.Equal(t, errs, want)
	}
}

// The interleavings of the article's two Pods are a reviewed file: the one
// counted by hand in reference.TestCountByHand, the other like it.
func TestInterleavings(t *testing.T) {
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(t, err)
	cases, err := fixtures.All()
	assert.NilError(t, err)
	pods := 0
	for _, c := range cases {
		if c.ID != "article/startup-sequence" && c.ID != "article/startup-sequence-reversed" {
			continue
		}
		pods++
		got, status, err := explain(k, c.Manifest, "", false, true)
		assert.NilError(t, err)
		assert.Equal(t, status, exitPrinted)
		golden.Assert(t, got, filepath.Base(c.ID)+".interleavings")
	}
	assert.Equal(t, pods, 2)
}
