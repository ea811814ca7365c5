package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podorder/podorder/reference/trace"
)

// Follow streams the shared log of a Pod on a node to out, from a byte offset on: each line after the time at which it was read on the node
// (RFC 3339) and a blank. It returns nil only when the log was read to its end, after the Pod's volume is gone; ErrLost in the error says that
// another attempt cannot get more.
type Follow func(ctx context.Context, node string, pod types.UID, offset int64, out io.Writer) error

// ErrLost says that the rest of a log can no longer be had.
var ErrLost = errors.New("part of the log may be lost")

// Pauses between attempts to follow the log again.
const (
	shortestPause = 100 * time.Millisecond
	longestPause  = 2 * time.Second
)

// followLog records the shared log until it has been read to the end.
func (r *Recorder) followLog(ctx context.Context, node string, pod types.UID) error {
	stop, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	r.working.Go(func() { r.limitDrain(stop, giveUp) })
	local := r.o.LocalClock != nil && r.o.LocalClock(node)
	var offset int64
	pause := shortestPause
	for {
		in := &lines{r: r, local: local}
		attempt, end := context.WithCancelCause(stop)
		r.setAttempt(end)
		err := r.o.Follow(attempt, node, pod, offset, in)
		if err != nil && context.Cause(attempt) == errFollowAgain {
			err = errFollowAgain
		}
		end(nil)
		in.close()
		if in.err != nil {
			return in.err // it could not be recorded, which is not the connection's fault
		}
		if err == nil {
			if err := in.end(); err != nil {
				return err
			}
			r.logDrained()
			return nil
		}
		offset += in.taken
		if in.taken > 0 {
			pause = shortestPause
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrLost), stop.Err() != nil:
			if stop.Err() != nil {
				err = fmt.Errorf("%w: %w", context.Cause(stop), err)
			}
			if err := r.gap(channelLog, err.Error()); err != nil {
				return err
			}
			r.logDrained()
			return nil
		}
		// The log stays where it is, so reading it again from the offset loses nothing.
		r.o.Progress("reading the log: %v; going on from byte %d", err, offset)
		timer := time.NewTimer(pause)
		select {
		case <-stop.Done():
			timer.Stop()
		case <-timer.C:
		}
		pause = min(2*pause, longestPause)
	}
}

// errFollowAgain ends an attempt whose connection is of no more use.
var errFollowAgain = errors.New("the connection is made anew")

// FollowAgain has the log read through a new connection, from where the old one has come to. It is for a node that was restarted, which may leave the
// old connection without an answer, and without an end.
func (r *Recorder) FollowAgain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.attempt != nil {
		r.attempt(errFollowAgain)
	}
}

func (r *Recorder) setAttempt(end context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempt = end
}

// limitDrain gives the log some time to end once the Pod is gone: a node that died, or a kubelet that leaves the volume behind, must not hold
// up the run forever.
func (r *Recorder) limitDrain(ctx context.Context, giveUp context.CancelCauseFunc) {
	for {
		r.mu.Lock()
		gone, changed := r.gone, r.changed
		r.mu.Unlock()
		if gone {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
	timer := time.NewTimer(r.drain)
	defer timer.Stop()
	select {
	case <-timer.C:
		giveUp(fmt.Errorf("the log did not end within %v after the Pod was gone", r.drain))
	case <-ctx.Done():
	}
}

func (r *Recorder) logDrained() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drained = true
	r.isOver()
}

// lines takes what a follower prints. A line counts as taken once it is recorded.
type lines struct {
	r     *Recorder
	local bool

	mu     sync.Mutex // a connection that was given up may write once more
	closed bool
	rest   []byte // after the last newline
	taken  int64  // bytes of the log
	err    error
}

// close ends the taking: whatever comes after it is read again.
func (l *lines) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

// Write never takes part of what it is given: a follower whose output is refused is of no more use.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.err != nil:
		return 0, l.err
	case l.closed:
		return 0, io.ErrClosedPipe
	}
	l.rest = append(l.rest, b...)
	for {
		i := bytes.IndexByte(l.rest, '\n')
		if i < 0 {
			return len(b), nil
		}
		if l.err = l.line(l.rest[:i], true); l.err != nil {
			return 0, l.err
		}
		l.rest = l.rest[i+1:]
	}
}

// end records what comes after the last newline of a log that was read to its end: a line that was never finished.
func (l *lines) end() error {
	if len(l.rest) == 0 {
		return nil
	}
	return l.line(l.rest, false)
}

func (l *lines) line(b []byte, whole bool) error {
	stamp, text, ok := bytes.Cut(b, []byte{' '})
	read, err := time.Parse(time.RFC3339Nano, string(stamp))
	if !ok || err != nil {
		return fmt.Errorf("the log reader printed %q, which does not begin with a time", b)
	}
	at := time.Now()
	if l.local {
		at = read
	}
	end := ""
	if whole {
		end = "\n"
	}
	r := l.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := fmt.Fprintf(r.log, "%s%s", text, end); err != nil {
		return fmt.Errorf("saving the raw log: %w", err)
	}
	l.taken += int64(len(text) + len(end))
	s := string(text)
	return r.writeLocked(trace.Entry{At: at, Log: &s})
}
