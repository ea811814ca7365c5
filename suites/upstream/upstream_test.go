package upstream

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/harness/nodeimage"
)

func TestTable(t *testing.T) {
	table, err := parse(text)
	assert.NilError(t, err)
	cases, err := fixtures.All()
	assert.NilError(t, err)
	var ids []string
	for _, c := range cases {
		ids = append(ids, c.ID)
	}
	for _, f := range table.Files {
		for _, x := range f.Tests {
			for _, id := range x.Cases {
				assert.Check(t, slices.Contains(ids, id), "%s, %s: there is no case %s", f.Path, x.Name, id)
				assert.Check(t, x.Shown || refuses(t, id), "%s, %s: refused.txt of %s has no trace that a rule refuses, so it covers nothing", f.Path, x.Name, id)
			}
		}
	}
	i := slices.IndexFunc(table.Files, func(f File) bool { return f.Path == "test/e2e_node/container_lifecycle_test.go" })
	assert.Assert(t, i >= 0, "the container lifecycle file is not in the table")
	assert.Equal(t, len(table.Files[i].Tests), 156)
	for _, f := range table.Files {
		all := 0
		for _, x := range f.Tests {
			if x.Other == "" {
				all++
			}
		}
		assert.Check(t, all > 0, "no test of %s concerns order; set it aside", f.Path)
	}
	assert.Check(t, is.Equal(table.Kubernetes, nodeimage.Default), "raise the table together with the default version; CONTRIBUTING.md says how")

	// The page of the suite has the figure as well.
	covered, shown, all := table.Count(ids)
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	assert.NilError(t, err)
	flat := strings.Join(strings.Fields(string(readme)), " ")
	for _, want := range []string{fmt.Sprintf("%d of %d are covered", covered, all), fmt.Sprintf("%d more are only shown", shown), "at " + table.Kubernetes + ", with all 156"} {
		assert.Check(t, strings.Contains(flat, want), "suites/README.md does not say %q", want)
	}
}

// refuses reports whether refused.txt of a case has a trace that a rule refuses; package titles judges it.
func refuses(t *testing.T, id string) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "fixtures", filepath.FromSlash(id), "refused.txt"))
	assert.NilError(t, err)
	return slices.ContainsFunc(txtar.Parse(text).Files, func(f txtar.File) bool { return strings.Contains(f.Name, "/") })
}

// good is a small table; its tests have the pin that good says.
var good = `# A comment.
kubernetes v1.37.2
why gap No case yet.

file a_test.go
pin ` + PinOf([]string{"A > B > one", "A > B > two", "A > three"}) + `

in A > B
- one
  by sidecar/stops-last hooks/poststart-blocks
  but the exit code
- two
  not gap: the image changes

in A
- three
  other secrets

aside folder security and the like: b_test.go c_test.go
`

func TestParse(t *testing.T) {
	table, err := parse(good)
	assert.NilError(t, err)
	assert.Equal(t, table.Kubernetes, "v1.37.2")
	assert.DeepEqual(t, table.Files[0].Tests, []Test{
		{Name: "A > B > one", Cases: []string{"hooks/poststart-blocks", "sidecar/stops-last"}, But: "the exit code"},
		{Name: "A > B > two", Why: "gap", Note: "the image changes"},
		{Name: "A > three", Other: "secrets"},
	})
	assert.DeepEqual(t, table.Aside, map[string]string{"folder/b_test.go": "security and the like", "folder/c_test.go": "security and the like"})

	covered, shown, all := table.Count([]string{"hooks/poststart-blocks", "sidecar/stops-last"})
	assert.Equal(t, covered, 1)
	assert.Equal(t, shown, 0)
	assert.Equal(t, all, 2)
	covered, _, _ = table.Count([]string{"hooks/poststart-blocks"})
	assert.Equal(t, covered, 0, "one of two cases covers nothing alone")
	assert.Equal(t, table.CoveredBy("sidecar/stops-last"), 1)
	assert.Equal(t, table.CoveredBy("sidecar/reverse-order"), 0)

	// What a case only shows, it does not cover.
	table, err = parse(strings.Replace(good, "  by sidecar", "  seen sidecar", 1))
	assert.NilError(t, err)
	covered, shown, all = table.Count([]string{"hooks/poststart-blocks", "sidecar/stops-last"})
	assert.Equal(t, covered, 0)
	assert.Equal(t, shown, 1)
	assert.Equal(t, all, 2)
	assert.Equal(t, table.CoveredBy("sidecar/stops-last"), 0)
}

