package layout

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// What CONTRIBUTING shows of the code stands in the code, line by line.
func TestContributingShowsTheCode(t *testing.T) {
	root := filepath.Join("..", "..")
	doc, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	assert.NilError(t, err)
	var code strings.Builder
	err = filepath.WalkDir(filepath.Join(root, "reference"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		b, err := os.ReadFile(path)
		code.WriteString(unindented(string(b)))
		return err
	})
	assert.NilError(t, err)
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(doc), -1)
	assert.Assert(t, len(blocks) > 3, "%d blocks of Go", len(blocks))
	for _, block := range blocks {
		assert.Check(t, strings.Contains(code.String(), "\n"+unindented(block[1])), "not in the code:\n%s", block[1])
	}
}

// unindented is a text without what its lines begin with, and with one space in a row.
func unindented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.Join(strings.Fields(line), " "))
		b.WriteByte('\n')
	}
	return b.String()
}
