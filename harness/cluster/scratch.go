package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/podorder/podorder/harness/internal/orphans"
)

// Scratch makes a temporary folder whose name tells which process it belongs to, so that SweepScratch can remove what a killed one leaves. purpose is
// a word of letters.
func Scratch(purpose string) (string, error) {
	self, err := Self()
	if err != nil {
		return "", fmt.Errorf("making a temporary folder: %w", err)
	}
	dir, err := os.MkdirTemp("", namePrefix+purpose+"-"+self.String()+"-")
	if err != nil {
		return "", fmt.Errorf("making a temporary folder: %w", err)
	}
	return dir, nil
}

// ScratchForGo is Scratch for the temporary files of the go commands that this process starts as well. One that is stopped leaves its working folder
// behind; what is in this one folder is known to be the run's.
func ScratchForGo(purpose string) (string, error) {
	dir, err := Scratch(purpose)
	if err != nil {
		return "", err
	}
	if err := os.Setenv("GOTMPDIR", dir); err != nil {
		return "", errors.Join(fmt.Errorf("keeping go's files together: %w", err), os.RemoveAll(dir))
	}
	return dir, nil
}

// workFolder is what go calls the folder that it works in; a test binary lies below it.
var workFolder = regexp.MustCompile(`^go-build[0-9]+$`)

// WorkFolder returns the working folder of the go command that made a program for the time of a test, or "" if none did, or elsewhere than in the
// folder for temporary files.
func WorkFolder(program string) string {
	rel, err := filepath.Rel(os.TempDir(), program)
	if err != nil {
		return ""
	}
	if name, _, below := strings.Cut(filepath.ToSlash(rel), "/"); below && workFolder.MatchString(name) {
		return filepath.Join(os.TempDir(), name)
	}
	return ""
}

// WithScratch has SweepScratch remove such a working folder together with a folder that Scratch made, if the go command, which pid is, was killed as
// well: it removes its own, but for that.
func WithScratch(dir string, pid int, work string) error {
	owner, err := Self()
	if err != nil {
		return fmt.Errorf("noting the folder of go: %w", err)
	}
	owner.PID = pid
	if owner.Start, _, err = processStart(pid); err != nil {
		return nil // it has ended already
	}
	if err := os.WriteFile(filepath.Join(dir, owner.String()), []byte(filepath.Base(work)), 0o600); err != nil {
		return fmt.Errorf("noting the folder of go: %w", err)
	}
	return nil
}

// sweepWith removes what WithScratch noted in a folder. That may be anybody's, so nothing is removed that is not a working folder of go.
func sweepWith(dir string, self Owner) error {
	notes, err := filepath.Glob(filepath.Join(dir, "*-*-*-*"))
	if err != nil {
		return err
	}
	for _, note := range notes {
		owner, err := ParseOwner(filepath.Base(note))
		if err != nil || owner.Liveness(self) != Dead {
			continue
		}
		name, err := os.ReadFile(note)
		if err != nil || !workFolder.Match(name) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(os.TempDir(), string(name))); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

// SweepScratch removes the temporary folders that killed processes left, with the go commands that still use them, and returns their paths. Those of running processes, of other machines and of
// other users are left alone.
func SweepScratch(o SweepOptions) (removed []string, err error) {
	if o.Progress == nil {
		o.Progress = func(string, ...any) {}
	}
	self, err := Self()
	if err != nil {
		return nil, fmt.Errorf("sweeping: %w", err)
	}
	all, err := filepath.Glob(filepath.Join(os.TempDir(), namePrefix+"*"))
	if err != nil {
		return nil, fmt.Errorf("sweeping: %w", err)
	}
	var errs []error
	for _, dir := range all {
		owner, ok := ownerOfScratch(filepath.Base(dir))
		if !ok {
			continue
		}
		if l := owner.Liveness(self); l != Dead {
			o.Progress("leaving folder %s: its owner, process %d, is %s", dir, owner.PID, l)
			continue
		}
		if !o.DryRun {
			if err := orphans.End(dir); err != nil {
				errs = append(errs, fmt.Errorf("sweeping: %w", err))
				continue
			}
			if err := sweepWith(dir, self); err != nil {
				errs = append(errs, fmt.Errorf("sweeping: %w", err))
				continue
			}
			if err := os.RemoveAll(dir); errors.Is(err, fs.ErrPermission) {
				o.Progress("leaving folder %s: %v", dir, err)
				continue
			} else if err != nil {
				errs = append(errs, fmt.Errorf("sweeping: %w", err))
				continue
			}
		}
		removed = append(removed, dir)
	}
	return removed, errors.Join(errs...)
}

// ownerOfScratch reads the name of a folder: podorder-PURPOSE-OWNER-RANDOM.
func ownerOfScratch(name string) (Owner, bool) {
	parts := strings.Split(name, "-")
	if len(parts) != 7 {
		return Owner{}, false
	}
	o, err := ParseOwner(strings.Join(parts[2:6], "-"))
	return o, err == nil
}
