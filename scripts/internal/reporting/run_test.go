package reporting

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/report"
	"github.com/podorder/podorder/report/forms"
)

// artifacts makes the folder of an old run of two cases, both recorded on a kubelet that does not
// wait for postStart hooks, of which it says that they passed.
func artifacts(t *testing.T, cases ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "artifacts")
	stored := os.DirFS(filepath.Join("..", "..", "..", "reference", "testdata", "background-hook"))
	text := `{"cases":[`
	for i, name := range cases {
		sub, err := fs.Sub(stored, name)
		assert.NilError(t, err)
		assert.NilError(t, os.CopyFS(filepath.Join(dir, "v1.37.2", "hooks", name), sub))
		if i > 0 {
			text += ","
		}
		text += `{"case":"hooks/` + name + `","kubelet":"v1.37.2","trace":"v1.37.2/hooks/` + name + `/trace.jsonl","verdict":{"verdict":"pass"}}`
	}
	assert.NilError(t, os.MkdirAll(dir, 0o755))
	assert.NilError(t, os.WriteFile(filepath.Join(dir, forms.Verdicts), []byte(text+"]}"), 0o644))
	return dir
}

// content is what a folder holds, but for one folder in it.
func content(t *testing.T, dir, without string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && path == without {
				return filepath.SkipDir
			}
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = string(b)
		return err
	})
	assert.NilError(t, err)
	return all
}

func command(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = Run(args, &out, &errs)
	return status, out.String(), errs.String()
}

func TestReport(t *testing.T) {
	step := filepath.Join(t.TempDir(), "summary")
	t.Setenv("GITHUB_STEP_SUMMARY", step)
	dir := artifacts(t, "poststart-blocks", "poststart-blocks-reversed")
	out := filepath.Join(dir, "report")
	before := content(t, dir, out)
	status, stdout, stderr := command(t, dir)
	assert.Equal(t, status, exitFailed, stderr)
	assert.Equal(t, stderr, "report: 2 of 2 cases failed\n")
	assert.Check(t, is.Contains(stdout, "violation  hooks/poststart-blocks "))
	assert.Check(t, is.Contains(stdout, "judged otherwise than then: hooks/poststart-blocks on v1.37.2: was pass, is violation: hooks/poststart-blocks-next, line 22\n"))
	assert.Check(t, strings.HasSuffix(stdout, "\nreport: "+filepath.Join(out, forms.Page(out))+"\n"), stdout)
	assert.DeepEqual(t, content(t, dir, out), before)
	for _, name := range []string{report.File, forms.JUnit, forms.Summary, forms.Verdicts, forms.ClaimsText} {
		_, err := os.Stat(filepath.Join(out, name))
		assert.NilError(t, err)
	}
	b, err := os.ReadFile(step)
	assert.NilError(t, err)
	assert.Check(t, is.Contains(string(b), "**failed: 2 of 2 cases failed**"))
	r, err := report.Read(out)
	assert.NilError(t, err)
	for i := range r.Runs {
		assert.Check(t, strings.HasPrefix(r.Runs[i].Trace, "../v1.37.2/hooks/"))
		_, err := r.Runs[i].Load(out)
		assert.NilError(t, err)
	}
	// Once more, over its own report.
	status, _, stderr = command(t, dir)
	assert.Equal(t, status, exitFailed, stderr)
}

func TestAgainst(t *testing.T) {
	older, newer, out := artifacts(t, "poststart-blocks", "poststart-blocks-reversed"), artifacts(t, "poststart-blocks-reversed"), t.TempDir()
	status, stdout, stderr := command(t, "-out", out, "-against", older, newer)
	assert.Equal(t, status, exitFine, stderr)
	assert.Check(t, is.Contains(stdout, "nothing differs between the kubelets"))
	r, err := report.Read(out)
	assert.NilError(t, err)
	assert.Equal(t, len(r.Compared), 1)
	assert.Equal(t, len(r.Runs), 3)
}

func TestErrors(t *testing.T) {
	dir, empty := artifacts(t, "poststart-blocks"), t.TempDir()
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"no folder":            {nil, "name the folder of a run"},
		"a folder of nothing":  {[]string{empty}, "has no report.json, no verdicts.json and no traces: name the folder that a run wrote"},
		"no such folder":       {[]string{filepath.Join(empty, "none")}, "no such file"},
		"several":              {[]string{dir, dir}, "say with -out"},
		"against several":      {[]string{"-against", dir, dir, dir}, "-against compares with one run"},
		"over the run":         {[]string{"-out", dir, dir}, "holds what a run has recorded (verdicts.json), which is never changed: give another folder with -out"},
		"a gate of no kubelet": {[]string{"-feature-gates", "None=true", dir}, "kubelet v1.37.2: "},
		"no cases":             {[]string{"-fixtures", empty, dir}, "-fixtures: "},
		"an unknown flag":      {[]string{"-none", dir}, "-none"},
	} {
		t.Run(name, func(t *testing.T) {
			status, stdout, stderr := command(t, tt.args...)
			assert.Equal(t, status, exitUsage)
			assert.Equal(t, stdout, "")
			assert.Check(t, is.Contains(stderr, tt.want))
			assert.Equal(t, strings.Count(stderr, "\n"), 1, stderr)
		})
	}
	// The report of a run itself is no place for another one.
	r, err := report.Read(mustReport(t, dir))
	assert.NilError(t, err)
	r.Judged = ""
	assert.NilError(t, r.Write(empty))
	_, _, stderr := command(t, "-out", empty, dir)
	assert.Check(t, is.Contains(stderr, "holds what a run has recorded (report.json)"))
}

// mustReport reports a run and returns where.
func mustReport(t *testing.T, dir string) string {
	t.Helper()
	out := t.TempDir()
	status, _, stderr := command(t, "-out", out, dir)
	assert.Assert(t, status != exitUsage, stderr)
	return out
}

func TestNames(t *testing.T) {
	assert.DeepEqual(t, names([]string{"/a/b/x", "/a/c/x"}), []string{"b-x", "c-x"})
	assert.DeepEqual(t, names([]string{"/a/x", "/a/y"}), []string{"x", "y"})
	assert.DeepEqual(t, names([]string{"/x", "/x"}), []string{"x.1", "x.2"})
}
