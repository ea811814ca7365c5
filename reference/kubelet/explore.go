package kubelet

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// This file is a second reading of the rules, without time: a tiny Pod as a
// state that steps from one to the next, every schedule of which is tried.
//
// What takes time may take any time. So a kubelet may sync whenever it is free,
// notices an exit whenever a relist happens to come, and a container that was
// restarted before may or may not be in back-off. A process writes its first
// line at any time after it was started, and is there for some time after its
// last one.

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
func Logs(p Pod, o Options, limit int) map[string]bool {
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
	more(nil, Explore(p, o))
	return logs
}

// Count returns how many logs of exactly 0, 1, ..., limit lines there are.
func Count(p Pod, o Options, limit int) []int {
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
	return count(Explore(p, o), limit)
}

// Set is all that may be going on after a log.
type Set struct {
	x      *explorer
	states map[state]bool
	lines  map[string]map[state]bool
}

// Explore returns the set of the empty log.
func Explore(p Pod, o Options) *Set {
	x := &explorer{pod: p, all: p.all(), o: o}
	if len(x.all) > most {
		panic(fmt.Sprintf("kubelet: %d containers are too many to try everything; at most %d", len(x.all), most))
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
	x.v = MustParseRelease(x.o.Version)
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

// most is how many containers a tiny Pod has at most.
const most = 4

// state is the whole world of a tiny Pod.
type state struct {
	is    [most]newest
	entry [most]bool // the container has an entry in the back-off list

	seen  [most]seen // the newest snapshot
	fresh bool       // it is newer than the end of the worker's last call
	shown [most]int8 // the instance that the published status shows running; -1 if none

	at       place
	finished bool       // the computed phase is terminal
	had      [most]bool // the snapshot of this sync had an exited instance
	victims  [most]bool // to be killed before the starts
	kill     [most]step // where the kill of each container is
	starts   [most]bool // to be started: in spec order
	part     part       // where the start of the first of them is
}

// newest is the newest instance of a container.
type newest struct {
	run        int8 // -1: there is none; the number that it has or will take
	wrote      bool // it has taken it
	again      bool // it is not the first one
	main       life
	failed     bool // it exited with something else than 0
	term, told bool // TERM was sent; and written down
	post, pre  life // the processes of its hooks
	probes     [3]life
}

// seen is what a snapshot says of a container.
type seen struct {
	run                    int8
	running, failed, again bool
}

// life is where a process is.
type life uint8

const (
	absent  life = iota
	silent       // it runs and has not written its first line
	begun        //
	ended        // it has written its last line: success
	failing      // the same: failure
	gone         // the kubelet knows how it ended
	bad          // the same: failure
)

// place is where the worker is.
type place uint8

const (
	idle    place = iota
	killing       // R13: single containers
	natural       // R74: the whole Pod, within a sync
	starting
	leaving     // terminating has published its status
	terminating // R75
	done
)

// part is where a start is, R15.
type part uint8

const (
	create part = iota
	callHook
	inHook
	hookFailed
)

// step is where a kill is, R76.
type step uint8

const (
	none step = iota
	called
	inPreStop
	waits // for its turn
	termed
	stoppedNow
)

type explorer struct {
	pod Pod
	all []Container
	o   Options
	v   Release
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

// lines lists the writes that may come next.
func (x *explorer) lines(s state, yield func(line string, to state)) {
	for c, spec := range x.all {
		i := s.is[c]
		if !i.alive() || int(i.run) >= x.o.Runs {
			continue
		}
		write := func(a trace.Actor, m trace.Mark, f func(n *newest)) {
			to := s
			to.is[c].wrote = true
			f(&to.is[c])
			yield(trace.Line{Container: spec.Name, Run: int(i.run), Actor: a, Mark: m}.String(), to)
		}
		switch {
		case i.main == silent:
			write(trace.Main, begin, func(n *newest) { n.main = begun })
		case i.main == begun:
			if i.term && !i.told {
				write(trace.Main, trace.Mark{Kind: trace.Signal, N: -1, Signal: "TERM"}, func(n *newest) { n.told = true })
			}
			if i.term || spec.Exits || !x.isRegular(c) && !spec.Sidecar {
				for _, code := range x.o.Codes {
					write(trace.Main, end(code), func(n *newest) { n.main, n.failed = ended, code != 0 })
				}
			}
		}
		hook := func(a trace.Actor, at life, set func(n *newest, l life)) {
			switch at {
			case silent:
				write(a, begin, func(n *newest) { set(n, begun) })
			case begun:
				write(a, end(0), func(n *newest) { set(n, ended) })
				if spec.HookFails {
					write(a, end(1), func(n *newest) { set(n, failing) })
				}
			}
		}
		hook(trace.PostStart, i.post, func(n *newest, l life) { n.post = l })
		hook(trace.PreStop, i.pre, func(n *newest, l life) { n.pre = l })
		for k, a := range probeKinds {
			if i.probes[k] != silent {
				continue
			}
			write(a, end(0), func(n *newest) { n.probes[k] = ended })
			if k == 0 && spec.StartupFails || k == 1 && slices.Max(x.o.Codes) > 0 || k == 2 && spec.LivenessFails {
				write(a, end(1), func(n *newest) { n.probes[k] = failing })
			}
		}
	}
}

var probeKinds = [3]trace.Actor{trace.StartupProbe, trace.ReadinessProbe, trace.LivenessProbe}

// dies ends a container, and what runs in it.
func (s *state) dies(c int, failed bool) {
	i := &s.is[c]
	i.main, i.failed, i.term, i.told = gone, failed, false, false
	for _, l := range []*life{&i.post, &i.pre} {
		if *l == silent || *l == begun {
			*l = failing
		}
	}
	for k := range i.probes {
		if i.probes[k] == silent {
			i.probes[k] = absent
		}
	}
}

// environment is what processes do without a line.
func (x *explorer) environment(s state, next func(state)) {
	for c := range x.all {
		i := s.is[c]
		if !i.alive() {
			continue
		}
		die := func(failed bool) {
			to := s
			to.dies(c, failed)
			next(to)
		}
		if i.main == ended { // it exits some time after its last line
			die(i.failed)
		}
		// Of TERM; of KILL, which may also come between the last line and the exit;
		// or just so, which shows as a missing last line.
		if i.term && (i.main != ended || x.o.KillGraceEnds) || x.o.Crashes && i.main != ended {
			die(true)
		}
		if x.o.Crashes {
			for _, l := range []func(n *newest) *life{func(n *newest) *life { return &n.post }, func(n *newest) *life { return &n.pre }} {
				if at := *l(&i); at == silent || at == begun {
					to := s
					*l(&to.is[c]) = failing
					next(to)
				}
			}
		}
	}
}

// probeWorkers is what they do without a line.
func (x *explorer) probeWorkers(s state, next func(state)) {
	for c, spec := range x.all {
		i := s.is[c]
		for k, p := range []*Probe{spec.Startup, spec.Readiness, spec.Liveness} {
			if p == nil {
				continue
			}
			to := s
			switch {
			case i.probes[k] == ended || i.probes[k] == failing: // the result is stored
				to.is[c].probes[k] = gone
				if i.probes[k] == failing {
					to.is[c].probes[k] = bad
				}
				next(to)
			case i.probes[k] == absent && i.alive() && int(i.run) < x.o.Runs && s.shown[c] == i.run && x.mayProbe(s, c, k):
				to.is[c].probes[k] = silent
				next(to)
			}
		}
	}
}

// mayProbe is R45 and R55.
func (x *explorer) mayProbe(s state, c, k int) bool {
	if s.at == terminating && k != 1 && (x.isRegular(c) || x.v.Has(SidecarProbesStop)) {
		return false
	}
	return k == 0 || x.started(s, c)
}

// started tells whether the newest instance has had its startup probe's
// success, R35.
func (x *explorer) started(s state, c int) bool {
	p := x.all[c].Startup
	return p == nil || s.is[c].probes[0] == gone && p.defaulted().Successes == 1
}

// condemned tells whether a probe wants the newest instance killed, R51, R52.
func (x *explorer) condemned(s state, c int) bool {
	live, start := x.all[c].Liveness, x.all[c].Startup
	return s.is[c].probes[2] == bad && live.defaulted().Failures == 1 || s.is[c].probes[0] == bad && start.defaulted().Failures == 1
}

// worker is the next step of the Pod's worker, R1.
func (x *explorer) worker(s state, next func(state)) {
	switch s.at {
	case idle:
		x.idle(s, next)
	case killing:
		x.killing(s, next)
	case natural, terminating:
		x.killPod(s, next)
	case leaving:
		s.at = terminating // the workers of liveness and startup probes stop
		next(s)
	case starting:
		x.starting(s, next)
	}
}

// idle is the worker between two calls: it waits for a snapshot, R3.
func (x *explorer) idle(s state, next func(state)) {
	relisted := s
	for c, i := range s.is {
		relisted.seen[c] = seen{i.run, i.alive(), i.main == gone && i.failed, i.again}
	}
	relisted.fresh = true
	next(relisted)
	if !s.fresh {
		return
	}
	if s.finished || x.o.Deletion { // R75
		to := x.published(s)
		to.at = leaving
		to.all(x, func(c int) {
			if s.seen[c].running {
				to.kill[c] = called
			}
		})
		next(to.forget())
	}
	if !s.finished {
		next(x.sync(s))
	}
}

func (s *state) all(x *explorer, f func(c int)) {
	for c := range x.all {
		f(c)
	}
}

// forget drops the snapshot, which is not looked at again.
func (s state) forget() state {
	s.fresh = false
	for c := range s.seen {
		s.seen[c] = seen{run: -1}
	}
	return s
}

// ends ends a call of the worker.
func (s state) ends() state {
	s.at, s.part = idle, create
	s.had, s.victims, s.kill, s.starts = [most]bool{}, [most]bool{}, [most]step{}, [most]bool{}
	return s.forget()
}

// published is the generation at the beginning of a call, R28.
func (x *explorer) published(s state) state {
	for c := range x.all {
		s.shown[c] = -1
		if s.seen[c].running {
			s.shown[c] = s.seen[c].run
		}
	}
	return s
}

// sync begins a sync: R6, R7.
func (x *explorer) sync(s state) state {
	s = x.published(s)
	if x.over(s) { // R6 (2)
		s.finished = true
		return s.ends()
	}
	killPod := x.plan(&s)
	for c := range x.all {
		s.had[c] = s.starts[c] && (s.seen[c].again || s.seen[c].run >= 0 && !s.seen[c].running)
	}
	switch {
	case killPod:
		s.at = natural
		s.victims, s.starts, s.had = [most]bool{}, [most]bool{}, [most]bool{}
		for c := range x.all {
			if s.seen[c].running {
				s.kill[c] = called
			}
		}
	case s.victims != [most]bool{}:
		s.at = killing
	default:
		s.at = starting
	}
	return s.forget()
}

// restarts is R69.
func (x *explorer) restarts(c int, failed bool) bool {
	return x.isSidecar(c) || x.pod.Policy == corev1.RestartPolicyAlways || x.pod.Policy == corev1.RestartPolicyOnFailure && failed
}

// over tells whether the phase computed from the snapshot is terminal, R38, R62.
func (x *explorer) over(s state) bool {
	for c := range x.pod.Init {
		if i := s.seen[c]; !x.isSidecar(c) && i.run >= 0 && !i.running && i.failed && !x.restarts(c, true) {
			return true // though a sidecar before it may still run
		}
	}
	for c := range x.all {
		i := s.seen[c]
		if x.isRegular(c) && (i.run < 0 || i.running || x.restarts(c, i.failed)) || x.isSidecar(c) && i.running {
			return false
		}
	}
	return true
}

// plan sets what a sync kills and starts, R59 to R63, R12, R52. It returns true
// where nothing is left to run, R74.
func (x *explorer) plan(s *state) (killPod bool) {
	initialised := len(x.pod.Init) == 0
	for c := len(x.pod.Init); c < len(x.all); c++ { // R64
		initialised = initialised || s.seen[c].running || x.v.Has(InitPerSandbox) && s.seen[c].run >= 0
	}
	frontier := -1
	for c := range x.pod.Init {
		if s.seen[c].run >= 0 {
			frontier = c
		}
	}
	release := !initialised && frontier < 0 // the entry behind the frontier may come
	for c := range x.pod.Init {
		i := s.seen[c]
		switch {
		case x.isSidecar(c) && i.run < 0:
			s.starts[c] = initialised
		case x.isSidecar(c) && !i.running:
			s.starts[c] = true // R63
		case x.isSidecar(c):
			if x.condemned(*s, c) {
				s.victims[c], s.starts[c] = true, true
			}
			if c == frontier && x.started(*s, c) && s.is[c].probes[0] != bad {
				release = release || !initialised // R60
			}
		case c == frontier && !initialised && i.run >= 0 && !i.running:
			if i.failed {
				s.starts[c] = true // R62; policy Never is over
			} else {
				release = true // R59
			}
		}
	}
	if release {
		if frontier+1 < len(x.pod.Init) {
			s.starts[frontier+1] = true
			return false
		}
		initialised = true // R61
	}
	if !initialised {
		return false
	}
	left := false
	for c := len(x.pod.Init); c < len(x.all); c++ {
		i := s.seen[c]
		switch {
		case i.run < 0, !i.running && x.restarts(c, i.failed):
			s.starts[c] = true
		case i.running && x.condemned(*s, c):
			s.victims[c], s.starts[c] = true, x.pod.Policy != corev1.RestartPolicyNever
		case i.running:
			left = true
		}
		left = left || s.starts[c]
	}
	return !left
}

// killing kills what probes have condemned, R13.
func (x *explorer) killing(s state, next func(state)) {
	left, active := false, false
	for c := range x.all {
		left = left || s.victims[c] || s.kill[c] != none && s.kill[c] != stoppedNow
		active = active || s.kill[c] != none && s.kill[c] != stoppedNow
	}
	if !left {
		s.at, s.kill = starting, [most]step{}
		next(s)
		return
	}
	for c := range x.all {
		if s.victims[c] && (!active || x.v.Has(ParallelKills)) {
			to := s
			to.victims[c], to.kill[c] = false, called
			next(to)
		}
		x.kill(s, c, false, x.o.KillGraceEnds, next)
	}
}

// killPod kills all at once, sidecars in their order, R76, R81.
func (x *explorer) killPod(s state, next func(state)) {
	grace, left := x.o.KillGraceEnds, false
	if s.at == terminating {
		grace = x.o.GraceEnds
	}
	for c := range x.all {
		left = left || s.kill[c] != none && s.kill[c] != stoppedNow
		x.kill(s, c, true, grace, next)
	}
	switch {
	case left:
	case s.at == natural:
		next(s.ends())
	default:
		s = s.ends()
		s.at = done
		next(s)
	}
}

// kill is the next step of one kill, R76 to R78.
func (x *explorer) kill(s state, c int, ordered, graceEnds bool, next func(state)) {
	i := &s.is[c]
	switch s.kill[c] {
	case called:
		s.kill[c] = waits
		if x.all[c].PreStop != None && i.alive() {
			s.kill[c], i.pre = inPreStop, silent
		}
		next(s)
	case inPreStop:
		switch {
		case i.pre == ended || i.pre == failing:
			s.kill[c], i.pre = waits, absent
			next(s)
		case graceEnds: // it is abandoned, not stopped
			s.kill[c] = waits
			next(s)
		}
	case waits:
		if ordered && !graceEnds && !x.turn(s, c) {
			return
		}
		if i.alive() {
			s.kill[c], i.term = termed, true
		} else {
			s.kill[c], i.pre = stoppedNow, absent
		}
		next(s)
	case termed:
		if !i.alive() {
			s.kill[c], i.pre = stoppedNow, absent
			next(s)
		}
	}
}

// turn tells whether a container may be stopped, R81: a sidecar after all
// regular containers and the next later sidecar.
func (x *explorer) turn(s state, c int) bool {
	if !x.isSidecar(c) {
		return true
	}
	later := false
	for d := c + 1; d < len(x.all); d++ {
		if x.isRegular(d) || x.isSidecar(d) && !later {
			if s.kill[d] != none && s.kill[d] != stoppedNow {
				return false
			}
			later = later || x.isSidecar(d)
		}
	}
	return true
}

// starting is the next step of the starts, R8, R15: one after the other.
func (x *explorer) starting(s state, next func(state)) {
	c := slices.Index(s.starts[:], true)
	if c < 0 {
		next(s.ends())
		return
	}
	i := &s.is[c]
	over := func(s state, err bool) {
		s.starts[c], s.had[c], s.part = false, false, create
		s.kill[c] = none
		if err && !x.isRegular(c) && !x.isSidecar(c) {
			s = s.ends() // R10
		}
		next(s)
	}
	switch s.part {
	case create:
		if x.o.StartErrors || s.had[c] && s.entry[c] { // R11
			over(s, true)
		}
		s.entry[c] = s.entry[c] || s.had[c]
		start := func(s state, run int8) {
			i := &s.is[c]
			*i = newest{run: run, again: i.run >= 0, main: silent}
			s.shown[c] = -1 // what the status shows is the one before
			s.part = callHook
			if x.all[c].PostStart == None {
				over(s, false)
				return
			}
			next(s)
		}
		if x.o.Silent && i.run >= 0 && !i.wrote { // one that wrote nothing may have taken no number
			start(s, i.run)
		}
		start(s, min(i.run+1, int8(x.o.Runs)))
	case callHook: // R22: after the main process has been started
		s.part = hookFailed
		if i.alive() {
			s.part, i.post = inHook, silent
		} else {
			s.kill[c] = called
		}
		next(s)
	case inHook: // R16
		switch i.post {
		case ended:
			i.post = absent
			over(s, false)
		case failing:
			i.post = absent
			s.part, s.kill[c] = hookFailed, called
			next(s)
		}
	case hookFailed: // R21: it is killed like any other
		if s.kill[c] == stoppedNow {
			over(s, false) // R9, R10: and what follows comes all the same
			return
		}
		x.kill(s, c, false, x.o.KillGraceEnds, next)
	}
}
