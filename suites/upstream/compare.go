package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// roots are the folders of the node suite.
var roots = []string{"test/e2e_node", "test/e2e/common/node", "test/e2e/node"}

// Compare says what the table lacks of the tests in the sources of Kubernetes, and what it has too much,
// each with what to do. The module is the root folder of k8s.io/kubernetes. An error says that
// the sources cannot be read.
func Compare(table *Table, module fs.FS) ([]string, error) {
	sources, err := read(module)
	if err != nil {
		return nil, err
	}
	return compare(table, sources), nil
}

// Module returns the folder of the module k8s.io/kubernetes of a version ("v1.37.2"), which the go
// command downloads into its cache where it is not there yet.
func Module(ctx context.Context, version string) (string, error) {
	module := "k8s.io/kubernetes@" + version
	// Outside any module, so that no go.mod has a say.
	dir, err := os.MkdirTemp(os.Getenv("GOTMPDIR"), "podorder-upstream-")
	if err != nil {
		return "", fmt.Errorf("make a temporary folder: %w", err)
	}
	defer os.RemoveAll(dir)
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	// A newer Kubernetes may ask for a newer Go, even to be read.
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOTOOLCHAIN=auto")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var got struct{ Dir, Error string }
	if bad := json.Unmarshal(out, &got); bad == nil && got.Error != "" {
		return "", fmt.Errorf("download %s: %s", module, got.Error)
	}
	if err != nil {
		return "", fmt.Errorf("download %s: %w\n%s", module, err, &stderr)
	}
	if got.Dir == "" {
		return "", fmt.Errorf("download %s: go mod download named no folder", module)
	}
	return got.Dir, nil
}

// source is a file with tests, or one whose tests are not understood.
type source struct {
	tests []string
	err   error
}

// read reads the files with tests of the node suite.
func read(module fs.FS) (map[string]source, error) {
	found := map[string]source{}
	for _, folder := range roots {
		before := len(found)
		err := fs.WalkDir(module, folder, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") {
				return err
			}
			src, err := fs.ReadFile(module, file)
			if err != nil {
				return err
			}
			if tests, err := Tests(file, src); err != nil || len(tests) > 0 {
				found[file] = source{tests, err}
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read the tests below %s: %w", folder, err)
		}
		if len(found) == before {
			return nil, fmt.Errorf("read the tests below %s: there is none; is this the module k8s.io/kubernetes?", folder)
		}
	}
	return found, nil
}

// compare says what the table lacks and what it has too much, each with what to do.
func compare(table *Table, sources map[string]source) []string {
	var out []string
	for _, f := range table.Files {
		src, ok := sources[f.Path]
		switch {
		case !ok:
			out = append(out, fmt.Sprintf("%s has no tests any more, or is gone; remove it from relations.txt", f.Path))
		case src.err != nil:
			out = append(out, src.err.Error())
		default:
			out = append(out, difference(f.Path, f.Names(), src.tests)...)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(table.Aside)) {
		if _, ok := sources[file]; !ok {
			out = append(out, fmt.Sprintf("%s has no tests any more, or is gone; remove it from what relations.txt sets aside", file))
		}
	}
	for _, file := range slices.Sorted(maps.Keys(sources)) {
		if table.Aside[file] == "" && !slices.ContainsFunc(table.Files, func(f File) bool { return f.Path == file }) {
			lines := "file " + file + "\npin " + PinOf(sources[file].tests) + "\n" + paste(sources[file].tests)
			out = append(out, fmt.Sprintf("%s is not in relations.txt; set it aside, or add\n\n%s", file, lines))
		}
	}
	return out
}

func difference(file string, table, sources []string) []string {
	var out []string
	without := func(a, b []string) []string {
		return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
	}
	if missing := without(sources, table); len(missing) > 0 {
		out = append(out, fmt.Sprintf("relations.txt lacks %d tests of %s; add, each at its place,\n\n%s", len(missing), file, paste(missing)))
	}
	if extra := without(table, sources); len(extra) > 0 {
		out = append(out, fmt.Sprintf("%s has no such tests; remove from relations.txt\n\n%s", file, paste(extra)))
	}
	if len(out) == 0 && !slices.Equal(table, sources) {
		out = append(out, fmt.Sprintf("relations.txt has the tests of %s in another order; write them as\n\n%s", file, paste(sources)))
	}
	return out
}

// paste writes tests as relations.txt has them.
func paste(tests []string) string {
	var b strings.Builder
	last := ""
	for _, name := range tests {
		chain, test := "", name
		if i := strings.LastIndex(name, Separator); i >= 0 {
			chain, test = name[:i], name[i+len(Separator):]
		}
		if chain != last {
			fmt.Fprintf(&b, "in %s\n", chain)
		}
		last = chain
		fmt.Fprintf(&b, "- %s\n", test)
	}
	return b.String()
}
