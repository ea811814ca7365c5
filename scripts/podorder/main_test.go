package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/zip"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  initContainers:\n  - {name: a, image: i}\n  containers:\n  - {name: b, image: i}\n"

// TestCommands: each command gets its flags, its input and its exit status.
func TestCommands(t *testing.T) {
	t.Chdir(t.TempDir())
	assert.NilError(t, os.WriteFile("pod.yaml", []byte(pod), 0o644))
	lines := "2026-01-02T15:04:05Z: b / main: begin\n2026-01-02T15:04:06Z: a / main: begin\n"
	for _, tt := range []struct {
		args   []string
		status int
		want   string
	}{
		{nil, exitUsage, "usage: podorder command"},
		{[]string{"-h"}, 0, "explain    print the order"},
		{[]string{"jugde"}, exitUsage, `"jugde" is none of judge, explain`},
		{[]string{"judge", "-kubernetes=v1.37.2", "-pod=pod.yaml", "-log=-"}, 1, "violation: init/"},
		{[]string{"explain", "-kubernetes=v1.37.2", "-pod=pod.yaml"}, 0, "init/before-regular"},
		{[]string{"report", "none"}, 2, "none"},
		{[]string{"new-case", "-out=mine", "pod.yaml"}, 0, "make conformance"},
	} {
		var out bytes.Buffer
		status := run(tt.args, strings.NewReader(lines), &out, &out)
		assert.Check(t, is.Equal(status, tt.status), "%v: %s", tt.args, &out)
		assert.Check(t, is.Contains(out.String(), tt.want))
	}
}

// TestModule: the go command can take the module from a proxy, and run or install a command of it by
// its path and version.
func TestModule(t *testing.T) {
	const root = "../.."
	b, err := os.ReadFile(root + "/go.mod")
	assert.NilError(t, err)
	mod, err := modfile.Parse("go.mod", b, nil)
	assert.NilError(t, err)
	assert.Check(t, len(mod.Replace) == 0 && len(mod.Exclude) == 0, "with replace or exclude in go.mod nothing can be run as …@latest")
	files, err := zip.CheckDir(root)
	assert.NilError(t, err)
	assert.Check(t, is.Len(files.Invalid, 0))
	assert.NilError(t, files.SizeError)
	assert.Assert(t, len(files.Valid) > 100)
}
