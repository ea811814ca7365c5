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
type lock struct{ f *os.File }

// errLocked says that another process holds the lock.
var errLocked = errors.New("in use by another run")

// tryLock takes a lock alone, or returns errLocked.
func tryLock(path string) (*lock, error) { return flock(path, unix.LOCK_EX|unix.LOCK_NB) }

// tryShareLock takes a lock together with others, or returns errLocked where one holds it alone.
func tryShareLock(path string) (*lock, error) { return flock(path, unix.LOCK_SH|unix.LOCK_NB) }

// shareLock takes a lock together with others, and waits for one who holds it alone.
func shareLock(ctx context.Context, path string) (*lock, error) {
	// flock(2) has no call that a context could end, so it is asked again.
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		l, err := tryShareLock(path)
		if !errors.Is(err, errLocked) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for another run to let go of %s: %w", path, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

func flock(path string, how int) (*lock, error) {
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if errors.Is(err, fs.ErrNotExist) { // pruned by a run that ended just now
			if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
				continue
			}
		}
		if err != nil {
			return nil, fmt.Errorf("opening lock %s: %w", path, err)
		}
		for {
			err = unix.Flock(int(f.Fd()), how)
			if !errors.Is(err, unix.EINTR) {
				break
			}
		}
		if err != nil {
			f.Close()
			if errors.Is(err, unix.EWOULDBLOCK) {
				return nil, errLocked
			}
			return nil, fmt.Errorf("taking lock %s: %w", path, err)
		}
		// Whoever had it may have removed the file; then this is a lock on nothing.
		held, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("looking at lock %s: %w", path, err)
		}
		there, err := os.Stat(path)
		if err == nil && os.SameFile(held, there) {
			return &lock{f}, nil
		}
		f.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("looking at lock %s: %w", path, err)
		}
	}
}

// share lets others share a lock that was held alone.
func (l *lock) share() error {
	if err := unix.Flock(int(l.f.Fd()), unix.LOCK_SH); err != nil {
		return fmt.Errorf("sharing lock %s: %w", l.f.Name(), err)
	}
	return nil
}

func (l *lock) unlock() {
	if l != nil {
		l.f.Close()
	}
}

func (l *lock) removeAndUnlock() {
	_ = os.Remove(l.f.Name())
	l.f.Close()
}
