package nodeimage

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

func open(t *testing.T, dir string) *store {
	t.Helper()
	s, err := openStore(context.Background(), dir, func() {})
	assert.NilError(t, err)
	return s
}

func TestStore(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	built := 0
	build := func(content string) func(string) error {
		return func(d string) error {
			built++
			return os.WriteFile(filepath.Join(d, "file"), []byte(content), 0o644)
		}
	}
	read := func(d string) string {
		b, err := os.ReadFile(filepath.Join(d, "file"))
		assert.NilError(t, err)
		return string(b)
	}
	old, err := s.get("piece", keyOf("1"), build("one"))
	assert.NilError(t, err)
	assert.Equal(t, read(old), "one")

	again, err := s.get("piece", keyOf("1"), build("other"))
	assert.NilError(t, err)
	assert.Equal(t, again, old)
	assert.Equal(t, built, 1)

	// A failed build changes nothing.
	failure := errors.New("no such thing")
	_, err = s.get("piece", keyOf("2"), func(d string) error {
		assert.NilError(t, os.WriteFile(filepath.Join(d, "file"), nil, 0o644))
		return failure
	})
	assert.ErrorIs(t, err, failure)
	assert.Equal(t, read(old), "one")
	entries, err := os.ReadDir(dir)
	assert.NilError(t, err)
	assert.Equal(t, len(entries), 2, "the lock and the piece: %v", entries)

	// A new recipe replaces the old piece, and leaves pieces with longer names alone.
	other, err := s.get("piece-of-another", keyOf("1"), build("another"))
	assert.NilError(t, err)
	now, err := s.get("piece", keyOf("2"), build("two"))
	assert.NilError(t, err)
	assert.Equal(t, read(now), "two")
	assert.Equal(t, read(other), "another")
	_, err = os.Stat(old)
	assert.ErrorIs(t, err, os.ErrNotExist)
	assert.NilError(t, s.close())
}

func TestStoreRemovesWhatAnInterruptedBuildLeft(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	left, err := s.temp()
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(filepath.Join(left, "half"), nil, 0o644))
	assert.NilError(t, s.close())

	assert.NilError(t, open(t, dir).close())
	_, err = os.Stat(left)
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// Two builds do not work in one cache at once: the second waits, says so, and stops waiting when it is told to.
func TestStoreIsLocked(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir)
	ctx, cancel := context.WithCancel(context.Background())
	waited := false
	_, err := openStore(ctx, dir, func() { waited = true; cancel() })
	assert.ErrorIs(t, err, context.Canceled)
	assert.Assert(t, waited)

	second := make(chan error, 1)
	go func() {
		s, err := openStore(context.Background(), dir, func() { _ = first.close() })
		if err == nil {
			err = s.close()
		}
		second <- err
	}()
	assert.NilError(t, <-second)
}
