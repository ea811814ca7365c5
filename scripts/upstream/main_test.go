package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/suites/upstream"
)

// What the table says of the sources is the exit status, and so is that they cannot be had.
func TestRun(t *testing.T) {
	small := fstest.MapFS{}
	for _, name := range []string{"test/e2e_node/x_test.go", "test/e2e/common/node/y.go", "test/e2e/node/z.go"} {
		small[name] = &fstest.MapFile{Data: []byte("package p\n\nvar _ = ginkgo.It(\"is new\", func() {})\n")}
	}
	tests := []struct {
		name    string
		args    []string
		sources fs.FS
		err     error
		asked   string // for which version
		status  int
		want    string
	}{
		{"other sources", nil, small, nil, upstream.Relations().Kubernetes, exitDiffer, "test/e2e_node/x_test.go is not in relations.txt"},
		{"another version", []string{"-kubernetes", "v1.99.0"}, small, nil, "v1.99.0", exitDiffer, "v1.99.0: test/e2e_node/x_test.go"},
		{"no sources", nil, nil, errors.New("no proxy"), upstream.Relations().Kubernetes, exitUsage, "no proxy"},
		{"sources of something else", nil, fstest.MapFS{}, nil, upstream.Relations().Kubernetes, exitUsage, "below test/e2e_node"},
		{"an unknown flag", []string{"-version"}, nil, nil, "", exitUsage, "-version"},
		{"an argument", []string{"v1.38.0"}, nil, nil, "", exitUsage, "-kubernetes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			asked := ""
			status := run(t.Context(), tt.args, &stdout, &stderr, func(_ context.Context, version string) (fs.FS, error) {
				asked = version
				return tt.sources, tt.err
			})
			assert.Equal(t, status, tt.status, stderr.String())
			assert.Equal(t, asked, tt.asked)
			assert.Equal(t, stdout.String(), "")
			assert.Check(t, is.Contains(stderr.String(), tt.want))
		})
	}
}
