package cluster

import (
	"fmt"
	"io"
	"strings"
	"sync"

	kindlog "sigs.k8s.io/kind/pkg/log"
)

// kindLogger keeps everything that kind says in a file, and reports its steps as progress.
type kindLogger struct {
	mu       sync.Mutex
	w        io.Writer
	progress func(string, ...any)
}

var _ kindlog.Logger = (*kindLogger)(nil)

func (l *kindLogger) write(level kindlog.Level, s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s = strings.TrimRight(s, "\n")
	fmt.Fprintln(l.w, s)
	if level == 0 {
		if s = step(s); s != "" {
			l.progress("kind: %s", s)
		}
	}
}

// step takes from a line of kind what is worth showing: the begin of a step, as plain words.
func step(s string) string {
	s, ok := strings.CutPrefix(strings.TrimSpace(s), "•")
	if !ok {
		return ""
	}
	s = strings.Map(func(r rune) rune {
		if r > 0x7e {
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(s), "..."))
}

func (l *kindLogger) Warn(m string)             { l.write(1, "warning: "+m) }
func (l *kindLogger) Warnf(f string, a ...any)  { l.Warn(fmt.Sprintf(f, a...)) }
func (l *kindLogger) Error(m string)            { l.write(1, "error: "+m) }
func (l *kindLogger) Errorf(f string, a ...any) { l.Error(fmt.Sprintf(f, a...)) }
func (l *kindLogger) V(v kindlog.Level) kindlog.InfoLogger {
	return kindInfo{l, v}
}

type kindInfo struct {
	l *kindLogger
	v kindlog.Level
}

func (i kindInfo) Info(m string)            { i.l.write(i.v, m) }
func (i kindInfo) Infof(f string, a ...any) { i.Info(fmt.Sprintf(f, a...)) }
func (i kindInfo) Enabled() bool            { return true }
