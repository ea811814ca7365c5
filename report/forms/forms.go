package forms

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/podorder/podorder/report"
	"github.com/podorder/podorder/report/page"
	"github.com/podorder/podorder/suites/claims"
)

// The files beside report.json.
const (
	Summary    = "summary.md"
	JUnit      = "junit.xml"
	Verdicts   = "verdicts.json"
	ClaimsText = "claims.txt"
	ClaimsJSON = "claims.json"
)

// Again is the folder in that of a run which the report command writes to, where nothing else is
// asked for.
const Again = "report"

// Files are the names of all files that Write may write.
func Files() []string {
	return []string{report.File, page.File, Summary, JUnit, Verdicts, ClaimsText, ClaimsJSON}
}

// Write writes all forms of a report into its folder. at is that folder as the reader
// writes it.
func Write(r *report.Report, dir, at string) error {
	if err := r.Write(dir); err != nil {
		return err
	}
	verdicts, err := r.VerdictsJSON()
	if err != nil {
		return err
	}
	junit, err := r.JUnit(at)
	if err != nil {
		return err
	}
	html, err := page.HTML(r, dir, at)
	if err != nil {
		return err
	}
	files := map[string][]byte{
		page.File: html, Verdicts: verdicts, JUnit: junit, Summary: []byte(r.Markdown(at, report.SummaryLimit)),
	}
	if len(r.Claims) > 0 {
		b, err := json.MarshalIndent(r.Claims, "", "  ")
		if err != nil {
			return fmt.Errorf("encoding the claims: %w", err)
		}
		files[ClaimsJSON], files[ClaimsText] = append(b, '\n'), []byte(claims.Text(r.Claims))
	}
	for name, b := range files {
		if err := report.Save(dir, name, b); err != nil {
			return err
		}
	}
	return nil
}

// OnGitHub adds the report to the summary of the step of GitHub Actions that this is, and
// writes the annotations of what failed to w. Elsewhere it does nothing.
func OnGitHub(r *report.Report, at string, w io.Writer) error {
	if os.Getenv("GITHUB_ACTIONS") == "true" {
		if _, err := io.WriteString(w, r.Annotations(at)); err != nil {
			return fmt.Errorf("writing annotations: %w", err)
		}
	}
	return StepSummary(r, at)
}

// StepSummary adds the report to the file that GITHUB_STEP_SUMMARY names, if it is set. All
// of that file stays below the limit of GitHub.
func StepSummary(r *report.Report, at string) error {
	path := os.Getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(filepath.Clean(path), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("adding to the step summary: %w", err)
	}
	st, err := f.Stat()
	if err == nil {
		room := report.SummaryLimit - int(st.Size()) - 1
		if room > 0 {
			_, err = f.WriteString(r.Markdown(at, room) + "\n")
		}
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("adding to the step summary: %w", err)
	}
	return nil
}

// Page returns the name of the file of a report that a person should open.
func Page(dir string) string {
	return page.File
}
