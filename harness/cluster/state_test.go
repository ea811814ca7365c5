package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

// A lock is held alone or together with others, and is always one on the file that is there.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "a.lock") // the folder may have been pruned
	alone, err := tryLock(path)
	assert.NilError(t, err)
	for _, take := range []func(string) (*lock, error){tryLock, tryShareLock} {
		_, err = take(path)
		assert.Assert(t, errors.Is(err, errLocked), "%v", err)
	}
	assert.NilError(t, alone.share())
	other, err := tryShareLock(path)
	assert.NilError(t, err)
	_, err = tryLock(path)
	assert.Assert(t, errors.Is(err, errLocked), "%v", err)
	other.unlock()
	alone.unlock()

	// Who waits for a lock whose file its holder removes gets one on a new file.
	alone, err = tryLock(path)
	assert.NilError(t, err)
	got := make(chan *lock)
	go func() {
		l, err := shareLock(t.Context(), path)
		assert.Check(t, err)
		got <- l
	}()
	alone.removeAndUnlock()
	waited := <-got
	_, err = os.Stat(path)
	assert.NilError(t, err)
	_, err = tryLock(path)
	assert.Assert(t, errors.Is(err, errLocked), "%v", err)
	waited.unlock()
	last, err := tryLock(path)
	assert.NilError(t, err)

	why := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	_, err = shareLock(ctx, path)
	assert.Assert(t, errors.Is(err, why), "%v", err)
	last.removeAndUnlock()
	_, err = os.Stat(path)
	assert.Assert(t, errors.Is(err, os.ErrNotExist), "%v", err)
}
