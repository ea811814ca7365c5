package trace_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

const header = `{"trace":1,"case":"hooks/x","kubernetes":"v1.37.2","kubelet":"v1.37.2","runtime":"containerd://2.3.5"}` + "\n"

func TestWriteAndRead(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	line := "2026-01-02T03:04:05Z: a / main"
	grace := int64(10)
	act, err := trace.NewAct(trace.ActDelete, trace.DeleteParam{GracePeriodSeconds: &grace})
	assert.NilError(t, err)
	entries := []trace.Entry{
		{At: at, Log: &line},
		{At: at, Type: trace.Added, Pod: &corev1.Pod{}},
		{At: at, Event: &trace.Event{Reason: "Started", FieldPath: "spec.containers{a}"}},
		{At: at, Did: &act},
		{At: at, Gap: &trace.Gap{Channel: "watch", Why: "expired"}},
	}
	var file bytes.Buffer
	w, err := trace.NewWriter(&file, trace.Header{Case: "hooks/x", Kubelet: "v1.37.2"})
	assert.NilError(t, err)
	for _, e := range entries {
		assert.NilError(t, w.Write(e))
	}
	assert.Assert(t, strings.Contains(file.String(), `"did":{"delete":{"gracePeriodSeconds":10}}`), file.String())
	assert.Equal(t, strings.Count(file.String(), "\n"), len(entries)+1)

	got, err := trace.Read(&file)
	assert.NilError(t, err)
	assert.Equal(t, got.Header, trace.Header{Trace: 1, Case: "hooks/x", Kubelet: "v1.37.2"})
	assert.Equal(t, len(got.Entries), len(entries))
	assert.Equal(t, got.Logs(), 1)
	assert.Assert(t, !got.LogOnly)
	for i, e := range got.Entries {
		assert.Equal(t, e.Line, i+2)
		assert.Assert(t, e.At.Equal(at))
	}
	p, err := got.Entries[3].Did.Delete()
	assert.NilError(t, err)
	assert.Equal(t, *p.GracePeriodSeconds, grace)
}

func TestWriterRefuses(t *testing.T) {
	w, err := trace.NewWriter(io.Discard, trace.Header{})
	assert.NilError(t, err)
	two, newline := "x", "a\nb"
	now := time.Now()
	for want, e := range map[string]trace.Entry{
		"0 of the fields":   {At: now},
		"2 of the fields":   {At: now, Log: &two, Gap: &trace.Gap{Channel: "log", Why: "x"}},
		"no time":           {Log: &two},
		"goes with pod":     {At: now, Log: &two, Type: trace.Added},
		"is not ADDED":      {At: now, Pod: &corev1.Pod{}, Type: "BOOKMARK"},
		"without a reason":  {At: now, Event: &trace.Event{}},
		"channel and why":   {At: now, Gap: &trace.Gap{Channel: "log"}},
		"holds a newline":   {At: now, Log: &newline},
		"an act needs a na": {At: now, Did: &trace.Act{}},
	} {
		assert.ErrorContains(t, w.Write(e), want)
	}
}

func TestReadRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		line int
		want string
	}{
		"empty":           {"", 1, "no header"},
		"no JSON":         {"x\n", 1, "not the header"},
		"other version":   {`{"trace":2}` + "\n", 1, "trace version 2"},
		"a log":           {"Thu Dec 21 10:40:51 UTC 2023: a / main\n", 1, "not the header"},
		"torn entry":      {header + `{"at":"2026-01-02T03:04:05Z","log":"x"}` + "\n" + `{"at":"2026-01`, 3, "not a JSON object"},
		"unknown field":   {header + `{"at":"2026-01-02T03:04:05Z","line":"x"}` + "\n", 2, `unknown field "line"`},
		"two acts":        {header + `{"at":"2026-01-02T03:04:05Z","did":{"apply":{},"delete":{}}}` + "\n", 2, "exactly one field"},
		"nothing set":     {header + `{"at":"2026-01-02T03:04:05Z"}` + "\n", 2, "0 of the fields"},
		"empty line":      {header + "\n", 2, "not a JSON object"},
		"a line too long": {header + strings.Repeat("x", 5<<20), 2, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := trace.Read(strings.NewReader(c.file))
			assert.ErrorContains(t, err, c.want)
			var at *trace.Error
			assert.Assert(t, errors.As(err, &at))
			assert.Equal(t, at.Line, c.line)
		})
	}
}

// What was read before the damage is not lost.
func TestReadKeepsWhatItHad(t *testing.T) {
	got, err := trace.Read(strings.NewReader(header + `{"at":"2026-01-02T03:04:05Z","log":"x"}` + "\n{"))
	assert.ErrorContains(t, err, "line 3")
	assert.Equal(t, got.Logs(), 1)
}

func TestReadLog(t *testing.T) {
	got, err := trace.ReadLog(strings.NewReader("one\ntwo\nthree"), "v1.28.5")
	assert.NilError(t, err)
	assert.Assert(t, got.LogOnly)
	assert.Equal(t, got.Header.Kubelet, "v1.28.5")
	assert.Equal(t, len(got.Entries), 3)
	assert.Equal(t, *got.Entries[2].Log, "three")
	assert.Equal(t, got.Entries[2].Line, 3)
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(header))
	f.Add([]byte(header + `{"at":"2026-01-02T03:04:05Z","log":"x"}` + "\n" + `{"at":"2026-01-02T03:04:05Z","type":"ADDED","pod":{"spec":{}}}`))
	f.Add([]byte(header + `{"at":"2026-01-02T03:04:05Z","did":{"delete":{"gracePeriodSeconds":1}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := trace.Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		var file bytes.Buffer
		w, err := trace.NewWriter(&file, got.Header)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range got.Entries {
			if err := w.Write(e); err != nil && !strings.Contains(err.Error(), "newline") && !strings.Contains(err.Error(), "year outside") {
				t.Fatalf("read and not written: %v", err)
			}
		}
	})
}