func TestParseErrors(t *testing.T) {
	tests := []struct{ name, old, new, want string }{
		{"a test is lost", "- two\n  not gap: the image changes\n", "", "relations.txt:17: a_test.go has tests that do not fit its pin; if they are right, write: pin 2 sha256:"},
		{"a test is renamed", "- two", "- too", "do not fit its pin"},
		{"two tests are swapped", "- two", "- one", "relations.txt:12: the same test is in line 9"},
		{"nothing is said of a test", "  not gap: the image changes\n", "", `nothing is said of the test before this line, "A > B > two"`},
		{"nothing is said of the last test", "  other secrets\n", "", `nothing is said of the test before this line, "A > three"`},
		{"too much is said of a test", "  but the exit code", "  other files", "a test has one of by, seen, not and other"},
		{"a remark on a test that is not covered", "  other secrets", "  other secrets\n  but files", "but follows by or seen, and only once"},
		{"an unknown reason", "not gap: the", "not gab: the", `"gab" is no kind of reason; they are gap`},
		{"a reason of no test", "why gap No case yet.", "why gap No case yet.\nwhy proxy Injected.", "no test has the reason proxy"},
		{"a reason without a sentence", "why gap No case yet.", "why gap", "a kind of reason, which is new, and a sentence"},
		{"a case twice", "by sidecar/stops-last hooks/poststart-blocks", "by sidecar/stops-last sidecar/stops-last", "a case is named twice"},
		{"a file twice", "aside folder security and the like: b_test.go c_test.go", "aside . security: a_test.go", "a_test.go is in the table twice"},
		{"a file aside twice", "b_test.go c_test.go", "b_test.go b_test.go", "folder/b_test.go is in the table twice"},
		{"files without a subject", "security and the like: b_test.go", "b_test.go", "what its files are about, a colon and the files"},
		{"no version", "kubernetes v1.37.2\n", "", "no version"},
		{"a bad version", "v1.37.2", "1.37", `"1.37" is not the one version`},
		{"an unknown word", "in A\n", "at A\n", `"at" begins no line`},
		{"an empty test", "- three", "-", `nothing after "-"`},
		{"trailing space", "- three", "- three ", "space at the end of the line"},
		{"a remark before any test", "in A > B\n", "in A > B\n  by hooks/poststart-blocks\n", "no test comes before this line"},
		{"a pin twice", "\nin A > B", "\npin 1\nin A > B", "a pin follows its file, and only once"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spoilt := strings.Replace(good, tt.old, tt.new, 1)
			assert.Assert(t, spoilt != good)
			_, err := parse(spoilt)
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

func TestTests(t *testing.T) {
	const src = `package p

var _ = SIGDescribe("Files", feature.Slow, framework.WithSerial(), "[Linux]", func() {
	f := framework.New("files")
	ginkgo.When("a file is made", func() {
		ginkgo.It("has a name", func(ctx context.Context) { check(It("is no test")) })
		f.It("has a "+"size", f.WithSlow(), check(f, true))
		framework.ConformanceIt(` + "`has \"quotes\"`" + `, f.WithNodeConformance(), func(ctx context.Context) {})
		for _, mode := range modes {
			ginkgo.It(fmt.Sprintf("has mode %s", mode.name), func() {})
			ginkgo.It(mode.name+"", func() {})
			ginkgo.It("of "+string(mode), func() {})
		}
		ginkgo.PIt("is pending", func() {})
	})
	f.Context("", func() {
		ginkgo.DescribeTable("is removed", func(by string) {},
			ginkgo.Entry("by hand", "hand"),
			ginkgo.Entry(nil, "cron"),
		)
	})
	other(It, "nothing")
})

var _ = SIGDescribe(feature.Slow, func() {
	ginkgo.It("stands alone", func() {})
})

var SIGDescribe = framework.SIGDescribe("node")

func checks(name string) {
	ginkgo.Describe("a check", func() { ginkgo.It("of "+name, func() {}) })
	ginkgo.It(name, func() {})
}
`
	got, err := Tests("x_test.go", []byte(src))
	assert.NilError(t, err)
	assert.DeepEqual(t, got, []string{
		"Files [Linux] > a file is made > has a name",
		"Files [Linux] > a file is made > has a size",
		`Files [Linux] > a file is made > has "quotes"`,
		`Files [Linux] > a file is made > {fmt.Sprintf("has mode %s", mode.name)}`,
		"Files [Linux] > a file is made > {mode.name}",
		`Files [Linux] > a file is made > {"of " + string(mode)}`,
		"Files [Linux] > a file is made > is pending",
		"Files [Linux] > is removed > by hand",
		"Files [Linux] > is removed > {nil}",
		"stands alone",
		"{checks} > a check > of {name}",
		"{checks} > {name}",
	})

	for _, tt := range []struct{ src, want string }{
		{"package p\nfunc", "read the tests of x_test.go"},
		{"package p\nvar _ = ginkgo.It(\"a > b\", func() {})", `x_test.go:2:9: the text "a > b" cannot be written in the table`},
		{"package p\nvar _ = ginkgo.DescribeTableSubtree(\"a\", func() {})", "x_test.go:2:9: a DescribeTableSubtree has tests"},
	} {
		_, err := Tests("x_test.go", []byte(tt.src))
		assert.ErrorContains(t, err, tt.want)
	}
}

func TestCompare(t *testing.T) {
	table, err := parse(good)
	assert.NilError(t, err)
	right := func() map[string]source {
		return map[string]source{
			"a_test.go":        {tests: []string{"A > B > one", "A > B > two", "A > three"}},
			"folder/b_test.go": {tests: []string{"B > one"}},
			// What is not understood may be set aside.
			"folder/c_test.go": {err: errors.New("read the tests of folder/c_test.go: a subtree")},
		}
	}
	assert.DeepEqual(t, compare(table, right()), []string(nil))
	tests := []struct {
		name   string
		change func(map[string]source)
		want   string
	}{
		{"a test is new", func(m map[string]source) {
			m["a_test.go"] = source{tests: []string{"A > B > one", "A > B > two", "A > C > new", "A > three"}}
		}, "relations.txt lacks 1 tests of a_test.go; add, each at its place,\n\nin A > C\n- new\n"},
		{"a test is gone", func(m map[string]source) { m["a_test.go"] = source{tests: []string{"A > B > one", "A > three"}} },
			"a_test.go has no such tests; remove from relations.txt\n\nin A > B\n- two\n"},
		{"the order is another", func(m map[string]source) {
			m["a_test.go"] = source{tests: []string{"A > B > two", "A > B > one", "A > three"}}
		}, "in another order; write them as\n\nin A > B\n- two\n- one\nin A\n- three\n"},
		{"a test stands twice", func(m map[string]source) {
			m["a_test.go"] = source{tests: []string{"A > B > one", "A > B > one", "A > B > two", "A > three"}}
		}, "in another order"},
		{"a file is new", func(m map[string]source) { m["d_test.go"] = source{tests: []string{"D > one"}} },
			"d_test.go is not in relations.txt; set it aside, or add\n\nfile d_test.go\npin 1 sha256:"},
		{"a file is gone", func(m map[string]source) { delete(m, "a_test.go") }, "a_test.go has no tests any more"},
		{"a file that is set aside is gone", func(m map[string]source) { delete(m, "folder/b_test.go") }, "folder/b_test.go has no tests any more"},
		{"a file is not understood", func(m map[string]source) { m["a_test.go"] = source{err: errors.New("a subtree")} }, "a subtree"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := right()
			tt.change(m)
			got := compare(table, m)
			assert.Assert(t, is.Len(got, 1))
			assert.Check(t, is.Contains(got[0], tt.want))
		})
	}
}

// TestModuleError: a version that is not there is an error, which names it.
func TestModuleError(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOMODCACHE", filepath.Join(t.TempDir(), "empty"))
	_, err := Module(t.Context(), "v1.37.2")
	assert.ErrorContains(t, err, "download k8s.io/kubernetes@v1.37.2: ")
}

// The sources are those of Kubernetes, and each folder of the node suite has tests.
func TestCompareReadsTheSources(t *testing.T) {
	table, err := parse(good)
	assert.NilError(t, err)
	file := func(test string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("package p\n\nvar _ = ginkgo.It(\"" + test + "\", func() {})\n")}
	}
	module := fstest.MapFS{
		"test/e2e_node/x_test.go": file("x"), "test/e2e/common/node/y.go": file("y"), "test/e2e/node/z.go": file("z"), "test/e2e/other/o.go": file("o"),
	}
	complaints, err := Compare(table, module)
	assert.NilError(t, err)
	text := strings.Join(complaints, "\n")
	for _, want := range []string{"a_test.go has no tests any more", "test/e2e_node/x_test.go is not in relations.txt", "- y\n", "- z\n"} {
		assert.Check(t, is.Contains(text, want))
	}
	assert.Check(t, !strings.Contains(text, "other/o.go"))

	delete(module, "test/e2e/node/z.go")
	_, err = Compare(table, module)
	assert.ErrorContains(t, err, "below test/e2e/node: ")
	module["test/e2e/node/z.go"] = &fstest.MapFile{Data: []byte("package p\n")}
	_, err = Compare(table, module)
	assert.ErrorContains(t, err, "there is none; is this the module k8s.io/kubernetes?")
}
