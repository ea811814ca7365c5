package report

import (
	"cmp"
	"fmt"
	"path"
	"strings"
)

// mostAnnotations is how many annotations of one step GitHub shows.
const mostAnnotations = 10

// Annotations returns commands of GitHub Actions that show the worst of what failed beside
// the file of its case: at most ten, one line each. at is as for Text.
func (r *Report) Annotations(at string) string {
	var b strings.Builder
	n := 0
	for _, c := range r.Cells() {
		if !c.Worst.Fails(r.Strict) {
			continue
		}
		if n++; n > mostAnnotations {
			break
		}
		title := fmt.Sprintf("%s on %s: %s", c.Case, c.Kubelet, c.Worst.Outcome)
		text := c.Worst.Text(at, r.Gates(c.Kubelet))
		if text == "" {
			text = c.Worst.Reason
		}
		fmt.Fprintf(&b, "::error file=%s,title=%s::%s\n",
			property(path.Join(cmp.Or(c.Worst.Fixtures, "fixtures"), c.Case, "case.yaml")), property(title), data(strings.TrimRight(cut(text, annotationMost), "\n")))
	}
	return b.String()
}

// annotationMost is how long the text of an annotation may be, in bytes: GitHub cuts what is
// longer than 64 KiB.
const annotationMost = 4 << 10

// data and property escape what a workflow command may not hold.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func property(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(s))
}
