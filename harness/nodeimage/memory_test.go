package nodeimage

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestCompilerEnv(t *testing.T) {
	t.Setenv("GOGC", "")
	assert.DeepEqual(t, compilerEnv(plenty), []string{"GOGC=off"})
	assert.Equal(t, len(compilerEnv(plenty-1)), 0)
	assert.Equal(t, len(compilerEnv(0)), 0)
	t.Setenv("GOGC", "50")
	assert.Equal(t, len(compilerEnv(plenty)), 0)
	assert.Assert(t, memory() > 0)
}
