package judge

import (
	"slices"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// Order is what can be seen of a Pod, and in which order.
type Order struct {
	Nodes []Possible
	// Rule is, for each pair, the rule by which the first is seen before the second: empty where some
	// life shows them the other way round, and where one process writes both.
	Rule [][]string
	// lives are the observations of each life.
	lives [][]int
}

// Order is read off the judge. For each observation a whole life is sought in which as much as
// possible comes before it, and which the judge accepts. So a pair without a rule is one that such a life
// shows in the other order, and a pair with a rule is refused the other way round by that rule in each life that has both.
func (j Judge) Order() Order {
	nodes := Possibles(j.Kubelet, j.Pod)
	n := len(nodes)
	o := Order{Nodes: nodes, Rule: make([][]string, n)}
	free := make([][]bool, n) // seen the other way round in some life
	for a := range n {
		o.Rule[a], free[a] = make([]string, n), make([]bool, n)
	}
	for _, l := range j.lives(nodes) {
		o.lives = append(o.lives, l.compare(o.Rule, free))
	}
	for a := range n {
		for b := range n {
			if free[a][b] {
				o.Rule[a][b] = ""
			}
		}
	}
	return o
}

// Before reports whether a is seen before b, by a rule or by the process that writes both.
func (o *Order) Before(a, b int) bool { return o.Rule[a][b] != "" || o.Nodes[a].Then(o.Nodes[b]) }

// Follows reports whether it follows from two other pairs that a is seen before b: something is seen between them in
// each life that has both.
func (o *Order) Follows(a, b int, p *podspec.Pod) bool {
	for c := range o.Nodes {
		if !o.Nodes[c].Ends(p) && o.Before(a, c) && o.Before(c, b) && !slices.ContainsFunc(o.lives, func(life []int) bool {
			return slices.Contains(life, a) && slices.Contains(life, b) && !slices.Contains(life, c)
		}) {
			return true
		}
	}
	return false
}

// compare fills in what the life shows of each pair, and returns what is seen in it.
func (l life) compare(rule [][]string, free [][]bool) []int {
	all := slices.Clone(l.order)
	later := map[int][]int{}
	for _, a := range l.order {
		later[a] = l.follow(a)
	}
	note := func(l *life, a, b int, follows bool) {
		switch {
		case !follows:
			free[a][b] = true
		case rule[a][b] == "" && !l.nodes[a].SameProcess(l.nodes[b]):
			if rule[a][b] = l.ruleOf(a, b, later[a]); rule[a][b] == "" {
				free[a][b] = true
			}
		}
	}
	for _, a := range l.order {
		for _, b := range l.order {
			if a != b {
				note(&l, a, b, slices.Contains(later[a], b))
			}
		}
	}
	for u := range l.nodes {
		if l.nodes[u].IsLine() || !slices.Contains(l.order, l.startShown(u)) {
			continue
		}
		with := l.with(u)
		if at, _ := with.refused(with.order); at >= 0 {
			continue
		}
		all = append(all, u)
		for _, a := range l.order {
			before, after := l.split(a, later[a])
			at, _ := with.refused(slices.Concat(before, []int{u, a}, after))
			note(&with, a, u, at >= 0)
			if start := with.startShown(u); rule[a][u] == rules.Instances && rule[a][start] != "" {
				rule[a][u] = rule[a][start] // the update shows that a has come, and a start that waits for it
			}
			free[u][a] = true // an update may be late
		}
	}
	return all
}

// follow returns what comes after a in every order of the life that the judge accepts.
func (l *life) follow(a int) []int {
	var after []int
	add := func(x int) {
		after = append(after, x)
		for _, y := range l.order {
			if l.nodes[x].Then(l.nodes[y]) && !slices.Contains(after, y) {
				after = append(after, y)
			}
		}
	}
	for _, y := range l.order {
		if l.nodes[a].Then(l.nodes[y]) {
			after = append(after, y)
		}
	}
	for {
		before, rest := l.split(a, after)
		tail := append([]int{a}, rest...)
		at, _ := l.refused(slices.Concat(before, tail))
		if at < 0 {
			return after
		}
		// What is refused waits for a, or for what follows it; or something before it came too early, and was taken
		// to mean that a never comes.
		reach, n := min(at, len(before)), max(at-len(before), 0)
		if at < len(before) && l.admits(before, at, tail, 0) {
			add(before[at])
			continue
		}
		k := reach - 1
		for k >= 0 && !l.admits(before, k, tail, n) {
			k--
		}
		if k < 0 {
			return after // it is refused whatever comes before
		}
		add(before[k])
	}
}

// admits reports whether entry n of the tail is accepted, and all before it, if the tail comes after k of what is before.
func (l *life) admits(before []int, k int, tail []int, n int) bool {
	at, _ := l.refused(slices.Concat(before[:k], tail[:n+1], before[k:], tail[n+1:]))
	return at < 0 || at > k+n
}

// split divides the life without a into what does not follow it and what does.
func (l *life) split(a int, after []int) (before, rest []int) {
	for _, x := range l.order {
		switch {
		case x == a:
		case slices.Contains(after, x):
			rest = append(rest, x)
		default:
			before = append(before, x)
		}
	}
	return before, rest
}

// ruleOf is the rule by which b is refused before a, where everything that does not wait for a
// has come; later is what does.
func (l *life) ruleOf(a, b int, later []int) string {
	before, after := l.split(a, later)
	other := func(x int) bool { return x == b }
	after = slices.DeleteFunc(after, other)
	before = slices.DeleteFunc(before, other)
	_, rule := l.refused(slices.Concat(before, []int{b, a}, after))
	return rule
}

// startShown is the first line of the container whose start update u tells.
func (l *life) startShown(u int) int {
	return slices.IndexFunc(l.nodes, func(x Possible) bool {
		return x.IsLine() && x.Container == l.nodes[u].shows && x.Actor == trace.Main && x.Line.Mark.Kind == trace.Begin
	})
}
