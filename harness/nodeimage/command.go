package nodeimage

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// run runs a program to its end, in a process group of its own, so that what it has started ends with it when ctx does. The error has the
// last lines of its output. onLine, if not nil, sees each line of its standard error, and says whether an error should have it.
func run(ctx context.Context, dir string, env []string, onLine func(string) bool, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	return finish(ctx, cmd, onLine)
}

// finish is run for a command that is ready to start.
func finish(ctx context.Context, cmd *exec.Cmd, onLine func(string) bool) ([]byte, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	var stdout, stderr bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &stdout
	}
	r, w := io.Pipe()
	cmd.Stderr = w
	read := make(chan struct{})
	go func() {
		defer close(read)
		s := bufio.NewScanner(r)
		s.Buffer(nil, 1<<20)
		for s.Scan() {
			if onLine != nil && !onLine(s.Text()) {
				continue
			}
			stderr.WriteString(s.Text() + "\n")
		}
		_, _ = io.Copy(io.Discard, r) // a line too long to scan must not block the program
	}()
	err := cmd.Run()
	_ = w.Close()
	<-read
	if err == nil {
		return stdout.Bytes(), nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	text := strings.TrimSpace(stderr.String())
	if text == "" {
		text = strings.TrimSpace(stdout.String())
	}
	if text == "" {
		return stdout.Bytes(), fmt.Errorf("%s: %w", commandName(cmd), err)
	}
	return stdout.Bytes(), fmt.Errorf("%s: %w:\n%s", commandName(cmd), err, lastLines(text, 12))
}

// commandName is the program with its first arguments: enough to tell which command it was.
func commandName(cmd *exec.Cmd) string {
	args := cmd.Args[:min(4, len(cmd.Args))]
	return strings.Join(args, " ")
}

func lastLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
