package page

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podorder/podorder/report"
	"github.com/podorder/podorder/report/picture"
)

// piece is what the page has of a case, beside its row.
type piece struct {
	Runs []run `json:"runs"`
}

// run is what the page shows of one run.
type run struct {
	Kubelet string `json:"kubelet"`
	Repeat  int    `json:"repeat,omitempty"`
	Outcome string `json:"outcome"`
	// Picture is SVG; empty where there is none, and Note says why.
	Picture string `json:"picture,omitempty"`
	Note    string `json:"note,omitempty"`
	// Zero is the time that the picture counts from.
	Zero string `json:"zero,omitempty"`
	// Lines are the entries of the trace.
	Lines []line `json:"lines,omitempty"`
	// Text is the explanation, with the commands that judge and run it again.
	Text string `json:"text"`
	// Facts are sentences about the run.
	Facts []string `json:"facts,omitempty"`
}

// line is an entry: its number, milliseconds after zero, channel, text, and what the verdict says of it.
type line [5]any

// The most runs of a cell that the page has. All of a report with many cells and repeated runs
// would be too much to open.
const (
	mostRuns  = 5
	mostCells = 600 // beyond this many, only the run that the cell stands for
)

// pack makes the compressed piece of each case, in the order of the view. The cases are independent of
// each other, so every processor takes some.
func pack(r *report.Report, dir, at string, v *view) ([]string, error) {
	pieces := make([]string, len(v.cases))
	most := mostRuns
	if v.cells > mostCells {
		most = 1
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, c := range v.cases {
		g.Go(func() error {
			var err error
			pieces[i], err = packCase(r, dir, at, c, most)
			return err
		})
	}
	return pieces, g.Wait()
}

// packCase makes the piece of one case: all its pictures are on one axis.
func packCase(r *report.Report, dir, at string, c *caseRow, most int) (string, error) {
	var runs []run
	var drawn []int
	var pictures []*picture.Picture
	for _, cell := range c.Cells {
		if cell == nil {
			continue
		}
		for _, one := range some(cell.cell, most) {
			u := run{Kubelet: one.Kubelet, Repeat: one.Repeat, Outcome: one.Outcome, Text: text(one, at, r.Gates(one.Kubelet)), Facts: facts(one)}
			if left := len(cell.cell.Runs) - most; left > 0 {
				u.Facts = append(u.Facts, fmt.Sprintf("This page leaves out %d more runs of the case on this kubelet. Their traces are in the folder of the report.", left))
			}
			rec, err := one.Load(dir)
			switch {
			case errors.Is(err, report.ErrNoTrace):
				u.Note = "Nothing was recorded."
			case err != nil:
				u.Note = "There is no picture: " + err.Error()
			default:
				p := picture.Of(rec.Pod, rec.Trace, rec.Verdict)
				p.Title = fmt.Sprintf("%s on %s: %s", one.Case, one.Kubelet, one.Outcome)
				drawn, pictures = append(drawn, len(runs)), append(pictures, p)
			}
			runs = append(runs, u)
		}
	}
	axis := picture.Common(pictures...)
	for i, n := range drawn {
		p := pictures[i]
		runs[n].Picture = p.Part(axis)
		runs[n].Zero = p.Zero().UTC().Format(time.RFC3339Nano)
		for _, l := range p.Lines() {
			said := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(l.Text, "update "), "Event "), "done: ")
			runs[n].Lines = append(runs[n].Lines, line{l.N, math.Round(l.At * 1000), l.Channel, said, l.Flag})
		}
	}
	return deflate(piece{runs})
}

// some are the runs of a cell that the page has: the one that it stands for, and the first of the others.
func some(c report.Cell, most int) []*report.Run {
	if len(c.Runs) <= most {
		return c.Runs
	}
	out := []*report.Run{c.Worst}
	for _, r := range c.Runs {
		if r != c.Worst && len(out) < most {
			out = append(out, r)
		}
	}
	return out
}

// text is the explanation of a run, and what to do next; that of a pass is short.
func text(r *report.Run, at, gates string) string {
	one := *r
	if one.Explanation == "" {
		one.Explanation = r.Outcome
		if r.Reason != "" {
			one.Explanation += ": " + r.Reason
		}
		one.Explanation += "\n"
	}
	return one.Text(at, gates)
}

// facts are what else is known of a run.
func facts(r *report.Run) (out []string) {
	if r.Seconds > 0 {
		s := fmt.Sprintf("It took %.1f s", r.Seconds)
		if r.Waited >= 1 {
			s += fmt.Sprintf(", after a wait of %.0f s for its turn", r.Waited)
		}
		out = append(out, s+".")
	}
	if r.First != "" {
		out = append(out, "It is a second run; the first was inconclusive: "+r.First)
	}
	if r.Ended != nil {
		out = append(out, "The run did not end with its last step: "+r.Ended.Why)
	}
	if a := r.Admitted(); a != "" {
		out = append(out, a)
	}
	return out
}

// deflate compresses a value as JSON for the page: raw deflate in base64.
func deflate(v any) (string, error) {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		return "", err
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := errors.Join(e.Encode(v), w.Close()); err != nil {
		return "", fmt.Errorf("compressing a case for the page: %w", err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), nil
}
