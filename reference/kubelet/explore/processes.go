package explore

import (
	"slices"

	"github.com/podorder/podorder/reference/trace"
)

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
		hook := func(a trace.Actor, at stage, set func(n *newest, l stage)) {
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
		hook(trace.PostStart, i.post, func(n *newest, l stage) { n.post = l })
		hook(trace.PreStop, i.pre, func(n *newest, l stage) { n.pre = l })
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

var begin = trace.Mark{Kind: trace.Begin, N: -1}

func end(code int) trace.Mark { return trace.Mark{Kind: trace.End, N: code} }

var probeKinds = [3]trace.Actor{trace.StartupProbe, trace.ReadinessProbe, trace.LivenessProbe}

// dies ends a container, and what runs in it.
func (s *state) dies(c int, failed bool) {
	i := &s.is[c]
	i.main, i.failed, i.term, i.told = gone, failed, false, false
	for _, l := range []*stage{&i.post, &i.pre} {
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
			for _, l := range []func(n *newest) *stage{func(n *newest) *stage { return &n.post }, func(n *newest) *stage { return &n.pre }} {
				if at := *l(&i); at == silent || at == begun {
					to := s
					*l(&to.is[c]) = failing
					next(to)
				}
			}
		}
	}
}
