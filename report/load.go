package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
)

// ErrNoTrace says that nothing was recorded of a run.
var ErrNoTrace = errors.New("nothing was recorded of this run")

// Recording is what was kept of a run.
type Recording struct {
	// Pod is the one that the run is judged by: that which the API server admitted or,
	// where the trace has none, the manifest.
	Pod   *corev1.Pod
	Trace *trace.Trace
	// Verdict is that of the report; the zero value where the case was skipped.
	Verdict reference.Verdict
}

// Load reads what was kept of a run. dir is the folder of the report. The error is
// ErrNoTrace where there is no trace.
func (r *Run) Load(dir string) (*Recording, error) {
	if r.Trace == "" {
		return nil, ErrNoTrace
	}
	path := filepath.Join(dir, filepath.FromSlash(r.Trace))
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading a trace: %w", err)
	}
	defer f.Close()
	t, err := trace.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	rec := &Recording{Pod: t.Admitted(), Trace: t}
	if r.Verdict != nil {
		rec.Verdict = *r.Verdict
	}
	if rec.Pod == nil {
		// A run that was ended early may have the manifest alone.
		b, err := os.ReadFile(filepath.Join(filepath.Dir(path), "pod.yaml"))
		if err != nil {
			return nil, fmt.Errorf("%s: it shows no Pod, and there is none beside it: %w", path, err)
		}
		if rec.Pod, err = reference.ParsePod(b); err != nil {
			return nil, fmt.Errorf("pod.yaml beside %s: %w", path, err)
		}
	}
	cases, err := bundled()
	if err != nil {
		return nil, err
	}
	if c := cases[r.Case]; c.Writes != nil {
		rec.Pod = reference.WithWrites(rec.Pod, strings.Join(c.Writes, ","))
	}
	return rec, nil
}

// bundled are the cases of this version of podorder, by their paths.
var bundled = sync.OnceValues(func() (map[string]fixtures.Case, error) {
	all, err := fixtures.All()
	if err != nil {
		return nil, fmt.Errorf("reading the cases: %w", err)
	}
	by := make(map[string]fixtures.Case, len(all))
	for _, c := range all {
		by[c.ID] = c
	}
	return by, nil
})
