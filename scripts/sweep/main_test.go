package main

import (
	"errors"
	"flag"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

// What is wrong with the command line is told from what went wrong.
func TestStatus(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "nothing")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-all"}, "-all"},
		{[]string{"clusters"}, `"clusters"`},
		{[]string{"-kubeconfig", missing}, missing},
	} {
		err := run(t.Context(), tt.args)
		assert.ErrorContains(t, err, tt.want)
		assert.Equal(t, status(err), 2)
	}
	assert.Equal(t, status(errors.New("the runtime does not answer")), 1)
	assert.Equal(t, status(run(t.Context(), []string{"-h"})), 0)
	assert.Assert(t, errors.Is(run(t.Context(), []string{"-h"}), flag.ErrHelp))
	assert.Equal(t, status(nil), 0)
}
