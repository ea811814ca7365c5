package shutdown

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"gotest.tools/v3/assert"
)

// scenario names the variable that makes the test binary play a run, which a test then ends.
const scenario = "PODORDER_SHUTDOWN_SCENARIO"

func TestMain(m *testing.M) {
	if name := os.Getenv(scenario); name != "" {
		os.Exit(play(name))
	}
	os.Exit(m.Run())
}

// play is a run that says "running", and "cleaned" when it is cleaned up.
func play(name string) int {
	o := Options{Grace: time.Minute}
	switch name {
	case "deadline":
		o.Timeout, o.Margin = time.Hour, time.Hour // it is near at once
	case "stubborn":
		o.Grace = time.Millisecond
	}
	s := New(context.Background(), o)
	defer s.Recover()
	s.OnEnd("first", func(context.Context) error { fmt.Println("cleaned"); return nil })
	switch name {
	case "panic":
		fmt.Println("running")
		panic("on purpose")
	case "panic elsewhere":
		fmt.Println("running")
		go func() {
			defer s.Recover()
			panic("on purpose")
		}()
		select {}
	case "stubborn":
		fmt.Println("running")
		select {} // a run that does not look at its context
	case "hangs":
		child := exec.Command("sleep", "1000")
		if err := child.Start(); err != nil {
			fmt.Println(err)
			return 1
		}
		s.OnEnd("hanging", func(context.Context) error {
			fmt.Println("hanging", child.Process.Pid)
			select {}
		})
	case "failing":
		s.OnEnd("bad", func(context.Context) error { return errors.New("no luck") })
		s.OnEnd("worse", func(context.Context) error { panic("no luck at all") })
		return s.End(0)
	case "deaf":
		// Prints until nobody listens, and says so in a file, because it cannot say so otherwise.
		s.OnEnd("note", func(context.Context) error { return os.WriteFile(os.Getenv("NOTE"), []byte("cleaned"), 0o600) })
		for s.Context().Err() == nil {
			fmt.Println("running")
		}
		return s.End(0)
	}
	fmt.Println("running")
	<-s.Context().Done()
	fmt.Println(context.Cause(s.Context()))
	return s.End(0)
}

// run is a scenario that plays in a process of its own.
type run struct {
	t      *testing.T
	cmd    *exec.Cmd
	out    *bufio.Reader
	stderr bytes.Buffer
}

func start(t *testing.T, name string, env ...string) *run {
	t.Helper()
	r := &run{t: t, cmd: exec.Command(os.Args[0])}
	r.cmd.Env = append(append(os.Environ(), scenario+"="+name), env...)
	r.cmd.Stderr = &r.stderr
	out, err := r.cmd.StdoutPipe()
	assert.NilError(t, err)
	r.out = bufio.NewReader(out)
	assert.NilError(t, r.cmd.Start())
	t.Cleanup(func() { _ = r.cmd.Process.Kill() })
	return r
}

// line returns the next line of output.
func (r *run) line() string {
	s, err := r.out.ReadString('\n')
	assert.NilError(r.t, err, "standard error: %s", &r.stderr)
	return strings.TrimSuffix(s, "\n")
}

// rest returns the remaining output and the exit code.
func (r *run) rest() (string, int) {
	b, err := io.ReadAll(r.out)
	assert.NilError(r.t, err)
	var exit *exec.ExitError
	if err := r.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		assert.NilError(r.t, err)
	}
	return string(b), r.cmd.ProcessState.ExitCode()
}

func (r *run) signal(sig unix.Signal) {
	assert.NilError(r.t, r.cmd.Process.Signal(sig))
}

func TestSignals(t *testing.T) {
	for sig, code := range map[unix.Signal]int{unix.SIGINT: 130, unix.SIGTERM: 143, unix.SIGHUP: 129} {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			r := start(t, "waits")
			assert.Equal(t, r.line(), "running")
			r.signal(sig)
			out, got := r.rest()
			assert.Equal(t, out, "interrupted: "+unix.SignalName(sig)+"\ncleaned\n")
			assert.Equal(t, got, code)
		})
	}
}

func TestDeadline(t *testing.T) {
	r := start(t, "deadline")
	out, code := r.rest()
	assert.Equal(t, out, "running\ninterrupted: the deadline of go test is near\ncleaned\n")
	assert.Equal(t, code, 1)
}

func TestARunThatDoesNotWindUpIsCleanedUpAllTheSame(t *testing.T) {
	r := start(t, "stubborn")
	assert.Equal(t, r.line(), "running")
	r.signal(unix.SIGTERM)
	out, code := r.rest()
	assert.Equal(t, out, "cleaned\n")
	assert.Equal(t, code, 143)
}

func TestPanic(t *testing.T) {
	for _, name := range []string{"panic", "panic elsewhere"} {
		t.Run(name, func(t *testing.T) {
			r := start(t, name)
			out, code := r.rest()
			assert.Assert(t, strings.Contains(r.stderr.String(), "on purpose"))
			assert.Equal(t, out, "running\ncleaned\n")
			assert.Equal(t, code, 2, "a panic goes on after the cleanup")
		})
	}
}

func TestASecondSignalStopsAtOnceAndTakesChildrenAlong(t *testing.T) {
	r := start(t, "hangs")
	assert.Equal(t, r.line(), "running")
	r.signal(unix.SIGINT)
	assert.Equal(t, r.line(), "interrupted: SIGINT")
	pid, err := strconv.Atoi(strings.TrimPrefix(r.line(), "hanging "))
	assert.NilError(t, err)
	assert.NilError(t, unix.Kill(pid, 0), "the child runs")
	r.signal(unix.SIGINT)
	out, code := r.rest()
	assert.Equal(t, out, "", "nothing more is cleaned up")
	assert.Equal(t, code, 130)
	// Its end cannot be waited for, as it is not a child of this process; but it was sent SIGKILL, so it cannot be far.
	for unix.Kill(pid, 0) == nil && !zombie(pid) {
		time.Sleep(time.Millisecond)
	}
}

func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(b), ") Z ")
}

func TestACleanupThatFailsKeepsNoOtherFromRunning(t *testing.T) {
	r := start(t, "failing")
	out, code := r.rest()
	assert.Equal(t, out, "cleaned\n")
	assert.Equal(t, code, 1)
	assert.Assert(t, strings.Contains(r.stderr.String(), "bad: no luck"))
	assert.Assert(t, strings.Contains(r.stderr.String(), "worse: panic: no luck at all"))
}

func TestTheEndOfWhoeverReadsTheOutputEndsTheRun(t *testing.T) {
	note := t.TempDir() + "/note"
	r := &run{t: t, cmd: exec.Command(os.Args[0])}
	r.cmd.Env = append(os.Environ(), scenario+"=deaf", "NOTE="+note)
	out, in, err := os.Pipe()
	assert.NilError(t, err)
	r.cmd.Stdout, r.cmd.Stderr = in, in
	assert.NilError(t, r.cmd.Start())
	assert.NilError(t, in.Close())
	_, err = bufio.NewReader(out).ReadString('\n')
	assert.NilError(t, err)
	assert.NilError(t, out.Close())
	var exit *exec.ExitError
	assert.Assert(t, errors.As(r.cmd.Wait(), &exit))
	assert.Equal(t, exit.ExitCode(), 1)
	b, err := os.ReadFile(note)
	assert.NilError(t, err)
	assert.Equal(t, string(b), "cleaned")
}
