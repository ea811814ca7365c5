package nodeimage

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// toolchain is the environment in which go can build a module: nothing where the Go that is installed is new enough, else the choice of a
// newer one, which the go command fetches as a module.
func toolchain(ctx context.Context, m *modfile.File) ([]string, error) {
	if m.Go == nil {
		return nil, nil
	}
	out, err := goVersion(ctx, "", []string{"GOTOOLCHAIN=local"})
	if err != nil {
		return nil, err
	}
	have := goSemver(strings.TrimPrefix(strings.Fields(out)[0], "go"))
	want := goSemver(m.Go.Version)
	if semver.Compare(have, want) >= 0 {
		return []string{"GOTOOLCHAIN=local"}, nil
	}
	return []string{"GOTOOLCHAIN=go" + m.Go.Version}, nil
}

// goVersion is the version of the go command in dir and the platform it compiles for.
func goVersion(ctx context.Context, dir string, env []string) (string, error) {
	out, err := run(ctx, dir, env, nil, "go", "env", "GOVERSION", "GOARCH")
	if err != nil {
		return "", fmt.Errorf("ask for the version of Go: %w", err)
	}
	return string(out), nil
}

// goSemver writes a version of Go ("1.26", "1.27rc1", "1.26.8") so that semver can compare it.
func goSemver(v string) string {
	v, _, _ = strings.Cut(v, " ")
	for _, pre := range []string{"rc", "beta"} {
		if base, n, ok := strings.Cut(v, pre); ok {
			return semver.Canonical("v"+base) + "-" + pre + "." + n
		}
	}
	return semver.Canonical("v" + v)
}
