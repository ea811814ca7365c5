package search_test

import (
	"fmt"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"

	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/kubelet/search"
	"github.com/podorder/podorder/reference/trace"
)

// story is a trace taken apart.
type story struct {
	pod   kubelet.Pod
	tr    *trace.Trace
	lines []trace.Line
	index map[string]int // of containers, in the order of the spec
}

func anyStory(t *rapid.T) *story {
	choose := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
	version := rapid.SampledFrom(kubelet.Versions()).Draw(t, "version")
	p := search.AnyPod(version, choose)
	return tell(t, p, kubelet.Run(p, version, choose))
}

func tell(t assert.TestingT, p kubelet.Pod, tr *trace.Trace) *story {
	s := &story{pod: p, tr: tr, index: map[string]int{}}
	for i, c := range p.All() {
		s.index[c.Name] = i
	}
	for _, e := range tr.Entries {
		if e.Log != nil {
			l, err := trace.ParseLine(*e.Log)
			assert.NilError(t, err)
			s.lines = append(s.lines, l)
		}
	}
	return s
}

func (s *story) spec(l trace.Line) kubelet.Container { return s.pod.All()[s.index[l.Container]] }
func (s *story) regular(l trace.Line) bool           { return s.index[l.Container] >= len(s.pod.Init) }

func (s *story) did(name string) bool {
	for _, e := range s.tr.Entries {
		if e.Did != nil && e.Did.Name == name {
			return true
		}
	}
	return false
}

// calm tells that nothing befell the node.
func (s *story) calm() bool { return !s.did(trace.ActRestart) && !s.did(trace.ActStop) }

// resets reports whether the whole Pod may be restarted by a rule.
func (s *story) resets() bool {
	for _, c := range s.pod.All() {
		for _, r := range c.Rules {
			if r.All {
				return true
			}
		}
	}
	return false
}

func (s *story) String() string {
	return fmt.Sprintf("%s %+v\n%s", s.tr.Header.Kubelet, s.pod, kubelet.Timeline(s.tr))
}
