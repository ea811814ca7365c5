package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// procWith makes a /proc in which a user has some inotify instances.
func procWith(t *testing.T, limit string, used int) string {
	t.Helper()
	proc := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(proc, path)
		assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		assert.NilError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	write(inotifyLimit, limit+"\n")
	write("meminfo", "MemTotal: 2000 kB\nMemAvailable:   12582912 kB\n")
	write("12/status", "Name:\tx\nUid:\t7\t7\t7\t7\n")
	write("13/status", "Name:\ty\nUid:\t8\t8\t8\t8\n")
	link := func(pid, fd, to string) {
		dir := filepath.Join(proc, pid, "fd")
		assert.NilError(t, os.MkdirAll(dir, 0o755))
		assert.NilError(t, os.Symlink(to, filepath.Join(dir, fd)))
	}
	link("12", "0", "/dev/null")
	link("13", "5", "anon_inode:inotify") // of another user
	for i := range used {
		link("12", "1"+strings.Repeat("0", i), "anon_inode:inotify")
	}
	return proc
}

func TestCapacity(t *testing.T) {
	c, err := capacity(procWith(t, "128", 3), 7)
	assert.NilError(t, err)
	assert.DeepEqual(t, c, Capacity{InotifyLimit: 128, InotifyUsed: 3, Memory: 12 << 30})

	c, err = capacity(filepath.Join(t.TempDir(), "none"), 7) // not Linux
	assert.NilError(t, err)
	assert.DeepEqual(t, c, Capacity{})

	_, err = capacity(procWith(t, "many", 0), 7)
	assert.ErrorContains(t, err, "many")
}

func TestWorkers(t *testing.T) {
	tests := []struct {
		name    string
		c       Capacity
		workers int
		limit   string
	}{
		{"the default of Linux", Capacity{InotifyLimit: 128, InotifyUsed: 5, Memory: 20 << 30}, 2, "max_user_instances is 128, of which 5"},
		{"raised", Capacity{InotifyLimit: 1024, InotifyUsed: 5, Memory: 20 << 30}, 38, "memory"},
		{"little memory", Capacity{InotifyLimit: 1024, Memory: 4 << 30}, 2, "4096 MiB of memory"},
		{"no memory", Capacity{InotifyLimit: 1024, Memory: 1 << 30}, 0, "memory"},
		{"nothing left", Capacity{InotifyLimit: 128, InotifyUsed: 200, Memory: 20 << 30}, 0, "max_user_instances"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, limit := tt.c.Workers()
			assert.Equal(t, n, tt.workers)
			assert.Check(t, is.Contains(limit, tt.limit))
		})
	}
	n, limit := Capacity{}.Workers()
	assert.Assert(t, n > 1000, "what is not known limits nothing")
	assert.Equal(t, limit, "")
}

func TestCases(t *testing.T) {
	assert.Equal(t, Capacity{}.Cases(3), 0)
	assert.Equal(t, Capacity{InotifyLimit: 128, InotifyUsed: 60}.Cases(1), 60)
	assert.Equal(t, Capacity{InotifyLimit: 128}.Cases(2), 68, "the nodes take some, whoever may count them")
	assert.Equal(t, Capacity{InotifyLimit: 128, InotifyUsed: 200}.Cases(1), 1)
}

func TestRaiseInotify(t *testing.T) {
	self, err := Self()
	assert.NilError(t, err)
	dead := self
	dead.PID, dead.Start = 1<<22+1, 1 // no such process
	limit := func(proc string) string {
		b, err := os.ReadFile(filepath.Join(proc, inotifyLimit))
		assert.NilError(t, err)
		return strings.TrimSpace(string(b))
	}
	t.Run("and put back", func(t *testing.T) {
		proc, s := procWith(t, "128", 3), state{t.TempDir()}
		back, err := raiseInotify(proc, 7, s, self, 12)
		assert.NilError(t, err)
		assert.Equal(t, limit(proc), "595") // 3 + 32 + 12 * 20 + 8 * 40
		assert.NilError(t, sweepInotify(proc, s, self))
		assert.Equal(t, limit(proc), "595", "a live run has it")
		_, err = raiseInotify(proc, 7, s, self, 24)
		assert.ErrorContains(t, err, "another run has raised it")
		assert.NilError(t, back())
		assert.Equal(t, limit(proc), "128")
		assert.NilError(t, back(), "a second time does nothing")
	})
	t.Run("enough as it is", func(t *testing.T) {
		proc, s := procWith(t, "1024", 3), state{t.TempDir()}
		back, err := raiseInotify(proc, 7, s, self, 12)
		assert.NilError(t, err)
		assert.NilError(t, back())
		assert.Equal(t, limit(proc), "1024")
	})
	t.Run("someone else changed it meanwhile", func(t *testing.T) {
		proc, s := procWith(t, "128", 3), state{t.TempDir()}
		back, err := raiseInotify(proc, 7, s, self, 12)
		assert.NilError(t, err)
		assert.NilError(t, os.WriteFile(filepath.Join(proc, inotifyLimit), []byte("9000"), 0o644))
		assert.NilError(t, back())
		assert.Equal(t, limit(proc), "9000")
	})
	t.Run("left by a killed run", func(t *testing.T) {
		proc, s := procWith(t, "128", 3), state{t.TempDir()}
		_, err := raiseInotify(proc, 7, s, dead, 12)
		assert.NilError(t, err)
		assert.NilError(t, sweepInotify(proc, s, self))
		assert.Equal(t, limit(proc), "128")
	})
}
