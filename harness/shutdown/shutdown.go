package shutdown

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Options say how long things may take. All of it is patience, except that Timeout minus Margin is when the run is ended.
type Options struct {
	// Timeout is that of "go test", counted from New; zero for none.
	Timeout time.Duration
	// Margin is how long before the deadline the run is ended, so that there is time to clean up. If zero it is what the function Margin says.
	Margin time.Duration
	// Grace is how long an interrupted run may take to call End; 15 s if zero, and never more than half of Margin before a deadline.
	Grace time.Duration
	// Cleanup bounds all cleaning up together; 2 minutes if zero.
	Cleanup time.Duration
	// Output takes what is said about it; standard error if nil.
	Output io.Writer
}

// Shutdown ends one run. Its methods may be called from any goroutine.
type Shutdown struct {
	o      Options
	ctx    context.Context
	cancel context.CancelCauseFunc

	signals chan os.Signal
	ended   chan struct{} // closed once End or Recover took over

	mu       sync.Mutex
	cleanups []cleanup
	code     int // the exit code of what interrupted the run; 0 while nothing did
	taken    sync.Once
	once     sync.Once
	err      error
}

type cleanup struct {
	name string
	f    func(context.Context) error
}

// Interrupted is the cause of a context that a Shutdown ended.
type Interrupted struct {
	// Why is "SIGINT", "the deadline of go test is near" and the like.
	Why string
}

func (e *Interrupted) Error() string { return "interrupted: " + e.Why }

// Margin is what a run with such a time-out keeps of it to clean up: a tenth, at least 5 s and at most a minute.
func Margin(timeout time.Duration) time.Duration {
	return min(max(timeout/10, 5*time.Second), time.Minute)
}

// New begins to watch. There should be one Shutdown in a process.
func New(ctx context.Context, o Options) *Shutdown {
	if o.Margin == 0 {
		o.Margin = Margin(o.Timeout)
	}
	if o.Grace == 0 {
		o.Grace = 15 * time.Second
	}
	if o.Cleanup == 0 {
		o.Cleanup = 2 * time.Minute
	}
	if o.Output == nil {
		o.Output = os.Stderr
	}
	s := &Shutdown{o: o, signals: make(chan os.Signal, 8), ended: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	// SIGPIPE would end the process on the next line that it prints. Once it is asked for, the print fails instead.
	signal.Notify(s.signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGPIPE)
	go s.watch()
	return s
}

// Context ends when the run is to end; its cause is an *Interrupted.
func (s *Shutdown) Context() context.Context { return s.ctx }

// OnEnd registers something to clean up. The last one registered comes first.
func (s *Shutdown) OnEnd(name string, f func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cleanups = append(s.cleanups, cleanup{name, f})
}

// End cleans up and returns the exit code: that of the run, unless the run was interrupted or cleaning up failed.
func (s *Shutdown) End(code int) int {
	s.takeOver()
	err := s.clean(s.o.Cleanup)
	s.cancel(context.Canceled)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.code != 0:
		return s.code
	case err != nil && code == 0:
		return 1
	}
	return code
}

// Recover is to be deferred. On a panic it cleans up and lets the panic go on.
func (s *Shutdown) Recover() {
	v := recover()
	if v == nil {
		return
	}
	s.takeOver()
	s.say("panic: %v; cleaning up", v)
	s.cancel(&Interrupted{Why: "panic"})
	_ = s.clean(s.o.Cleanup) // it has said what failed
	panic(v)
}

func (s *Shutdown) takeOver() { s.taken.Do(func() { close(s.ended) }) }

func (s *Shutdown) say(format string, args ...any) {
	fmt.Fprintf(s.o.Output, "podorder: "+format+"\n", args...)
}

// clean runs the cleanups once, and returns their errors to everyone who asks. Whoever asks while they run waits.
func (s *Shutdown) clean(patience time.Duration) error {
	s.once.Do(func() {
		// The run is over; what it was told to end by does not end its cleanup.
		ctx, cancel := context.WithTimeoutCause(context.Background(), patience, fmt.Errorf("cleaning up took more than %v", patience))
		defer cancel()
		s.mu.Lock()
		todo := s.cleanups
		s.cleanups = nil
		s.mu.Unlock()
		var errs []error
		for i := len(todo) - 1; i >= 0; i-- {
			if err := guarded(ctx, todo[i]); err != nil {
				s.say("cleaning up %v", err)
				errs = append(errs, err)
			}
		}
		s.err = errors.Join(errs...)
	})
	return s.err
}

// guarded runs one cleanup, so that a panic in it does not keep the others from running.
func guarded(ctx context.Context, c cleanup) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%s: panic: %v", c.name, v)
		}
	}()
	if err := c.f(ctx); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return nil
}

// watch waits for the first reason to end the run, sees to it that the run ends, and watches for a second signal meanwhile.
func (s *Shutdown) watch() {
	var deadline <-chan time.Time
	if s.o.Timeout > 0 {
		t := time.NewTimer(max(s.o.Timeout-s.o.Margin, 0))
		defer t.Stop()
		deadline = t.C
	}
	grace, patience := s.o.Grace, s.o.Cleanup
	interrupted := false
	var overdue <-chan time.Time
	interrupt := func(why string, code int) {
		interrupted = true
		s.mu.Lock()
		s.code = code
		s.mu.Unlock()
		s.say("%s: cleaning up; interrupt again to stop at once and leave everything as it is", why)
		s.cancel(&Interrupted{Why: why})
		overdue = time.After(grace)
	}
	ended := s.ended
	for {
		select {
		case <-ended:
			// From here on cleaning up is under way; only signals matter, and a first one counts as such.
			ended, deadline, overdue = nil, nil, nil
		case sig := <-s.signals:
			switch {
			case sig == unix.SIGPIPE:
				// It also comes from connections and children that went away.
				if !interrupted && !outputRead() {
					interrupt("nobody reads the output any more", 1)
				}
			case interrupted:
				s.stop(sig)
			default:
				interrupt(signalName(sig), 128+int(sig.(unix.Signal)))
				if ended == nil {
					overdue = nil // the end is coming already
				}
			}
		case <-deadline:
			deadline = nil
			if !interrupted {
				grace, patience = min(grace, s.o.Margin/2), s.o.Margin/2
				interrupt("the deadline of go test is near", 1)
			}
		case <-overdue:
			overdue = nil
			go s.force(patience)
		}
	}
}

// force ends a run that did not wind up by itself.
func (s *Shutdown) force(patience time.Duration) {
	s.takeOver()
	_ = s.clean(patience) // it has said what failed
	s.mu.Lock()
	code := s.code
	s.mu.Unlock()
	os.Exit(code)
}

// stop ends the process at once, and with it those that it started, which would otherwise go on making what nobody removes.
func (s *Shutdown) stop(sig os.Signal) {
	s.say("%s again: stopping at once; remove what is left behind with: go run ./scripts/sweep", signalName(sig))
	killDescendants(os.Getpid())
	os.Exit(128 + int(sig.(unix.Signal)))
}

func signalName(sig os.Signal) string {
	if s, ok := sig.(unix.Signal); ok {
		return unix.SignalName(s)
	}
	return sig.String()
}

// outputRead reports whether standard output and error still lead somewhere.
func outputRead() bool {
	fds := []unix.PollFd{{Fd: int32(os.Stdout.Fd())}, {Fd: int32(os.Stderr.Fd())}}
	if _, err := unix.Poll(fds, 0); err != nil {
		return true
	}
	for _, fd := range fds {
		if fd.Revents&unix.POLLERR != 0 {
			return false
		}
	}
	return true
}
