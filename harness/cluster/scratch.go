package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// SweepScratch removes the temporary folders that killed processes left, with the go commands that still use them, and returns their paths. Those of live processes, of other machines and of
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
