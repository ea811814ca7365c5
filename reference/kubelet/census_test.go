package kubelet_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// notExecuted are the rules of the table that no piece of the kubelet executes,
// each with the reason.
var notExecuted = map[string]string{
	"restart/ephemeral-never":    "a Pod of this package has no ephemeral containers",
	"start/ephemeral-when-added": "a Pod of this package has no ephemeral containers",
}

var (
	slug = regexp.MustCompile(`(?:^|[^\w/.-])((?:start|restart|hooks|probes|terminate|status|events|init|sidecar)/[a-z][a-z-]*)(?:[^\w/.-]|[.]\s|[.]?$)`)
	// slugs is how a comment names the rules that its piece executes: on a line of
	// their own.
	slugs = regexp.MustCompile(`^// ([a-z]+/[a-z-]+)(, [a-z]+/[a-z-]+)*$`)
	// numbered is a rule by a number, which leads nowhere.
	numbered = regexp.MustCompile(`\b[RX][1-9]\d?\b`)
)

// TestEveryRuleIsNamed: the comments name rules by slugs of the table, and in one
// way. Each rule is named by a piece of the kubelet, or stands in notExecuted.
func TestEveryRuleIsNamed(t *testing.T) {
	named := map[string]string{}
	for _, c := range comments(t, ".") {
		for _, m := range slug.FindAllStringSubmatch(c.text, -1) {
			_, ok := rules.BySlug(m[1])
			assert.Check(t, ok, "%s: %s is no rule of the table", c.at, m[1])
			if filepath.Base(c.at.Filename) == "doc.go" {
				continue
			}
			assert.Check(t, slugs.MatchString(c.text), "%s: name the rules on a line of their own: %q", c.at, c.text)
			named[m[1]] = c.at.String()
		}
	}
	for _, r := range rules.All() {
		reason, excepted := notExecuted[r.Slug]
		switch {
		case excepted:
			assert.Check(t, named[r.Slug] == "", "%s is named at %s, and in notExecuted since %s", r.Slug, named[r.Slug], reason)
			assert.Check(t, reason != "", "%s stands in notExecuted without a reason", r.Slug)
		default:
			assert.Check(t, named[r.Slug] != "", "no comment names %s: name it where it is executed, or say in notExecuted why it is not", r.Slug)
		}
	}
	for s := range notExecuted {
		_, ok := rules.BySlug(s)
		assert.Check(t, ok, "%s in notExecuted is no rule of the table", s)
	}
}

// TestNoNumberedRules: what leads nowhere in the repository is not cited.
func TestNoNumberedRules(t *testing.T) {
	for _, dir := range []string{".", "explore", "search"} {
		for _, c := range comments(t, dir) {
			assert.Check(t, !numbered.MatchString(c.text), "%s: %q", c.at, c.text)
		}
	}
}

type comment struct {
	at   token.Position
	text string
}

// comments are the lines of all comments in a folder.
func comments(t *testing.T, dir string) []comment {
	t.Helper()
	var list []comment
	files, err := os.ReadDir(dir)
	assert.NilError(t, err)
	fset := token.NewFileSet()
	for _, f := range files {
		name := f.Name()
		if !strings.HasSuffix(name, ".go") || dir == "." && strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.ParseComments)
		assert.NilError(t, err)
		for _, g := range file.Comments {
			for _, c := range g.List {
				list = append(list, comment{fset.Position(c.Slash), c.Text})
			}
		}
	}
	assert.Assert(t, len(list) > 0, "no comment in %s", dir)
	return list
}

// TestChanges: the table of changes is whole, and holds for the releases that it
// names.
func TestChanges(t *testing.T) {
	used := constants(t)
	var oldest, newest kubelet.Release
	for i, v := range kubelet.Versions() {
		r, err := kubelet.ParseRelease(v)
		assert.NilError(t, err)
		if i == 0 {
			oldest = r
		}
		newest = r
	}
	last := ""
	for n, d := range kubelet.Changes() {
		assert.Equal(t, int(d.Change), n)
		assert.Check(t, d.Says != "" && d.Before != "" && strings.HasPrefix(d.Source, "pkg/") && strings.Contains(d.Source, ".go ("), "row %d: %+v", n, d)
		_, err := trace.ParseRange(d.Versions)
		assert.NilError(t, err, "row %d", n)
		assert.Check(t, d.Versions >= last, "row %d holds for %s and stands after %s", n, d.Versions, last)
		last = d.Versions
		assert.Check(t, !oldest.Has(d.Change), "row %d holds for %v already, so it is no change", n, oldest)
		assert.Check(t, newest.Has(d.Change), "row %d does not hold for %v", n, newest)
		assert.Check(t, used[n] != "", "row %d has no name", n)
	}
	_, err := kubelet.ParseRelease("1.x")
	assert.ErrorContains(t, err, "1.x")
}

// constants are the names of the changes, in order.
func constants(t *testing.T) map[int]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "releases.go", nil, 0)
	assert.NilError(t, err)
	names := map[int]string{}
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for n, s := range g.Specs {
			names[n] = s.(*ast.ValueSpec).Names[0].Name
		}
	}
	return names
}

// TestPage: what the package page names is there, and the run that it prints is
// the one that it plays.
func TestPage(t *testing.T) {
	source := func(name string) string {
		b, err := os.ReadFile(name)
		assert.NilError(t, err)
		return string(b)
	}
	page := source("doc.go")
	files := regexp.MustCompile(`\b[a-z]+\.go\b`).FindAllString(page, -1)
	assert.Assert(t, len(files) > 20)
	for _, name := range files {
		source(name)
	}
	for _, m := range regexp.MustCompile(`(\w+) in ([a-z]+\.go)`).FindAllStringSubmatch(page, -1) {
		assert.Check(t, regexp.MustCompile(`(?m)^func (\(.*\) )?`+m[1]+`\(`).MatchString(source(m[2])), "%s has no %s", m[2], m[1])
	}
	examples := regexp.MustCompile(`Example \((\w)(\w*)\)`).FindAllStringSubmatch(page, -1)
	assert.Assert(t, len(examples) > 0)
	for _, m := range examples {
		name := "Example_" + strings.ToLower(m[1]) + m[2]
		assert.Check(t, strings.Contains(source("example_test.go"), "func "+name+"()"), "there is no %s", name)
	}
	r, err := kubelet.Play(kubelet.Pod{
		Containers: []kubelet.Container{{Name: "app", PostStart: kubelet.Exec}, {Name: "web"}},
	}, "v1.37.2", kubelet.Script{
		Programs: map[string]kubelet.Program{"app": {PostStart: kubelet.Hook{Takes: 5 * time.Second}}},
	}, kubelet.Prompt())
	assert.NilError(t, err)
	assert.Check(t, strings.Contains(page, "//\t"+strings.ReplaceAll(strings.TrimSpace(r.String()), "\n", "\n//\t")+"\n//\n"), "the page does not print\n%s", r)
}
