package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/golden"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/harness/nodeimage"
	"github.com/podorder/podorder/reference"
)

// updateCommand is what a failing test tells to run.
const updateCommand = "go test ./scripts/explain -update"

// TestAllowed keeps the allowed.txt of every case equal to the model's reading
// of its Pod.
func TestAllowed(t *testing.T) {
	cases, err := fixtures.All()
	assert.NilError(t, err)
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			version, err := versionFor(c)
			assert.NilError(t, err)
			k, err := reference.ParseKubelet(version)
			assert.NilError(t, err)
			k, err = k.Configured(c.Kubelet)
			assert.NilError(t, err)
			pod, err := reference.ParsePodOf(c.Manifest, "")
			assert.NilError(t, err)
			order, err := reference.Explain(k, pod)
			assert.NilError(t, err)
			got := order.Text()
			// A case whose order is empty would allow everything.
			assert.Assert(t, strings.TrimSpace(got) != "")
			got = "# Written by: " + updateCommand + "\n" + got
			if golden.FlagUpdate() {
				path := filepath.Join("..", "..", "fixtures", filepath.FromSlash(c.ID), "allowed.txt")
				assert.NilError(t, os.WriteFile(path, []byte(got), 0o644))
				return
			}
			assert.Check(t, is.Equal(string(c.Allowed), got), "allowed.txt is not what the model reads; if the model is right, run: %s", updateCommand)
		})
	}
}

// versionFor returns the version that a case is explained for: the default one
// where the case is meant for it, else the newest that it is meant for.
func versionFor(c fixtures.Case) (string, error) {
	if c.Versions.Includes(nodeimage.Default) {
		return nodeimage.Default, nil
	}
	for minor := 60; minor >= 0; minor-- {
		for patch := 40; patch >= 0; patch-- {
			if v := fmt.Sprintf("v1.%d.%d", minor, patch); c.Versions.Includes(v) {
				return v, nil
			}
		}
	}
	return "", errors.New("no version is in the range of the case")
}

func TestVersionFor(t *testing.T) {
	for text, want := range map[string]string{
		"":                 nodeimage.Default,
		">=1.28":           nodeimage.Default,
		"<1.29":            "v1.28.40",
		"1.36.3":           "v1.36.3",
		">=1.35.0 <1.36.1": "v1.36.0",
	} {
		r, err := fixtures.ParseRange(text)
		assert.NilError(t, err)
		got, err := versionFor(fixtures.Case{Versions: r})
		assert.NilError(t, err)
		assert.Equal(t, got, want, "range %q", text)
	}
}
