package run

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Progress prints what is happening, one line each with the time since the
// start, for as long as a person may be waiting. It also writes every line to a
// file. Whole texts (verdicts, the table) go through it as well, so that they
// are never torn apart by a line of progress.
type Progress struct {
	mu    sync.Mutex
	start time.Time
	now   func() time.Time
	out   io.Writer // verdicts
	live  io.Writer // progress
	file  io.Writer // both
}

// NewProgress prints verdicts to out and progress to live.
func NewProgress(out, live io.Writer) *Progress {
	return &Progress{start: time.Now(), now: time.Now, out: out, live: live, file: io.Discard}
}

// KeepIn writes everything that is printed from now on to a file as well.
func (p *Progress) KeepIn(file io.Writer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.file = file
}

// Printf prints one line of progress.
func (p *Progress) Printf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := fmt.Sprintf("%7.1fs  %s\n", p.now().Sub(p.start).Seconds(), fmt.Sprintf(format, args...))
	io.WriteString(p.live, line)
	io.WriteString(p.file, line)
}

// Print prints a text that has to be seen whatever becomes of the progress.
func (p *Progress) Print(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	io.WriteString(p.out, text)
	io.WriteString(p.file, text)
}

// Keep writes a text to the file alone, because somebody else prints it.
func (p *Progress) Keep(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	io.WriteString(p.file, text)
}

// Live returns a writer for what others have to say to a person who waits.
func (p *Progress) Live() io.Writer { return liveWriter{p} }

type liveWriter struct{ p *Progress }

func (w liveWriter) Write(b []byte) (int, error) {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	w.p.file.Write(b)
	return w.p.live.Write(b)
}

// streams returns where to print. go test keeps back what a test prints until
// its package is done, unless it was started in the folder of the package or
// with -v; then standard output is a pipe of its own, and only the terminal
// itself, if there is one, can show progress in time.
func streams(verbose bool) (out, live io.Writer, done func()) {
	st, err := os.Stdout.Stat()
	if verbose || err == nil && st.Mode()&os.ModeCharDevice != 0 {
		return os.Stdout, os.Stdout, func() {}
	}
	if tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0); err == nil {
		return os.Stdout, tty, func() { tty.Close() }
	}
	return os.Stdout, os.Stdout, func() {}
}
