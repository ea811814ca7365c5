package record

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/podorder/podorder/reference/trace"
)

// The channels that a gap can be in.
const (
	channelLog    = "log"
	channelWatch  = "watch"
	channelEvents = "events"
	channelClock  = trace.GapClock
)

// Options say what is recorded, and where to.
type Options struct {
	// Dir is the folder that takes TraceFile and LogFile; it is made if need be.
	Dir    string
	Client kubernetes.Interface
	// Namespace is that of the Pod. Pod is its name; empty stands for the first Pod that appears with all of Labels.
	Namespace, Pod string
	Labels         map[string]string
	// Header returns the header of the trace for the node that the Pod is bound to, and false for a node that it does not know. For an empty node
	// it returns the header for some node, and whether it would be the same for every other.
	Header func(node string) (trace.Header, bool)
	// Follow streams the shared log. Nil records none.
	Follow Follow
	// LocalClock reports whether a node has this machine's clock; nil for none.
	LocalClock func(node string) bool
	// Progress takes a line now and then; nil for none.
	Progress func(format string, args ...any)
}

// The files of a recording.
const (
	TraceFile = "trace.jsonl"
	LogFile   = "message"
)

// Patience, not rules. drainPatience is how long the log may take to end after the Pod's object is gone: the kubelet has emptied its volumes
// before, as a rule, but containers outlive a forced deletion.
const drainPatience = time.Minute

// Recorder records one Pod. Its methods may be called from several goroutines.
type Recorder struct {
	o       Options
	drain   time.Duration // drainPatience, or less in tests
	cancel  context.CancelCauseFunc
	working sync.WaitGroup
	// over is closed when the Pod is gone and its log is read to the end.
	over chan struct{}

	mu      sync.Mutex
	file    *os.File
	log     *os.File
	header  trace.Header  // once it is known
	w       *trace.Writer // nil until then
	pending []trace.Entry // what waits for the header
	entries []trace.Entry // all of them
	changed chan struct{} // closed, and replaced, with every entry
	err     error         // what ended the recording
	closed  bool

	uid     types.UID
	onNode  types.UID // the same, but of a static Pod, whose mirror has another one
	node    string
	last    *corev1.Pod
	events  map[types.UID]*corev1.Event // the latest state of each
	early   []*corev1.Event             // those that came before the Pod
	gone    bool
	drained bool
	attempt context.CancelCauseFunc // ends the connection over which the log is read
}

// Start opens the files and begins to watch. When it returns, nothing that happens to the Pod from then on will be missed unnoticed, so it comes
// before the Pod is created. The context ends the recording; Close must follow in any case.
func Start(ctx context.Context, o Options) (*Recorder, error) { return start(ctx, o, drainPatience) }

func start(ctx context.Context, o Options, drain time.Duration) (_ *Recorder, err error) {
	if o.Progress == nil {
		o.Progress = func(string, ...any) {}
	}
	r := &Recorder{
		o: o, drain: drain, over: make(chan struct{}), changed: make(chan struct{}), events: map[types.UID]*corev1.Event{},
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of the recording: %w", err)
	}
	if r.file, err = os.Create(r.TracePath()); err != nil {
		return nil, fmt.Errorf("opening the trace: %w", err)
	}
	if r.log, err = os.Create(r.LogPath()); err != nil {
		r.file.Close()
		return nil, fmt.Errorf("opening the raw log: %w", err)
	}
	if h, ok := o.Header(""); ok {
		r.begin(h)
	}
	ctx, r.cancel = context.WithCancelCause(ctx)
	listed := make(chan struct{}, 2)
	r.working.Go(func() { r.run(channelWatch, func() error { return r.watchPod(ctx, listed) }) })
	r.working.Go(func() { r.run(channelEvents, func() error { return r.watchEvents(ctx, listed) }) })
	for range 2 {
		select {
		case <-listed:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("beginning to watch: %w", err), r.Close())
	}
	return r, nil
}

// run runs one channel. Its error, or panic, ends the recording, unless the recording ended it.
func (r *Recorder) run(channel string, f func() error) {
	defer func() {
		if v := recover(); v != nil {
			r.fail(fmt.Errorf("recording %s: panic: %v", channel, v))
		}
	}()
	if err := f(); err != nil {
		r.fail(fmt.Errorf("recording %s: %w", channel, err))
	}
}

// fail ends the recording with its first error.
func (r *Recorder) fail(err error) {
	r.mu.Lock()
	if r.err == nil {
		r.err = err
		close(r.changed)
		r.changed = make(chan struct{})
	}
	r.mu.Unlock()
	r.cancel(err)
}

