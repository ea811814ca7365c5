package trace

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Error says which line of a log or trace file could not be read, and why.
type Error struct {
	Line int // counted from 1
	Err  error
}

// Error returns "line N: reason".
func (e *Error) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// MaxLine bounds one line of a file in bytes. A Pod object stays far below:
// the API server takes no more than 1.5 MiB of it.
const MaxLine = 4 << 20

// Reader reads a trace one entry at a time, in constant memory.
type Reader struct {
	Header Header
	s      *bufio.Scanner
	line   int
}

// NewReader reads the header of a trace. An input with no line at all gives
// io.ErrUnexpectedEOF inside the error.
func NewReader(r io.Reader) (*Reader, error) {
	t := &Reader{s: lines(r)}
	if !t.s.Scan() {
		if err := t.s.Err(); err != nil {
			return nil, &Error{1, err}
		}
		return nil, &Error{1, fmt.Errorf("no header: %w", io.ErrUnexpectedEOF)}
	}
	t.line = 1
	if err := json.Unmarshal(t.s.Bytes(), &t.Header); err != nil {
		return nil, &Error{1, fmt.Errorf("not the header of a trace: %w", err)}
	}
	if t.Header.Trace != Version {
		return nil, &Error{1, fmt.Errorf("trace version %d; this program reads version %d", t.Header.Trace, Version)}
	}
	return t, nil
}

// Next returns the next entry, io.EOF after the last one, or an *Error.
func (t *Reader) Next() (Entry, error) {
	if !t.s.Scan() {
		if err := t.s.Err(); err != nil {
			return Entry{}, &Error{t.line + 1, err}
		}
		return Entry{}, io.EOF
	}
	t.line++
	e := Entry{Line: t.line}
	if err := strictEntry(t.s.Bytes(), &e); err != nil {
		return Entry{}, &Error{t.line, err}
	}
	if err := e.check(); err != nil {
		return Entry{}, &Error{t.line, err}
	}
	return e, nil
}

// Read reads a whole trace. On an error it returns what it had read so far as
// well, so that a damaged file can still be looked at.
func Read(r io.Reader) (*Trace, error) {
	in, err := NewReader(r)
	if err != nil {
		return nil, err
	}
	t := &Trace{Header: in.Header}
	for {
		e, err := in.Next()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return t, err
		}
		t.Entries = append(t.Entries, e)
	}
}

// ReadLog makes a trace of a log alone, for the kubelet of the given version.
// The lines are taken as they are; whether they fit the grammar is for the
// judge to say. A last line without a newline is kept like any other.
func ReadLog(r io.Reader, kubelet string) (*Trace, error) {
	t := &Trace{Header: Header{Trace: Version, Kubelet: kubelet}, LogOnly: true}
	s := lines(r)
	for n := 1; s.Scan(); n++ {
		line := s.Text()
		t.Entries = append(t.Entries, Entry{Log: &line, Line: n})
	}
	if err := s.Err(); err != nil {
		return t, &Error{len(t.Entries) + 1, err}
	}
	return t, nil
}

// Writer writes a trace, each entry with one Write call, so that a recorder
// that is killed leaves whole lines. It is not safe for concurrent use.
type Writer struct{ w io.Writer }

// NewWriter writes the header. The version is filled in.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	h.Trace = Version
	t := &Writer{w}
	return t, t.write(h)
}

// Write appends one entry. It refuses an entry that Reader would refuse.
func (t *Writer) Write(e Entry) error {
	if err := e.check(); err != nil {
		return fmt.Errorf("writing a trace entry: %w", err)
	}
	if e.Log != nil && strings.ContainsRune(*e.Log, '\n') {
		return errors.New("writing a trace entry: a log line holds a newline")
	}
	return t.write(e)
}

func (t *Writer) write(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding a trace line: %w", err)
	}
	if _, err := t.w.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("writing a trace line: %w", err)
	}
	return nil
}

func lines(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), MaxLine)
	return s
}

// strictEntry refuses fields that the format does not name, but not those of
// the objects inside: a newer API server may send Pod fields unknown here.
func strictEntry(b []byte, e *Entry) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return fmt.Errorf("not a JSON object: %w", err)
	}
	for name := range raw {
		switch name {
		case "at", "log", "type", "pod", "event", "did", "gap":
		default:
			return fmt.Errorf("unknown field %q", name)
		}
	}
	return json.Unmarshal(b, e)
}
