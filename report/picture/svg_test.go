package picture

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
)

// element is an element of a picture.
type element struct {
	Name, ID, Class, D, Title, Text string
	X, Y, Width                     float64
}

// elements reads a picture. One that is not well-formed fails the test.
func elements(t *testing.T, svg string) (all []element) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	var open []int
	titled := false
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		assert.NilError(t, err)
		switch tok := tok.(type) {
		case xml.StartElement:
			if titled = tok.Name.Local == "title"; titled {
				continue
			}
			e := element{Name: tok.Name.Local}
			for _, a := range tok.Attr {
				f, _ := strconv.ParseFloat(a.Value, 64)
				switch a.Name.Local {
				case "id":
					e.ID = a.Value
				case "class":
					e.Class = a.Value
				case "d":
					e.D = a.Value
				case "x":
					e.X = f
				case "y":
					e.Y = f
				case "width":
					e.Width = f
				case "style":
					t.Error("a style attribute, which a page with a policy refuses")
				}
			}
			all = append(all, e)
			open = append(open, len(all)-1)
		case xml.CharData:
			if len(open) == 0 {
				continue
			}
			if e := &all[open[len(open)-1]]; titled {
				e.Title += string(tok)
			} else {
				e.Text += string(tok)
			}
		case xml.EndElement:
			if tok.Name.Local == "title" {
				titled = false
				continue
			}
			open = open[:len(open)-1]
		}
	}
}

// said reports whether a text of the picture holds the words.
func said(all []element, words string) bool {
	for _, e := range all {
		if e.Name == "text" && strings.Contains(e.Text, words) {
			return true
		}
	}
	return false
}

// classed are the elements of a class.
func classed(all []element, class string) (out []element) {
	for _, e := range all {
		if strings.Contains(" "+e.Class+" ", " "+class+" ") && e.Name != "text" {
			out = append(out, e)
		}
	}
	return out
}

// stored are the traces that the tests of the judge keep.
func stored(t *testing.T) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(testdata(), func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, "trace.jsonl") {
			paths = append(paths, path)
		}
		return err
	})
	assert.NilError(t, err)
	assert.Assert(t, len(paths) > 40, "%d traces", len(paths))
	return paths
}

func testdata(path ...string) string {
	return filepath.Join(append([]string{"..", "..", "reference", "testdata"}, path...)...)
}

func readTrace(t *testing.T, path string) *trace.Trace {
	t.Helper()
	f, err := os.Open(path)
	assert.NilError(t, err)
	defer f.Close()
	tr, err := trace.Read(f)
	assert.NilError(t, err, path)
	return tr
}

// judged is the picture of a trace with its verdict.
func judged(t *testing.T, tr *trace.Trace) (*Picture, reference.Verdict) {
	t.Helper()
	k, err := reference.ParseKubelet(tr.Header.Kubelet)
	assert.NilError(t, err)
	v := reference.Check(k, tr.Admitted(), tr)
	return Of(tr.Admitted(), tr, v), v
}
