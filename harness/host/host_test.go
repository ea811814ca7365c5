package host

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"
	"gotest.tools/v3/assert"
)

// machine is the root folder of an ordinary machine with some files replaced; an empty text removes the file.
func machine(changes map[string]string) fstest.MapFS {
	files := map[string]string{
		"etc/os-release":                         "PRETTY_NAME=\"Ubuntu 24.04 LTS\"\nID=ubuntu\nID_LIKE=debian\n",
		"proc/sys/kernel/osrelease":              "6.8.0\n",
		"proc/sys/kernel/pid_max":                "4194304\n",
		"proc/self/status":                       "Name:\tx\nCapBnd:\t000001ffffffffff\n",
		"proc/self/limits":                       limits("1048576", "unlimited"),
		"proc/sys/fs/inotify/max_user_instances": "8192\n",
		"proc/sys/fs/inotify/max_user_watches":   "524288\n",
		"proc/meminfo":                           "MemTotal: 16000000 kB\nMemAvailable:   8388608 kB\n",
		"sys/fs/cgroup/cgroup.controllers":       "cpu memory\n",
	}
	for name, text := range changes {
		files[name] = text
	}
	fsys := fstest.MapFS{}
	for name, text := range files {
		if text != "" {
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return fsys
}

func limits(nofile, nproc string) string {
	return "Limit                     Soft Limit           Hard Limit           Units     \n" +
		"Max processes             1024                 " + nproc + "             processes \n" +
		"Max open files            1024                 " + nofile + "            files     \n"
}

// poor is a machine without CAP_SYS_RESOURCE, on cgroup v1, with low limits.
var poor = map[string]string{
	"etc/os-release":                         "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n",
	"proc/self/status":                       "CapBnd:\t000001fffeffffff\n",
	"proc/self/limits":                       limits("20000", "96364"),
	"proc/sys/kernel/pid_max":                "32768\n",
	"proc/sys/fs/inotify/max_user_instances": "64\n",
	"sys/fs/cgroup/cgroup.controllers":       "",
}

func factsOf(t *testing.T, changes map[string]string) facts {
	t.Helper()
	f, err := readFacts(machine(changes), 0, 2)
	assert.NilError(t, err)
	return f
}

func TestReadFacts(t *testing.T) {
	f := factsOf(t, nil)
	assert.Equal(t, f.cgroup, 2)
	assert.Equal(t, f.nofile, uint64(1048576))
	assert.Equal(t, f.nproc, uint64(unlimited))
	assert.Equal(t, f.memory, uint64(8)<<30)
	assert.Equal(t, len(f.missing()), 0)
	assert.Assert(t, f.debian())

	f = factsOf(t, poor)
	assert.Equal(t, f.cgroup, 1)
	assert.DeepEqual(t, f.missing(), []string{"CAP_SYS_RESOURCE"})
	assert.Assert(t, !f.can(unix.CAP_SYS_RESOURCE))
	assert.Equal(t, f.name, "Debian GNU/Linux 12 (bookworm)")
}

func TestReadFactsSaysWhichFile(t *testing.T) {
	for name, text := range map[string]string{
		"proc/self/status":                       "Name:\tx\n",
		"proc/self/limits":                       "nothing\n",
		"proc/meminfo":                           "MemTotal: 1 kB\n",
		"proc/sys/fs/inotify/max_user_instances": "many\n",
		"proc/sys/fs/inotify/max_user_watches":   "",
		"proc/sys/kernel/pid_max":                "",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readFacts(machine(map[string]string{name: text}), 0, 2)
			assert.ErrorContains(t, err, name)
		})
	}
}

func TestAdaptations(t *testing.T) {
	t.Run("an ordinary machine needs none", func(t *testing.T) {
		f := factsOf(t, nil)
		assert.Equal(t, containersConf(f, true), "")
		assert.Equal(t, len(kubeadmPatches(f, "v1.37.2")), 0)
		assert.Equal(t, len(containerdPatches(f)), 0)
	})
	t.Run("a poor machine", func(t *testing.T) {
		f := factsOf(t, poor)
		assert.Equal(t, containersConf(f, true),
			"[containers]\ndefault_ulimits = [\"nofile=20000:20000\", \"nproc=32768:32768\"]\n[engine]\nruntime = \"runc\"\n")
		both := []string{"kind: KubeletConfiguration\ncgroupDriver: cgroupfs\nfailCgroupV1: false\n"}
		assert.DeepEqual(t, kubeadmPatches(f, "v1.37.2"), both)
		assert.DeepEqual(t, kubeadmPatches(f, "v1.31.0-beta.0"), both)
		assert.DeepEqual(t, kubeadmPatches(f, "v1.28.5"), []string{"kind: KubeletConfiguration\ncgroupDriver: cgroupfs\n"})
		patches := strings.Join(containerdPatches(f), "")
		assert.Assert(t, strings.Contains(patches, "restrict_oom_score_adj = true"))
		assert.Equal(t, strings.Count(patches, "SystemdCgroup = false"), 2)
	})
	t.Run("runc is not asked for where it is not installed", func(t *testing.T) {
		assert.Assert(t, !strings.Contains(containersConf(factsOf(t, poor), false), "runc"))
	})
	t.Run("unlimited stays below what Podman gives", func(t *testing.T) {
		f := factsOf(t, poor)
		f.nofile, f.nproc = math.MaxUint64, math.MaxUint64
		assert.Assert(t, strings.Contains(containersConf(f, false), `"nofile=1048576:1048576", "nproc=32768:32768"`))
	})
}

