package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// File is the name of the file in the folder of a report.
const File = "report.json"

// NotFoundError says that a folder has no report.
type NotFoundError struct{ Dir string }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("%s has no %s", e.Dir, File)
}

// Read reads the report of a folder. The error is a *NotFoundError where there is none.
func Read(dir string) (*Report, error) {
	path := filepath.Join(dir, File)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &NotFoundError{dir}
	}
	if err != nil {
		return nil, fmt.Errorf("reading a report: %w", err)
	}
	r, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Parse reads a report.
func Parse(b []byte) (*Report, error) {
	var head struct {
		Report *int `json:"report"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("it is not a report: %w", err)
	}
	switch {
	case head.Report == nil:
		return nil, errors.New(`it is not a report: it has no field "report" with the version of the format`)
	case *head.Report != Version:
		return nil, fmt.Errorf("it is a report of version %d of the format; this podorder reads version %d", *head.Report, Version)
	}
	r := new(Report)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("it is not a report of version %d: %w", Version, err)
	}
	return r, nil
}

// JSON returns what Write writes.
func (r *Report) JSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(r); err != nil {
		return nil, fmt.Errorf("encoding the report: %w", err)
	}
	return b.Bytes(), nil
}

// Write writes the report into a folder, which it makes if need be.
func (r *Report) Write(dir string) error {
	b, err := r.JSON()
	if err != nil {
		return err
	}
	return Save(dir, File, b)
}

// Save writes a file of a folder, which it makes if need be. A reader finds it whole or
// not at all.
func Save(dir, name string, b []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the folder of the report: %w", err)
	}
	f, err := os.CreateTemp(dir, "."+name+".*")
	if err != nil {
		return fmt.Errorf("saving %s: %w", name, err)
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		return fmt.Errorf("saving %s: %w", name, errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}
