package rules

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestTables(t *testing.T) { assert.NilError(t, checkTables()) }