func TestReportLines(t *testing.T) {
	small := func(f facts, disk uint64) []string {
		var names []string
		for _, l := range reportLines(f, disk, "/var/lib") {
			if l.small != "" {
				names = append(names, l.name)
			}
		}
		return names
	}
	assert.DeepEqual(t, small(factsOf(t, nil), 100<<30), []string(nil))
	f := factsOf(t, poor)
	f.cpus, f.memory, f.nofile = 1, 1<<30, 1024
	assert.DeepEqual(t, small(f, 1<<30), []string{"open files", "inotify instances", "CPUs", "memory available", "disk free"})
}

func TestAdvice(t *testing.T) {
	f := factsOf(t, nil)
	assert.Equal(t, f.advice(false), "")
	assert.Assert(t, strings.Contains(f.advice(true), "-no-install"))
	assert.Assert(t, strings.Contains(f.advice(true), "apt-get install podman"))
	f.uid = 1000
	assert.Assert(t, strings.Contains(f.advice(false), "As root: apt-get install podman"))
	f = factsOf(t, map[string]string{"etc/os-release": "ID=fedora\nPRETTY_NAME=\"Fedora 44\"\n"})
	assert.Assert(t, strings.Contains(f.advice(false), "This is Fedora 44. Install Podman, or Docker"))
	f = factsOf(t, map[string]string{"etc/os-release": ""})
	assert.Assert(t, strings.Contains(f.advice(false), "Install Podman, or Docker"))
}

// fake puts scripts in the place of the container runtimes; the go command stays.
func fake(t *testing.T, scripts map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, script := range scripts {
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755))
	}
	goTool, err := filepath.EvalSymlinks(goPath(t))
	assert.NilError(t, err)
	// Only what the scripts need, so that a runtime of this machine is not found.
	t.Setenv("PATH", dir+":"+filepath.Dir(goTool)+":"+linked(t, "cat", "sh", "echo"))
	t.Setenv("KIND_EXPERIMENTAL_PROVIDER", "")
}

func TestDetectTakesTheFirstThatRunsPrivileged(t *testing.T) {
	const works = `case $1 in run) echo ok 1ff;; version) echo 9.9;; info) echo /nowhere;; esac`
	tests := []struct {
		name    string
		scripts map[string]string
		runtime string
		passed  []string
	}{
		{"docker", map[string]string{"docker": works, "podman": works}, "docker", nil},
		{
			"a daemon that does not answer", map[string]string{
				"docker": `case $1 in version) echo "no daemon" >&2; exit 1;; esac`, "podman": works,
			}, "podman", []string{"docker: installed, but does not answer: no daemon"},
		},
		{
			"privileged is refused", map[string]string{
				"docker": `case $1 in version) echo 20.10;; run) echo "unable to apply caps" >&2; exit 125;; esac`, "podman": works,
			}, "podman", []string{"docker: cannot run a privileged container: unable to apply caps"},
		},
		{
			"privileged does not mean privileged", map[string]string{
				"docker": `case $1 in version) echo 20.10;; run) echo "cannot mount a tmpfs: operation not permitted"; exit 1;; esac`, "nerdctl": works,
			}, "nerdctl", []string{"docker: a privileged container cannot mount a tmpfs: operation not permitted", "podman: not installed"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fake(t, tt.scripts)
			h, err := detect(context.Background(), Options{NoInstall: true}, factsOf(t, nil))
			assert.NilError(t, err)
			assert.Equal(t, h.Runtime(), tt.runtime)
			assert.DeepEqual(t, h.notes, tt.passed)
			assert.DeepEqual(t, h.Environ(), []string{"KIND_EXPERIMENTAL_PROVIDER=" + tt.runtime})
			assert.Assert(t, strings.HasPrefix(h.Report(), "container runtime  "+tt.runtime+" "), h.Report())
			assert.NilError(t, h.Close())
		})
	}
}

func TestDetectFindsNone(t *testing.T) {
	fake(t, map[string]string{"docker": `echo "permission denied" >&2; exit 1`})
	_, err := detect(context.Background(), Options{NoInstall: true}, factsOf(t, nil))
	for _, want := range []string{"docker: installed, but does not answer: permission denied", "podman: not installed", "nerdctl: not installed", "apt-get install podman"} {
		assert.ErrorContains(t, err, want)
	}

	t.Setenv("KIND_EXPERIMENTAL_PROVIDER", "lxc")
	_, err = detect(context.Background(), Options{NoInstall: true}, factsOf(t, nil))
	assert.ErrorContains(t, err, `KIND_EXPERIMENTAL_PROVIDER="lxc"`)
}

