package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"
)

// record is kept beside a cluster's kubeconfig for people who wonder what it is. Nothing is decided by it.
type record struct {
	Cluster string    `json:"cluster"`
	Owner   string    `json:"owner"`
	PID     int       `json:"pid"`
	User    string    `json:"user"`
	Host    string    `json:"host"`
	Command []string  `json:"command"`
	Started time.Time `json:"started"`
	Kept    bool      `json:"kept"`
	Image   string    `json:"image"`
}

// state is the private folder for kubeconfigs, records and locks of one user: a temporary folder, because nothing in it is worth keeping.
type state struct{ root string }

func openState() (state, error) {
	s := state{filepath.Join(os.TempDir(), fmt.Sprintf("podorder-%d", os.Getuid()))}
	if err := os.MkdirAll(s.root, 0o700); err != nil {
		return s, fmt.Errorf("making the folder for kubeconfigs: %w", err)
	}
	// The name can be guessed, so someone else may have made it first.
	var st unix.Stat_t
	if err := unix.Lstat(s.root, &st); err != nil {
		return s, fmt.Errorf("looking at %s: %w", s.root, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Getuid() || st.Mode&0o077 != 0 {
		return s, fmt.Errorf("%s must be a folder that only you can use (mode 0700); remove it, or set TMPDIR to another place", s.root)
	}
	return s, nil
}

func (s state) dir(cluster string) string        { return filepath.Join(s.root, cluster) }
func (s state) kubeconfig(cluster string) string { return filepath.Join(s.dir(cluster), "kubeconfig") }
func (s state) kindLog(cluster string) string    { return filepath.Join(s.dir(cluster), "kind.log") }

// clusters returns the names of the clusters that have a folder.
func (s state) clusters() ([]string, error) {
	entries, err := os.ReadDir(s.root)
	if err != nil {
		return nil, fmt.Errorf("reading the folder for kubeconfigs: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// save writes the record of a cluster and makes its folder.
func (s state) save(r record) error {
	if err := os.MkdirAll(s.dir(r.Cluster), 0o700); err != nil {
		return fmt.Errorf("making the folder of cluster %s: %w", r.Cluster, err)
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the record of cluster %s: %w", r.Cluster, err)
	}
	if err := os.WriteFile(filepath.Join(s.dir(r.Cluster), "record.json"), append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing the record of cluster %s: %w", r.Cluster, err)
	}
	return nil
}

// remove deletes the folder of a cluster, and the whole folder once it is empty.
func (s state) remove(cluster string) error {
	if err := os.RemoveAll(s.dir(cluster)); err != nil {
		return fmt.Errorf("removing the folder of cluster %s: %w", cluster, err)
	}
	s.prune()
	return nil
}

// prune removes the folder if nothing is left in it but unused locks.
func (s state) prune() {
	entries, err := os.ReadDir(s.root)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() || filepath.Ext(e.Name()) != ".lock" {
			return
		}
	}
	for _, e := range entries {
		if l, err := tryLock(filepath.Join(s.root, e.Name())); err == nil {
			l.removeAndUnlock()
		}
	}
	_ = os.Remove(s.root) // fails, as it should, where someone made something meanwhile
}

// lock is held on a file. The kernel lets go of it when the process ends, however it ends.
type lock struct{ f *flock.Flock }

// errLocked says that another process holds the lock.
var errLocked = errors.New("in use by another run")

// tryLock takes a lock alone, or returns errLocked.
func tryLock(path string) (*lock, error) { return take(path, (*flock.Flock).TryLock) }

// tryShareLock takes a lock together with others, or returns errLocked where one holds it alone.
func tryShareLock(path string) (*lock, error) { return take(path, (*flock.Flock).TryRLock) }

// shareLock takes a lock together with others, and waits for one who holds it alone.
func shareLock(ctx context.Context, path string) (*lock, error) {
	l, err := take(path, func(f *flock.Flock) (bool, error) { return f.TryRLockContext(ctx, 50*time.Millisecond) })
	if ctx.Err() != nil && err != nil {
		return nil, fmt.Errorf("waiting for another run to let go of %s: %w", path, context.Cause(ctx))
	}
	return l, err
}

func take(path string, how func(*flock.Flock) (bool, error)) (*lock, error) {
	for {
		f := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR))
		ok, err := how(f)
		if errors.Is(err, fs.ErrNotExist) { // pruned by a run that ended just now
			if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
				continue
			}
		}
		if err != nil {
			return nil, fmt.Errorf("taking lock %s: %w", path, err)
		}
		if !ok {
			return nil, errLocked
		}
		// Whoever had it may have removed the file; then this is a lock on nothing.
		held, err := f.Stat()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("looking at lock %s: %w", path, err), f.Unlock())
		}
		there, err := os.Stat(path)
		if err == nil && os.SameFile(held, there) {
			return &lock{f}, nil
		}
		if err := errors.Join(f.Unlock(), notMissing(err)); err != nil {
			return nil, fmt.Errorf("looking at lock %s: %w", path, err)
		}
	}
}

// notMissing is the error, unless it says that a file is not there.
func notMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// share lets others share a lock that was held alone.
func (l *lock) share() error {
	if err := l.f.RLock(); err != nil {
		return fmt.Errorf("sharing lock %s: %w", l.f.Path(), err)
	}
	return nil
}

func (l *lock) unlock() {
	if l != nil {
		_ = l.f.Unlock() // what is left of it, the kernel lets go of
	}
}

func (l *lock) removeAndUnlock() {
	_ = os.Remove(l.f.Path())
	l.unlock()
}
