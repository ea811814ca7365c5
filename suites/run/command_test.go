package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/report"
	"github.com/podorder/podorder/report/forms"
)

// fakeRuntime is a container runtime as far as finding one goes: it says that
// it ran the probe. It has no images and can pull none.
const fakeRuntime = `#!/bin/sh
case "$1" in
version) echo 28.0.0 ;;
run) echo "ok 000001ffffffffff" ;;
image|images|pull|inspect|manifest) echo "no such image" >&2; exit 1 ;;
esac
`

// later is a case that is for later kubelets than v1.28.5.
const later = "restart/all-containers"

// hangPatience is how long the command of a test may take: patience, so that a
// command that waits for a cluster forever fails the test and not the run.
const hangPatience = 2 * time.Minute

// TestCommand runs the suite as a user does, where it cannot get as far as a
// case: one error says what, where and what to do, and the exit status is not 0.
func TestCommand(t *testing.T) {
	dir := t.TempDir()
	binary := build(t, dir)
	env := environment(t, dir, fakeRuntime)
	missing := filepath.Join(dir, "nothing")
	garbled := filepath.Join(dir, "garbled")
	assert.NilError(t, os.WriteFile(garbled, []byte("a: [\n"), 0o600))
	wrong := own(t, "web")
	assert.NilError(t, os.WriteFile(filepath.Join(wrong, "web", "case.yaml"), []byte("title: A.\nrules: []\n"), 0o600))
	silent := kubeconfig(t, dir, closedPort(t))

	tests := []struct {
		name   string
		args   []string
		status int
		want   []string
	}{
		{"an unknown case", []string{"-cases", "hooks/none"}, exitUsage, []string{"hooks/none", "hooks/", "-list"}},
		{"no folder of cases", []string{"-fixtures", missing}, exitUsage, []string{"-fixtures", missing}},
		{"a case that is wrong", []string{"-fixtures", wrong}, exitUsage, []string{filepath.Join(wrong, "web", "case.yaml") + ":2: ", "field rules"}},
		{"a shard that is none", []string{"-shard=3/2"}, exitUsage, []string{"-shard", "3/2"}},
		{"more shards than cases", []string{"-shard=1/9", "-cases=^hooks/poststart-block"}, exitUsage, []string{"-shard", "give at most 2"}},
		{"nothing that is short", []string{"-test.short", "-cases=restart/backoff-doubles"}, exitUsage, []string{"-short", "30s"}},
		{"a pattern that is none", []string{"-cases", "("}, exitUsage, []string{"-cases"}},
		{"a version that is none", []string{"-kubernetes", "newest"}, exitUsage, []string{"-kubernetes", `"newest"`}},
		{"a kubelet that is none", []string{"-kubelets", "v1.37.2,newest"}, exitUsage, []string{"-kubelets", `"newest"`}},
		{"a kubelet that is not built", []string{"-kubelets", "v1.99.0"}, exitUsage, []string{"-kubelets", "v1.99.0"}},
		{"a missing kubeconfig", []string{"-kubeconfig", missing}, exitUsage, []string{missing, "no such file"}},
		{"a kubeconfig that is none", []string{"-kubeconfig", garbled}, exitUsage, []string{garbled}},
		{"a context that is not there", []string{"-kubeconfig", silent, "-context", "other"}, exitUsage, []string{silent, `"other"`, "test"}},
		{"a cluster that does not answer", []string{"-kubeconfig", silent}, exitFailed, []string{`"test"`, "does not answer", "127.0.0.1"}},
		{"a list for a cluster that does not answer", []string{"-kubeconfig", silent, "-list"}, exitFailed, []string{`"test"`, "does not answer"}},
		{"a version that cannot be had", []string{"-kubernetes", "v1.99.0"}, exitUsage, []string{"v1.99.0"}},
		{"a cluster that exists and an image for one that does not", []string{"-kubeconfig", silent, "-node-image", "x"}, exitUsage, []string{"-node-image", "-kubeconfig"}},
		{"an argument", []string{"somewhere"}, exitUsage, []string{`"somewhere"`, "-args"}},
		{"an unknown flag", []string{"-kubernets", "v1.37.2"}, exitUsage, []string{"-kubernets"}},
		{"a namespace", []string{"-namespace", "here"}, exitUsage, []string{"-namespace", "a namespace of its own", "-keep"}},
		{"another parallel", []string{"-parallel"}, exitUsage, []string{"side by side", "-parallel=N"}},
		{"an assessment", []string{"-assess=verdict"}, exitUsage, []string{"-assess", "-cases"}},
		{"no assessment", []string{"-skip-assessment=verdict"}, exitUsage, []string{"-skip-assessment", "-skip-labels"}},
		{"no clean-up", []string{"-disable-graceful-teardown"}, exitUsage, []string{"-keep"}},
		{"a count", []string{"-test.count=2"}, exitUsage, []string{"-repeat=2"}},
		{"numbers of CPUs", []string{"-test.cpu=1,2"}, exitUsage, []string{"-repeat"}},
		{"a name that is no pattern", []string{"-feature=("}, exitUsage, []string{"-feature"}},
		{"tests that are no pattern", []string{"-test.run=TestHooks/("}, exitUsage, []string{"-run"}},
		{"labels that no case has", []string{"-labels=group=hook"}, exitUsage, []string{"no case is selected", "-labels"}},
		{"tests that there are none of", []string{"-test.run=TestNone"}, exitUsage, []string{"no case is selected", "-run"}},
		{"a case that is for other kubelets", []string{"-kubernetes=v1.28.5", "-cases=" + later}, exitUsage, []string{"v1.28.5", later}},
		{"a gate that there is none of", []string{"-feature-gates=Nothing=true"}, exitUsage, []string{"-feature-gates", "ContainerStopSignals"}},
		{"a gate that is no more", []string{"-feature-gates=SidecarContainers=true"}, exitUsage, []string{"-feature-gates", "v1.37.2"}},
		{"no time at all", []string{"-test.timeout=6s"}, exitUsage, []string{"6 s", "-timeout=50m"}},
		{"too little time for what has to be made", []string{"-test.timeout=90s", "-kubernetes=v1.30.6"}, exitUsage, []string{"90 s", "building the node image of v1.30.6", "-timeout=50m"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			artifacts, tmp := t.TempDir(), t.TempDir()
			ctx, cancel := context.WithTimeout(t.Context(), hangPatience)
			defer cancel()
			cmd := exec.CommandContext(ctx, binary, append([]string{"-test.v", "-artifacts", artifacts, "-no-install"}, tt.args...)...)
			cmd.Dir = ".."
			cmd.Env = append(slices.Clone(env), "TMPDIR="+tmp)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err := cmd.Run()
			assert.NilError(t, ctx.Err(), "%s%s", &stdout, &stderr)
			var exit *exec.ExitError
			assert.Assert(t, errors.As(err, &exit), "exit status 0:\n%s%s", &stdout, &stderr)
			assert.Check(t, is.Equal(exit.ExitCode(), tt.status), "%s%s", &stdout, &stderr)
			for _, want := range tt.want {
				assert.Check(t, is.Contains(stderr.String(), want))
			}
			// Package flag words what it finds itself.
			own := strings.Count(stderr.String(), "podorder: ") == 1
			flags := strings.HasSuffix(stderr.String(), "the flags: go test ./suites -args -h\n") && strings.Count(stderr.String(), "\n") == 2
			assert.Check(t, own != flags, "not one error: %s", &stderr)
			assert.Check(t, !strings.Contains(stderr.String()+stdout.String(), "goroutine "), "a stack is no explanation:\n%s%s", &stdout, &stderr)
			// No temporary file stays.
			left, err := os.ReadDir(tmp)
			assert.NilError(t, err)
			for _, f := range left {
				t.Errorf("left behind: %s", f.Name())
			}
		})
	}

	// What is listed is what a run with the same flags would run.
	mine := own(t, "web", "shop/api")
	t.Run("list", func(t *testing.T) {
		tests := []struct {
			name     string
			args     []string
			has, not []string
		}{
			{"cases", []string{"-cases=^hooks/"}, []string{"hooks/poststart-blocks\n", "    rules    hooks/poststart-blocks-next", "MUST rules are named by a case\n"}, []string{"article/"}},
			{"labels", []string{"-labels=group=hooks"}, []string{"hooks/poststart-blocks\n"}, []string{"article/", "probes/startup-gates\n"}},
			{"labels left out", []string{"-skip-labels=group=hooks,long=true"}, []string{"probes/startup-gates\n"}, []string{"hooks/", "long=true"}},
			{"a kubelet's label", []string{"-kubelets=v1.28.5,v1.37.2", "-labels=kubelet=v1.28.5", "-cases=^hooks/poststart-blocks$"}, []string{"runs on  v1.28.5\n", "\n1 case of "}, nil},
			{"what is short", []string{"-test.short", "-cases=^restart/"}, []string{"restart/serial\n"}, []string{"restart/backoff-doubles"}},
			{"a shard", []string{"-shard=1/2", "-cases=^hooks/poststart-blocks"}, []string{"\n1 case of "}, nil},
			{"own cases", []string{"-fixtures=" + mine}, []string{"shop/api\n", "web\n", "\n2 cases\n"}, []string{"hooks/"}},
			{"one of them by its test", []string{"-fixtures=" + mine, "-test.run=TestOwn/^shop$/^api$"}, []string{"shop/api\n", "\n1 case of 2\n"}, nil},
			{"own cases beside the others", []string{"-fixtures=built-in," + mine, "-labels=group=own"}, []string{"web\n", "\n2 cases of "}, []string{"hooks/"}},
			{"a name", []string{"-feature=^poststart-blocks$"}, []string{"hooks/poststart-blocks\n", "\n1 case of "}, nil},
			{"a name left out", []string{"-cases=^hooks/", "-skip-features=^poststart-blocks$"}, []string{"hooks/"}, []string{"hooks/poststart-blocks\n"}},
			{"a test", []string{"-test.run=TestHooks/^poststart-blocks$"}, []string{"hooks/poststart-blocks\n", "\n1 case of "}, nil},
			{"a test left out", []string{"-test.skip=TestHooks", "-test.v"}, []string{"article/"}, []string{"hooks/poststart-blocks\n", "=== RUN"}},
			{"a kubelet that it is not for", []string{"-kubernetes=v1.28.5"}, []string{"not for kubelet v1.28.5, and skipped there: "}, []string{"\n" + later + "\n"}},
		}
		for _, tt := range tests {
			for _, flag := range []string{"-list", "-dry-run"} {
				t.Run(tt.name+flag, func(t *testing.T) {
					t.Parallel()
					cmd := exec.CommandContext(t.Context(), binary, append(tt.args, flag)...)
					cmd.Dir = ".."
					out, err := cmd.CombinedOutput()
					assert.NilError(t, err, "%s", out)
					text := "\n" + string(out)
					for _, want := range tt.has {
						assert.Check(t, is.Contains(text, want))
					}
					for _, no := range tt.not {
						rules := regexp.MustCompile(`(?m)^    .*$|^not for .*$`).ReplaceAllString(text, "")
						if no == "long=true" {
							rules = text
						}
						assert.Check(t, !strings.Contains(rules, no), "%s", rules)
					}
				})
			}
		}
	})
	t.Run("help", func(t *testing.T) {
		cmd := exec.CommandContext(t.Context(), binary, "-h")
		cmd.Dir = ".."
		out, err := cmd.CombinedOutput()
		assert.NilError(t, err)
		assert.Check(t, is.Contains(string(out), "-kubelet-files"))
		assert.Check(t, !strings.Contains(string(out), "not here"), "%s", out)
	})
	t.Run("test.list", func(t *testing.T) {
		cmd := exec.CommandContext(t.Context(), binary, "-test.list", ".")
		cmd.Dir = ".."
		out, err := cmd.Output()
		assert.NilError(t, err)
		assert.Check(t, is.Contains(string(out), "TestHooks\n"))
	})
}

