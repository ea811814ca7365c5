package kubelet

import "iter"

// Chooser makes every choice of a run that is left to chance, the length of
// every delay among them: it returns a number from 0 to n-1. The same choices
// make the same run. [Prompt] and [Seed] return one.
type Chooser func(n int) int

// Prompt always chooses the first that there is. Every delay is the shortest
// one, and nothing goes wrong by chance.
func Prompt() Chooser { return func(int) int { return 0 } }

// Seed makes choices that look random, and are the same for the same seed.
func Seed(seed uint64) Chooser {
	return func(n int) int { // the generator splitmix64
		seed += 0x9e3779b97f4a7c15
		z := seed
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return int((z ^ z>>31) % uint64(n))
	}
}

// world is time, counted in milliseconds, and everybody who acts in it.
type world struct {
	choose Chooser
	now    int
	procs  []*proc
}

// proc is a goroutine of the kubelet or a process in a container: a plain
// function that sleeps and waits. Only one of them acts at any moment.
type proc struct {
	w     *world
	next  func() (pause, bool)
	stop  func()
	yield func(pause) bool
	on    pause
	over  bool
}

// pause is what a proc waits for: the moment, or the condition if that comes
// first.
type pause struct {
	until int
	cond  func() bool
}

// never is later than any run.
const never = 1 << 40

// stopped unwinds a proc that is no more.
type stopped struct{}

// spawn lets f act from now on.
func (w *world) spawn(f func(p *proc)) *proc {
	p := &proc{w: w}
	p.next, p.stop = iter.Pull(func(yield func(pause) bool) {
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(stopped); !ok {
					panic(r)
				}
			}
		}()
		p.yield = yield
		f(p)
	})
	p.on.until = w.now
	w.procs = append(w.procs, p)
	return p
}

// kill ends a proc. One that ends itself so has to return.
func (p *proc) kill() { p.over = true }

func (p *proc) wait(on pause) {
	if !p.yield(on) {
		panic(stopped{})
	}
}

// sleep waits for a number of milliseconds.
func (p *proc) sleep(ms int) { p.wait(pause{until: p.w.now + ms}) }

// await waits until the condition holds.
func (p *proc) await(cond func() bool) { p.awaitUntil(never, cond) }

// awaitUntil waits until the condition holds, but no longer than until the
// given moment, and reports whether it holds.
func (p *proc) awaitUntil(moment int, cond func() bool) bool {
	if !cond() && p.w.now < moment {
		p.wait(pause{until: moment, cond: cond})
	}
	return cond()
}

// upTo is a duration of at most ms.
func (w *world) upTo(ms int) int { return w.choose(ms + 1) }

// between is a duration from lo to hi.
func (w *world) between(lo, hi int) int { return lo + w.choose(hi-lo+1) }

// oneIn is true once in n times.
func (w *world) oneIn(n int) bool { return w.choose(n) == n-1 }

// run lets everybody act until the end of time, or until nobody is left.
func (w *world) run(end int, done func() bool) {
	defer func() {
		for _, p := range w.procs {
			p.stop()
		}
	}()
	for !done() {
		p := w.turn()
		if p == nil || p.on.until > end && !p.ready() {
			return
		}
		if !p.ready() {
			w.now = max(w.now, p.on.until)
		}
		on, more := p.next()
		p.on, p.over = on, p.over || !more
	}
}

func (p *proc) ready() bool { return p.on.cond != nil && p.on.cond() }

// turn is whose turn it is: one whose condition has come true, else the one
// that has slept longest.
func (w *world) turn() *proc {
	left := w.procs[:0]
	var over []*proc
	for _, p := range w.procs {
		if p.over {
			over = append(over, p)
		} else {
			left = append(left, p)
		}
	}
	w.procs = left
	for _, p := range over {
		p.stop()
	}
	var first *proc
	for _, p := range w.procs {
		if p.ready() {
			return p
		}
		if first == nil || p.on.until < first.on.until {
			first = p
		}
	}
	return first
}
