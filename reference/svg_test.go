package reference_test

import (
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/rules"
)

// element is one of the picture, with what is in it.
type element struct {
	XMLName  xml.Name
	Class    string    `xml:"class,attr"`
	X        float64   `xml:"x,attr"`
	Y        float64   `xml:"y,attr"`
	Text     string    `xml:",chardata"`
	Elements []element `xml:",any"`
}

// all calls f for the element and each in it.
func (e element) all(f func(element)) {
	f(e)
	for _, in := range e.Elements {
		in.all(f)
	}
}

// words are what a reader sees of the element.
func (e element) words() (words []string) {
	e.all(func(e element) {
		if n := e.XMLName.Local; n == "text" || n == "tspan" {
			words = append(words, strings.Fields(e.Text)...)
		}
	})
	return words
}

// Every arrow has the colour of its rule in the key, and the key says what the rule is. Nothing is written on an arrow.
func TestSVG(t *testing.T) {
	for _, pod := range []string{
		"container1\n",
		"container1 postStart preStop startup readiness liveness\ncontainer2 postStart\ncontainer3 readiness\n",
	} {
		o := explain(t, "v1.37.2", pod)
		var svg element
		assert.NilError(t, xml.Unmarshal([]byte(o.SVG()), &svg))
		says := strings.Join(svg.words(), " ")
		arrows, key := map[string][]string{}, 0
		svg.all(func(e element) {
			if !strings.HasPrefix(e.Class, "edge ") {
				return
			}
			assert.Check(t, is.Len(e.words(), 0))
			rule := e.Elements[0].Text
			arrows[rule] = append(arrows[rule], e.Class)
		})
		classes := map[string]bool{}
		drawn := 0
		for slug, of := range arrows {
			r, ok := rules.BySlug(slug)
			assert.Assert(t, ok, slug)
			assert.Check(t, is.Contains(says, fmt.Sprintf("%s %s %s", slug, r.Level, r.Says)))
			for _, class := range of {
				assert.Equal(t, class, of[0], slug)
			}
			assert.Check(t, !classes[of[0]], "two rules have the colour of %s", slug)
			classes[of[0]] = true
			assert.Check(t, is.Contains(o.SVG(), "."+strings.TrimPrefix(of[0], "edge ")+" { stroke: "))
			drawn += len(of)
			key++
		}
		edges, _ := o.Drawn()
		assert.Equal(t, drawn, len(edges)+key, "an arrow for each, and one for each rule in the key")
		for _, p := range []string{"START", "RUN", "STOP"} {
			assert.Check(t, is.Contains(says, p))
		}
	}
}

// What waits stands further right, and what belongs to a later phase right of all of the phases before.
func TestSVGReadsFromLeftToRight(t *testing.T) {
	o := explain(t, "v1.37.2", "container1 postStart preStop startup readiness liveness\ncontainer2 postStart\ncontainer3 readiness\n")
	level, first := o.Levels()
	for _, e := range o.Edges {
		assert.Check(t, level[e.Before] < level[e.After], "%s < %s", e.Before, e.After)
	}
	for i, p := range o.Phases() {
		for _, e := range p.Edges {
			assert.Check(t, first[i] <= level[e.After] && level[e.After] < first[i+1], "%s: %s", p.Name, e.After)
		}
	}
}

// Whatever the order says is on the picture: as an arrow, or as a way along arrows and lives. No arrow can be spared.
func TestSVGHasTheWholeOrder(t *testing.T) {
	pods := tinyPods()
	spared := 0
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		o := explainRun(t, pods[name])
		edges, lives := o.Drawn()
		for _, e := range o.Edges {
			assert.Check(t, leads(slices.Concat(edges, lives), e.Before, e.After), "%s: %s < %s", name, e.Before, e.After)
		}
		for i, e := range edges {
			assert.Check(t, !leads(slices.Concat(edges[:i], edges[i+1:], lives), e.Before, e.After), "%s: %s < %s", name, e.Before, e.After)
		}
		spared += len(o.Edges) - len(edges)
	}
	assert.Check(t, spared > 0)
}

// leads reports whether edges lead from a to b.
func leads(edges []reference.Edge, a, b string) bool {
	return slices.ContainsFunc(edges, func(e reference.Edge) bool {
		return e.Before == a && (e.After == b || leads(edges, e.After, b))
	})
}