// build makes the binary that go test would run.
func build(t *testing.T, dir string) string {
	t.Helper()
	binary := filepath.Join(dir, "suites.test")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", binary, ".")
	cmd.Dir = ".."
	out, err := cmd.CombinedOutput()
	assert.NilError(t, err, "%s", out)
	return binary
}

// environment returns the variables for a command that finds a container
// runtime played by a script, and none of this machine's.
func environment(t *testing.T, dir, script string) []string {
	t.Helper()
	bin := filepath.Join(dir, "bin")
	assert.NilError(t, os.MkdirAll(bin, 0o755))
	assert.NilError(t, os.WriteFile(filepath.Join(bin, "docker"), []byte(script), 0o755))
	// Node images are built in the user's cache, where another build may be
	// under way; what go itself has cached is still wanted.
	gocache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	assert.NilError(t, err)
	return append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "GITHUB_STEP_SUMMARY=",
		"KIND_EXPERIMENTAL_PROVIDER=docker",
		"XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "GOCACHE="+strings.TrimSpace(string(gocache)))
}

// TestInterrupt: a run that is interrupted while it waits for something says
// so, reports that it had no cluster, leaves no other file, and ends with the status of the signal.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	binary := build(t, dir)
	called := filepath.Join(dir, "called")
	assert.NilError(t, unix.Mkfifo(called, 0o600))
	// Without exec the shell would take the signal and leave sleep behind.
	env := environment(t, dir, "#!/bin/sh\necho yes > "+called+"\nexec sleep 1000\n")
	ctx, cancel := context.WithTimeout(t.Context(), hangPatience)
	defer cancel()
	tmp, artifacts := t.TempDir(), t.TempDir()
	cmd := exec.CommandContext(ctx, binary, "-artifacts", artifacts, "-no-install")
	cmd.Dir = ".."
	cmd.Env = append(env, "TMPDIR="+tmp)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	assert.NilError(t, cmd.Start())
	b, err := os.ReadFile(called) // waits until the runtime is called
	assert.NilError(t, err)
	assert.Equal(t, string(b), "yes\n")
	assert.NilError(t, cmd.Process.Signal(os.Interrupt))
	var exit *exec.ExitError
	assert.Assert(t, errors.As(cmd.Wait(), &exit), out.String())
	assert.Equal(t, exit.ExitCode(), 130, out.String())
	assert.Check(t, is.Contains(out.String(), "interrupted: SIGINT"))
	r, err := report.Read(artifacts)
	assert.NilError(t, err)
	assert.Equal(t, len(r.Clusters), 1)
	assert.Check(t, is.Contains(r.Clusters[0].Failed, "SIGINT"))
	junit, err := os.ReadFile(filepath.Join(artifacts, forms.JUnit))
	assert.NilError(t, err)
	assert.Check(t, is.Contains(string(junit), `<testcase name="make cluster 1"`))
	left, err := os.ReadDir(tmp)
	assert.NilError(t, err)
	assert.Check(t, is.Len(left, 0))
}

// closedPort returns an address of this machine at which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func kubeconfig(t *testing.T, dir, address string) string {
	t.Helper()
	path := filepath.Join(dir, "kubeconfig")
	assert.NilError(t, os.WriteFile(path, fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: test
clusters: [{name: test, cluster: {server: "https://%s"}}]
users: [{name: test, user: {}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
`, address), 0o600))
	return path
}
