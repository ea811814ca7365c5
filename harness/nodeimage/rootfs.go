package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/podorder/podorder/harness/host"
)

// mirror is where the system itself gets its packages from.
type mirror struct {
	suite string // code name of the release: "bookworm"
	lines string // sources.list
}

// systemMirror reads the mirrors from the system's own apt configuration, leaving out what does not belong to the distribution.
func systemMirror(ctx context.Context, h *host.Host, say func(string, ...any)) (mirror, error) {
	read := func() (mirror, error) {
		out, err := run(ctx, "", nil, nil, "apt-get", "indextargets", "--format", "$(ORIGIN)|$(SITE)|$(RELEASE)|$(COMPONENT)", "Created-By: Packages")
		if err != nil {
			return mirror{}, fmt.Errorf("read the system's package mirrors: %w", err)
		}
		return parseMirror(string(out))
	}
	m, err := read()
	if errors.Is(err, errNoMirror) {
		// Which distribution a mirror belongs to is in the lists, and a new machine has none.
		say("reading the lists of packages")
		if err := h.UpdatePackageLists(ctx); err != nil {
			return mirror{}, err
		}
		m, err = read()
	}
	return m, err
}

var errNoMirror = errors.New("the system's apt knows no mirror of Debian or Ubuntu")

func parseMirror(targets string) (mirror, error) {
	var m mirror
	type source struct{ site, release string }
	var order []source
	components := map[source][]string{}
	for line := range strings.Lines(targets) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 4 || f[0] != "Debian" && f[0] != "Ubuntu" {
			continue
		}
		s := source{f[1], f[2]}
		if components[s] == nil {
			order = append(order, s)
		}
		components[s] = append(components[s], f[3])
		// bookworm among bookworm, bookworm-updates and bookworm-security
		if base, _, _ := strings.Cut(f[2], "-"); m.suite == "" || f[2] == base {
			m.suite = base
		}
	}
	if m.suite == "" {
		return m, errNoMirror
	}
	for _, s := range order {
		m.lines += fmt.Sprintf("deb %s %s %s\n", s.site, s.release, strings.Join(components[s], " "))
	}
	return m, nil
}

// pullInstead is what to do on a machine that cannot build.
func pullInstead() string {
	versions := slices.SortedFunc(maps.Keys(digests), func(a, b string) int { return semver.Compare(b, a) })
	return "or choose a version that can be pulled: " + strings.Join(versions, ", ")
}

// ensureBuilder installs what the building machine lacks, if it may.
func ensureBuilder(ctx context.Context, h *host.Host, say func(string, ...any)) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("building a node image takes the packages of Debian or Ubuntu, and this system has no apt-get; %s", pullInstead())
	}
	var missing []string
	for _, p := range builderPackages {
		out, err := exec.CommandContext(ctx, "dpkg-query", "-W", "-f", "${Status}", p).Output()
		if err != nil || !strings.HasSuffix(string(out), " installed") {
			missing = append(missing, p)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if err := h.InstallPackages(ctx, say, missing...); err != nil {
		return fmt.Errorf("make this machine ready to build a node image: %w; %s", err, pullInstead())
	}
	return nil
}

// addPackages makes this machine ready to build, and finds out where it gets its packages from.
func (b *builder) addPackages(g *graph) *made[mirror] {
	return add(g, task[mirror]{
		name: "packages", line: func() string { return "packages for building" },
		make: func(ctx context.Context, s *step) (mirror, error) {
			if err := ensureBuilder(ctx, b.host, s.note); err != nil {
				return mirror{}, err
			}
			return systemMirror(ctx, b.host, s.note)
		},
	})
}

// addRoot makes a root file system of packages. One after the other: each keeps the disk and the network busy.
func (b *builder) addRoot(g *graph, name, variant string, packages []string, hook string, mirrors *made[mirror], after ...need) *made[piece] {
	return add(g, task[piece]{
		name: name, needs: append([]need{mirrors}, after...), line: func() string { return name + ": root file system of packages" },
		make: func(ctx context.Context, s *step) (piece, error) {
			m := from(s, mirrors)
			key := keyOf(append([]string{recipeRevision, m.lines, m.suite, variant, hook, runtime.GOARCH}, packages...)...)
			return b.store.piece(name, key, func(dir string) error { return makeRoot(ctx, dir, m, variant, packages, hook) })
		},
	})
}

// nodeRootHook takes out of the node's root file system the units that have no place in a container; what kind needs is enabled later.
const nodeRootHook = `cd "$1" && rm -f etc/systemd/system/*.wants/* lib/systemd/system/multi-user.target.wants/* lib/systemd/system/local-fs.target.wants/* ` +
	`lib/systemd/system/sockets.target.wants/*udev* lib/systemd/system/sockets.target.wants/*initctl* lib/systemd/system/basic.target.wants/* ` +
	`lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service`

// mergedUsr are the hooks with which mmdebstrap lays out /usr as current releases expect it.
const mergedUsr = "/usr/share/mmdebstrap/hooks/merged-usr"

// makeRoot writes a root file system of Debian packages to dir/root.tar.
func makeRoot(ctx context.Context, dir string, m mirror, variant string, packages []string, hook string) error {
	list := filepath.Join(dir, "sources.list")
	if err := os.WriteFile(list, []byte(m.lines), 0o644); err != nil {
		return fmt.Errorf("write the list of mirrors: %w", err)
	}
	defer os.Remove(list)
	args := []string{"--quiet", "--variant=" + variant, "--include=" + strings.Join(packages, ",")}
	if variant == "extract" {
		if _, err := os.Stat(mergedUsr); err == nil {
			args = append(args, "--hook-dir="+mergedUsr)
		}
	}
	for _, p := range []string{"man", "doc", "locale", "info"} {
		args = append(args, "--dpkgopt=path-exclude=/usr/share/"+p+"/*")
	}
	if hook != "" {
		args = append(args, "--customize-hook="+hook)
	}
	args = append(args, m.suite, filepath.Join(dir, "root.tar"), list)
	if _, err := run(ctx, "", []string{"TMPDIR=" + dir}, nil, "mmdebstrap", args...); err != nil {
		return fmt.Errorf("make a root file system of Debian packages: %w", err)
	}
	return nil
}
