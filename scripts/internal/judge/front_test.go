package judge

import (
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/golden"
)

// TestFrontPage: the picture in README.md is what -svg draws of the trace beside it.
func TestFrontPage(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "reference", "testdata", "background-hook", "poststart-blocks")
	drawn := filepath.Join(t.TempDir(), "timeline.svg")
	status, _, errs := call(t, "", "-trace", filepath.Join(dir, "trace.jsonl"), "-svg", drawn)
	assert.Equal(t, status, 1, errs)
	drawnNow, err := os.ReadFile(drawn)
	assert.NilError(t, err)
	shown := filepath.Join(dir, "timeline.svg")
	if golden.FlagUpdate() {
		assert.NilError(t, os.WriteFile(shown, drawnNow, 0o644))
	}
	was, err := os.ReadFile(shown)
	assert.NilError(t, err)
	assert.Check(t, string(was) == string(drawnNow), "the picture is drawn otherwise now; run: make update")
	readme, err := os.ReadFile(filepath.Join("..", "..", "..", "README.md"))
	assert.NilError(t, err)
	assert.Check(t, is.Contains(string(readme), "reference/testdata/background-hook/poststart-blocks/timeline.svg"))
}
