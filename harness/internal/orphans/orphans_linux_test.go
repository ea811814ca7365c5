package orphans

import (
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/harness/internal/orphans/orphanstest"
)

// A build is ended by the folder that it works in; whatever else has the same environment is left alone.
func TestEnd(t *testing.T) {
	dir := t.TempDir()
	in, below := orphanstest.Start(t, "go", dir), orphanstest.Start(t, "go", filepath.Join(dir, "tmp-1", ".tmp"))
	conmon, elsewhere := orphanstest.Start(t, "conmon", dir), orphanstest.Start(t, "go", dir+"4")
	assert.NilError(t, End(dir))
	assert.Assert(t, orphanstest.Ended(t, in))
	assert.Assert(t, orphanstest.Ended(t, below))
	assert.Assert(t, !orphanstest.Ended(t, conmon))
	assert.Assert(t, !orphanstest.Ended(t, elsewhere))
	assert.NilError(t, End(filepath.Join(dir, "nothing")))
}
