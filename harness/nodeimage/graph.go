package nodeimage

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
)

// graph is a build: named steps, each of which runs as soon as what it needs is there. What a step makes
// is a value of its own type, which the steps that need it read with [from].
type graph struct {
	progress *progress
	nodes    []*node
}

// task describes a step.
type task[T any] struct {
	name  string        // in errors
	needs []need        // what it uses, or waits for: steps that were added before
	line  func() string // of progress, asked for when the step begins
	make  func(ctx context.Context, s *step) (T, error)
}

// need is something that a step makes: a *made.
type need interface{ by() *node }

// made is what a step makes, once it has run.
type made[T any] struct {
	node  *node
	value T
}

func (m *made[T]) by() *node { return m.node }

// node is a step without the type of what it makes.
type node struct {
	name  string
	needs []*node
	run   func(context.Context) error
	done  chan struct{} // closed when it has made what it makes
}

// add adds a step. Since it can only need what was added before, no two steps wait for each other.
func add[T any](g *graph, t task[T]) *made[T] {
	m := &made[T]{node: &node{name: t.name, done: make(chan struct{})}}
	for _, n := range t.needs {
		m.node.needs = append(m.node.needs, n.by())
	}
	m.node.run = func(ctx context.Context) error {
		s := g.progress.step("%s", t.line())
		s.of = m.node
		var err error
		m.value, err = t.make(ctx, s)
		s.end(err)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		return nil
	}
	g.nodes = append(g.nodes, m.node)
	return m
}

// from returns what another step has made. It has to be among the needs of the step that asks, or it
// might not be there yet: anything else is a mistake in this package, and the first build shows it.
func from[T any](s *step, m *made[T]) T {
	if !slices.Contains(s.of.needs, m.node) {
		panic(fmt.Sprintf("step %q uses what step %q makes and does not say that it needs it", s.of.name, m.node.name))
	}
	return m.value
}

// run runs all steps. The first error, which names its step, ends those that run and those that wait.
func (g *graph) run(ctx context.Context) error {
	g.progress.total = len(g.nodes)
	all, ctx := errgroup.WithContext(ctx)
	for _, n := range g.nodes {
		all.Go(func() error {
			for _, need := range n.needs {
				select {
				case <-need.done:
				case <-ctx.Done():
				}
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := n.run(ctx); err != nil {
				return err
			}
			close(n.done)
			return nil
		})
	}
	return all.Wait()
}
