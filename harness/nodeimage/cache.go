package nodeimage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// store is a folder of finished pieces, each under a name and a key that stands for everything it was made from. A piece is made in a
// temporary folder and renamed, so that an interruption leaves either the whole piece or none.
type store struct {
	dir  string
	lock *flock.Flock
}

// storeFolder is the folder of the store: dir, or the user's own.
func storeFolder(dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the folder for caches: %w (name one with -cache)", err)
	}
	return filepath.Join(user, "podorder"), nil
}

// openStore takes the store for this process, waiting for another process that builds. It removes what an interrupted build left.
func openStore(ctx context.Context, dir string, wait func()) (*store, error) {
	dir, err := storeFolder(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the cache: %w", err)
	}
	lock := lockOf(dir)
	ok, err := lock.TryLock()
	if err == nil && !ok {
		wait()
		if _, err = lock.TryLockContext(ctx, lookAgain); ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("lock the cache %s: %w", dir, err)
	}
	s := &store{dir: dir, lock: lock}
	left, err := leftPieces(dir)
	if err != nil {
		return nil, err
	}
	for _, d := range left {
		if err := removeLeft(d); err != nil {
			return nil, fmt.Errorf("remove what an interrupted build left: %w", err)
		}
	}
	return s, nil
}

// lookAgain is how often a store is asked for that another process builds in.
const lookAgain = 100 * time.Millisecond

// lockOf is the lock that stands for the store in a folder; the kernel gives it back when the process ends, however it ends.
func lockOf(dir string) *flock.Flock {
	return flock.New(filepath.Join(dir, "lock"), flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o644))
}

func (s *store) close() error { return s.lock.Close() }

// temp makes a folder that the next user of the store removes if this one does not.
func (s *store) temp() (string, error) { return os.MkdirTemp(s.dir, "tmp-") }

// folder is temp with the function that removes it.
func (s *store) folder() (dir string, clean func(), err error) {
	if dir, err = s.temp(); err != nil {
		return "", nil, fmt.Errorf("make a working folder: %w", err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil // the next build removes what this cannot
}

// piece is a finished piece: its folder, and the key of all that it was made from.
type piece struct{ dir, key string }

// piece is get for a step.
func (s *store) piece(name, key string, build func(dir string) error) (piece, error) {
	dir, err := s.get(name, key, build)
	return piece{dir, key}, err
}

// path is where the piece with this name and key is or would be.
func (s *store) path(name, key string) string { return filepath.Join(s.dir, name+"-"+key) }

// has reports whether a piece is there.
func (s *store) has(name, key string) bool {
	_, err := os.Stat(s.path(name, key))
	return err == nil
}

// get returns the folder of a piece, making it with build where it is missing. Older pieces of the same name are removed then: their recipe
// has changed, and nothing asks for them again.
func (s *store) get(name, key string, build func(dir string) error) (dir string, err error) {
	dir = s.path(name, key)
	if s.has(name, key) {
		return dir, nil
	}
	tmp, err := s.temp()
	if err != nil {
		return "", fmt.Errorf("make a folder in the cache: %w", err)
	}
	defer os.RemoveAll(tmp)
	if err := build(tmp); err != nil {
		return "", err
	}
	old, err := filepath.Glob(s.path(name, strings.Repeat("[0-9a-f]", keyLength)))
	if err != nil {
		return "", err
	}
	for _, d := range old {
		if err := os.RemoveAll(d); err != nil {
			return "", fmt.Errorf("remove an outdated piece from the cache: %w", err)
		}
	}
	if err := os.Rename(tmp, dir); err != nil {
		return "", fmt.Errorf("store a piece in the cache: %w", err)
	}
	return dir, nil
}

// keyLength is the number of hexadecimal digits of a key.
const keyLength = 16

// keyOf is a key for everything that parts say.
func keyOf(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))[:keyLength]
}

// keyOfFiles is a key for the names and contents of all files of fsys.
func keyOfFiles(fsys fs.FS) (string, error) {
	var parts []string
	err := fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(fsys, path)
		parts = append(parts, path, string(b))
		return err
	})
	return keyOf(parts...), err
}