// Who is killed while a runtime is tried leaves a folder, and an image that is called after it.
func TestDetectRemovesTheProbeOfAKilledRun(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	called := filepath.Join(t.TempDir(), "called")
	fake(t, map[string]string{"docker": `echo "$@" >>` + called + `; case $1 in run) echo ok 1ff;; version) echo 9.9;; info) echo /nowhere;; esac`})
	ended := exec.Command("cat")
	assert.NilError(t, ended.Run())
	left := filepath.Join(os.TempDir(), fmt.Sprintf("podorder-probe-%d-7", ended.Process.Pid))
	assert.NilError(t, os.Mkdir(left, 0o755))
	h, err := detect(t.Context(), Options{NoInstall: true}, factsOf(t, nil))
	assert.NilError(t, err)
	assert.NilError(t, h.Close())
	text, err := os.ReadFile(called)
	assert.NilError(t, err)
	assert.Assert(t, strings.Contains(string(text), fmt.Sprintf("rmi -f localhost/podorder/probe:%d-7\n", ended.Process.Pid)), "%s", text)
	entries, err := os.ReadDir(os.TempDir())
	assert.NilError(t, err)
	assert.Equal(t, len(entries), 0)
}

// Podman that refuses is not installed once more.
func TestDetectDoesNotReinstall(t *testing.T) {
	fake(t, map[string]string{
		"podman":  `case $1 in version) echo 4.3;; run) echo "refused" >&2; exit 125;; esac`,
		"apt-get": `echo "must not be called" >&2; exit 1`,
	})
	_, err := detect(context.Background(), Options{}, factsOf(t, nil))
	assert.ErrorContains(t, err, "podman: cannot run a privileged container: refused")
	assert.ErrorContains(t, err, "allow privileged containers")
}

func TestDetectInstallsPodman(t *testing.T) {
	fake(t, nil)
	dir := strings.Split(os.Getenv("PATH"), ":")[0]
	script := "#!/bin/sh\n"
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "apt-cache"), []byte(script+"echo '  Candidate: 4.3'\n"), 0o755))
	podman := `case $1 in run) echo ok 1ff;; version) echo 4.3;; info) echo /nowhere;; esac`
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "apt-get"),
		[]byte(script+"cat > "+dir+"/podman <<'E'\n"+script+podman+"\nE\n/bin/chmod +x "+dir+"/podman\n"), 0o755))
	var said []string
	h, err := detect(context.Background(), Options{Progress: func(f string, _ ...any) { said = append(said, f) }}, factsOf(t, poor))
	assert.NilError(t, err)
	assert.Equal(t, h.Runtime(), "podman")
	assert.Assert(t, strings.Contains(strings.Join(said, "\n"), "installing"), "%q", said)

	// On a poor machine the runtime gets private configuration, and Close removes it.
	conf, ok := strings.CutPrefix(h.Environ()[1], "CONTAINERS_CONF=")
	assert.Assert(t, ok)
	text, err := os.ReadFile(conf)
	assert.NilError(t, err)
	assert.Assert(t, strings.Contains(string(text), "nofile=20000:20000"))
	assert.NilError(t, h.Close())
	_, err = os.Stat(filepath.Dir(conf))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestEnsureModulesFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "lib", "modules")
	made, err := ensureModulesFolder(folder)
	assert.NilError(t, err)
	assert.Assert(t, made)
	made, err = ensureModulesFolder(folder)
	assert.NilError(t, err)
	assert.Assert(t, !made)

	file := filepath.Join(t.TempDir(), "file")
	assert.NilError(t, os.WriteFile(file, nil, 0o644))
	_, err = ensureModulesFolder(filepath.Join(file, "modules"))
	assert.ErrorContains(t, err, "as root: mkdir "+filepath.Join(file, "modules"))
}

func TestRemoveLeft(t *testing.T) {
	parent := t.TempDir()
	for _, name := range []string{"podorder-host-1-abc", "podorder-host-2-abc", "podorder-probe-2-x", "podorder-host-none-x", "podorder-other-2-x"} {
		assert.NilError(t, os.MkdirAll(filepath.Join(parent, name, "inside"), 0o755))
	}
	left, err := leftFolders(parent, func(pid int) bool { return pid == 1 })
	assert.NilError(t, err)
	assert.NilError(t, removeLeft(t.Context(), nil, left))
	entries, err := os.ReadDir(parent)
	assert.NilError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	assert.DeepEqual(t, names, []string{"podorder-host-1-abc", "podorder-host-none-x", "podorder-other-2-x"})
	assert.Assert(t, alive(os.Getpid()))
	ended := exec.Command("cat") // which nobody has reaped
	input, err := ended.StdinPipe()
	assert.NilError(t, err)
	assert.NilError(t, ended.Start())
	assert.Assert(t, alive(ended.Process.Pid))
	fd, err := unix.PidfdOpen(ended.Process.Pid, 0)
	assert.NilError(t, err)
	defer unix.Close(fd)
	assert.NilError(t, input.Close())
	_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10_000)
	assert.NilError(t, err)
	assert.Assert(t, !alive(ended.Process.Pid))
	assert.NilError(t, ended.Wait())
}