// TracePath and LogPath are the files of the recording.
func (r *Recorder) TracePath() string { return filepath.Join(r.o.Dir, TraceFile) }

// LogPath is the raw log.
func (r *Recorder) LogPath() string { return filepath.Join(r.o.Dir, LogFile) }

// begin writes the header and what waited for it. An error is kept for the end.
func (r *Recorder) begin(h trace.Header) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.w != nil || r.closed {
		return
	}
	w, err := trace.NewWriter(r.file, h)
	if err != nil {
		r.err = errors.Join(r.err, err)
		return
	}
	r.w, r.header = w, h
	for _, e := range r.pending {
		if err := w.Write(e); err != nil {
			r.err = errors.Join(r.err, err)
		}
	}
	r.pending = nil
}

// write appends an entry to the trace.
func (r *Recorder) write(e trace.Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.writeLocked(e)
}

func (r *Recorder) writeLocked(e trace.Entry) error {
	if r.closed {
		return fs.ErrClosed
	}
	e.At = e.At.UTC()
	if r.w == nil {
		r.pending = append(r.pending, e)
	} else if err := r.w.Write(e); err != nil {
		return err
	}
	r.entries = append(r.entries, e)
	close(r.changed)
	r.changed = make(chan struct{})
	return nil
}

// Did records what the harness is about to do. It is called before the act.
func (r *Recorder) Did(name string, param any) error {
	a, err := trace.NewAct(name, param)
	if err != nil {
		return err
	}
	return r.write(trace.Entry{At: time.Now(), Did: &a})
}

func (r *Recorder) gap(channel, why string) error {
	r.o.Progress("gap in the %s: %s", channel, why)
	return r.write(trace.Entry{At: time.Now(), Gap: &trace.Gap{Channel: channel, Why: why}})
}

// SoFar returns what was recorded until now, as it would be read back; nil while it has no header yet.
func (r *Recorder) SoFar() *trace.Trace {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.w == nil {
		return nil
	}
	t := &trace.Trace{Header: r.header, Entries: slices.Clone(r.entries)}
	for i := range t.Entries {
		t.Entries[i].Line = i + 2 // the header is line 1
	}
	return t
}

// Pod returns the Pod as it was seen last; nil if it never was.
func (r *Recorder) Pod() *corev1.Pod {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// Events returns the Events seen, in the order in which they were first seen.
func (r *Recorder) Events() []*corev1.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*corev1.Event
	for _, e := range r.events {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *corev1.Event) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return all
}

// isOver notes the end of the Pod or of its log. The mutex must be held.
func (r *Recorder) isOver() {
	if !r.gone || !r.drained {
		return
	}
	select {
	case <-r.over:
	default:
		close(r.over)
		close(r.changed)
		r.changed = make(chan struct{})
	}
}

// Close ends the recording: it stops the channels, takes the Events that were still on their way, writes everything to disk and closes the files.
// It returns what was wrong with the recording, if it did not just end with the Pod.
func (r *Recorder) Close() error {
	r.mu.Lock()
	if r.closed {
		defer r.mu.Unlock()
		return r.err
	}
	started := r.uid != ""
	reading := r.node != "" && r.o.Follow != nil && !r.drained
	r.mu.Unlock()
	r.cancel(errClosed)
	r.working.Wait()
	if reading {
		// The watch may be ahead of the log, so this is not simply a shorter recording.
		if err := r.gap(channelLog, "the recording was ended before the log"); err != nil {
			r.fail(err)
		}
	}
	if started {
		if err := r.lastEvents(); err != nil {
			// They are best effort: what they omit proves nothing, and the gap tells that there may have been more.
			if err := r.gap(channelEvents, err.Error()); err != nil {
				r.fail(err)
			}
		}
	}
	r.mu.Lock()
	headless := r.w == nil
	r.mu.Unlock()
	if headless {
		// The Pod was never bound, so there is no right answer; that for any node will do.
		h, _ := r.o.Header("")
		r.begin(h)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, f := range []*os.File{r.file, r.log} {
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			r.err = errors.Join(r.err, fmt.Errorf("saving the recording: %w", err))
		}
	}
	return r.err
}

var errClosed = errors.New("the recording was closed")

// Load reads the saved trace back, so that what is judged is what was saved.
func (r *Recorder) Load() (*trace.Trace, error) {
	f, err := os.Open(r.TracePath())
	if err != nil {
		return nil, fmt.Errorf("reading the trace back: %w", err)
	}
	defer f.Close()
	t, err := trace.Read(f)
	if err != nil {
		return t, fmt.Errorf("reading the trace back: %w", err)
	}
	return t, nil
}
