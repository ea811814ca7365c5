package reference_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/rules"
)

// TestDeviations is a census of the deviations. The file testdata/deviations/<name>.txt has, in
// the form of the scripts of the regressions, a trace that the deviation explains, and two
// near it, on a kubelet that has the deviation, that it does not explain. Each rule that it may
// break has a trace that shows it.
func TestDeviations(t *testing.T) {
	for _, d := range rules.Deviations() {
		t.Run(d.Name(), func(t *testing.T) {
			known, near, broken := 0, 0, map[string]bool{}
			for _, s := range sections(t, filepath.Join("testdata", "deviations", d.Name()+".txt")) {
				v, k := judgeSection(t, s.base, s.section)
				switch v.Outcome {
				case reference.Known:
					known++
					broken[v.Rule] = true
					assert.Assert(t, slices.Contains(d.Breaks(), v.Rule), "the table does not say that it breaks %s", v.Rule)
					assert.Assert(t, k.Deviations().Has(d), "%s: kubelet %s does not have it", s.section.Name, k)
					assert.Equal(t, len(v.Deviations), 1, v.Text())
					assert.Equal(t, v.Deviations[0].Name, d.Name(), v.Text())
					assert.Equal(t, v.Deviations[0].Lines[0], v.Line, v.Text())
				case reference.Violation:
					if k.Deviations().Has(d) {
						near++
					}
				}
			}
			assert.Assert(t, known > 0, "nothing shows the deviation")
			for _, rule := range d.Breaks() {
				assert.Check(t, broken[rule], "no trace shows that it breaks %s", rule)
			}
			assert.Assert(t, near > 1, "%d traces are near it", near)
		})
	}
}

// TestDeviationFiles: each file is of a deviation, and each stored trace is judged.
func TestDeviationFiles(t *testing.T) {
	names, used := map[string]bool{}, map[string]bool{}
	for _, d := range rules.Deviations() {
		names[d.Name()+".txt"] = true
	}
	files, err := os.ReadDir(filepath.Join("testdata", "deviations"))
	assert.NilError(t, err)
	for _, f := range files {
		if f.IsDir() {
			continue
		}
		assert.Assert(t, names[f.Name()], "%s is of no deviation", f.Name())
		for _, s := range sections(t, filepath.Join("testdata", "deviations", f.Name())) {
			if dir, ok := strings.CutPrefix(s.base.Name, "stored deviations/"); ok {
				used[dir] = true
			}
		}
	}
	for _, f := range files {
		assert.Assert(t, !f.IsDir() || used[f.Name()], "no script judges %s", f.Name())
	}
}

// scripted is a section of a script, and the Pod or the stored trace that it takes.
type scripted struct{ base, section *txtar.File }

// sections reads a script in the form of the regressions.
func sections(t *testing.T, path string) (all []scripted) {
	t.Helper()
	a, err := txtar.ParseFile(path)
	assert.NilError(t, err)
	assert.Assert(t, len(strings.TrimSpace(string(a.Comment))) > 0, "the script does not say its cause")
	var base *txtar.File
	taken := true
	for i := range a.Files {
		f := &a.Files[i]
		if word, _, _ := strings.Cut(f.Name, " "); word == "pod" || word == "stored" {
			assert.Assert(t, taken, "no section takes what stands before %q", f.Name)
			base, taken = f, false
			continue
		}
		assert.Assert(t, base != nil, "section %q stands before the Pod", f.Name)
		all, taken = append(all, scripted{base, f}), true
	}
	assert.Assert(t, len(all) > 0, "the script judges nothing")
	return all
}
