package explore

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/kubelet"
)

// Options says what may happen to a tiny Pod. The zero value is a Pod that is
// never deleted, whose processes end with 0 if at all.
type Options struct {
	Version string // v1.37.2 if empty
	// Deletion lets the Pod be deleted, at any time.
	Deletion bool
	// GraceEnds lets the grace period of the whole Pod's end be used up, at any
	// time after it has begun; KillGraceEnds that of a single kill within a sync
	// and of the end that comes by itself. Otherwise they never are.
	GraceEnds, KillGraceEnds bool
	// StartErrors lets every attempt to start a container fail.
	StartErrors bool
	// Crashes lets every process die without its last line.
	Crashes bool
	// Silent lets an instance that has written nothing end without a number, which
	// the next one takes; otherwise it has always taken one.
	Silent bool
	// Runs is how many instances of each container may show in the log; 2 if 0.
	// Nothing is left out otherwise: a log in which more of them show is not
	// looked at.
	Runs int
	// Codes are the exit codes of main processes; only 0 if empty. With a code
	// beside 0 a readiness probe may fail as well.
	Codes []int
}

// Logs returns every log of at most limit lines that a correct kubelet can
// leave behind, as its lines without time stamps, joined by newlines: the
// beginnings of all runs, the empty one included.
//
// A process writes "begin", then "end" with its code; a probe its one line, at
// most once for each instance and kind. A main process ends by itself if it is
// an init container or may exit ([Container.Exits]), and any does after TERM,
// with or without telling the signal, or dies of it. Hooks and probes are taken
// to be exec; HookFails, StartupFails and LivenessFails let them end with 1.
func Logs(p kubelet.Pod, o Options, limit int) map[string]bool {
	logs := map[string]bool{}
	var more func(log []string, s *Set)
	more = func(log []string, s *Set) {
		logs[strings.Join(log, "\n")] = true
		if len(log) == limit {
			return
		}
		for _, line := range s.Lines() {
			more(append(slices.Clip(log), line), s.After(line))
		}
	}
	more(nil, Begin(p, o))
	return logs
}

// Count returns how many logs of exactly 0, 1, ..., limit lines there are.
func Count(p kubelet.Pod, o Options, limit int) []int {
	known := map[string][]int{}
	var count func(s *Set, limit int) []int
	count = func(s *Set, limit int) []int {
		key := fmt.Sprint(limit, s.Key())
		if n, ok := known[key]; ok {
			return n
		}
		n := make([]int, limit+1)
		n[0] = 1
		if limit > 0 {
			for _, line := range s.Lines() {
				for i, m := range count(s.After(line), limit-1) {
					n[i+1] += m
				}
			}
		}
		known[key] = n
		return n
	}
	return count(Begin(p, o), limit)
}

// Set is all that may be going on after a log.
type Set struct {
	x      *explorer
	states map[state]bool
	lines  map[string]map[state]bool
}

// Begin returns the set of the empty log.
func Begin(p kubelet.Pod, o Options) *Set {
	x := &explorer{pod: p, all: p.All(), o: o}
	if len(x.all) > most {
		panic(fmt.Sprintf("explore: %d containers are too many to try everything; at most %d", len(x.all), most))
	}
	if x.pod.Policy == "" {
		x.pod.Policy = corev1.RestartPolicyAlways
	}
	if x.o.Version == "" {
		x.o.Version = "v1.37.2"
	}
	if x.o.Runs == 0 {
		x.o.Runs = 2
	}
	if len(x.o.Codes) == 0 {
		x.o.Codes = []int{0}
	}
	x.v = kubelet.MustParseRelease(x.o.Version)
	first := state{fresh: true}
	for c := range first.is {
		first.is[c].run, first.seen[c].run, first.shown[c] = -1, -1, -1
	}
	return x.set(map[state]bool{first: true})
}

// Lines returns the lines that may come next, in the order of the alphabet.
func (s *Set) Lines() []string { return slices.Sorted(maps.Keys(s.next())) }

// After returns the set after one more line, nil if it cannot come next.
func (s *Set) After(line string) *Set {
	states := s.next()[line]
	if states == nil {
		return nil
	}
	return s.x.set(states)
}

// Key tells sets apart: what may come after two sets of the same key is the same.
func (s *Set) Key() string {
	var keys []string
	for st := range s.states {
		b, err := binary.Append(nil, binary.LittleEndian, st)
		if err != nil {
			panic(err) // a state has a fixed size
		}
		keys = append(keys, string(b))
	}
	slices.Sort(keys)
	return strings.Join(keys, "")
}

// Situation is one of the things that may be going on after a log, for those who
// keep sets of them by themselves. Situations can be compared.
type Situation struct {
	x  *explorer
	in state
}

// Situations returns what may be going on.
func (s *Set) Situations() []Situation {
	var all []Situation
	for st := range s.states {
		all = append(all, Situation{s.x, st})
	}
	return all
}

// After returns what may be going on after one more line, with all steps that
// nobody sees.
func (s Situation) After(line string) []Situation {
	to := map[state]bool{}
	s.x.lines(s.in, func(l string, next state) {
		if l == line {
			to[next] = true
		}
	})
	return s.x.set(to).Situations()
}

func (s *Set) next() map[string]map[state]bool {
	if s.lines == nil {
		s.lines = map[string]map[state]bool{}
		for st := range s.states {
			s.x.lines(st, func(line string, to state) {
				if s.lines[line] == nil {
					s.lines[line] = map[state]bool{}
				}
				s.lines[line][to] = true
			})
		}
	}
	return s.lines
}

type explorer struct {
	pod kubelet.Pod
	all []kubelet.Container
	o   Options
	v   kubelet.Release
}

func (x *explorer) isRegular(c int) bool { return c >= len(x.pod.Init) }
func (x *explorer) isSidecar(c int) bool { return !x.isRegular(c) && x.all[c].Sidecar }

// set closes states over the steps that nobody sees.
func (x *explorer) set(states map[state]bool) *Set {
	s := &Set{x: x, states: map[state]bool{}}
	todo := slices.Collect(maps.Keys(states))
	for len(todo) > 0 {
		st := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if s.states[st] {
			continue
		}
		s.states[st] = true
		next := func(to state) { todo = append(todo, to) }
		x.environment(st, next)
		x.worker(st, next)
		x.probeWorkers(st, next)
	}
	return s
}

func (n newest) alive() bool { return n.main == silent || n.main >= begun && n.main <= failing }
