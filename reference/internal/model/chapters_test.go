package model

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/reference/rules"
)

// slug is a slug of a rule in a comment; a path of a source file begins with pkg.
var slug = regexp.MustCompile(`\b(start|restart|hooks|probes|terminate|status|events|init|sidecar)/[a-z-]+\b`)

// The comment at the beginning of a chapter names the rules that it keeps: so each is found.
func TestChaptersNameTheirRules(t *testing.T) {
	files, err := filepath.Glob("*.go")
	assert.NilError(t, err)
	named := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || file == "doc.go" {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.PackageClauseOnly)
		assert.NilError(t, err)
		if len(f.Comments) == 0 {
			t.Errorf("%s begins with no comment that says what it is about", file)
			continue
		}
		for _, s := range slug.FindAllString(strings.ReplaceAll(f.Comments[0].Text(), "pkg/kubelet/status/generate.go", ""), -1) {
			_, ok := rules.BySlug(s)
			assert.Assert(t, ok, "%s names %s, which is no rule", file, s)
			named[s] = true
		}
	}
	for _, r := range rules.All() {
		if r.Level == rules.Must && !named[r.Slug] {
			t.Errorf("no chapter says that it keeps %s", r.Slug)
		}
	}
}
