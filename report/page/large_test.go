package page

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/report"
)

// What the page of eleven kubelets and all cases may weigh, and how long it may take to open.
const (
	mostBytes   = 10 << 20
	mostSeconds = 2.0
)

// large is a report of 162 cases on eleven kubelets, made of a few recordings.
func large(t *testing.T) *report.Report {
	t.Helper()
	r := &report.Report{Version: report.Version, Kubelets: example(t).Kubelets}
	var recorded []report.Run
	for _, run := range example(t).Runs {
		if run.Verdict != nil && run.Repeat < 2 && run.Case != "probes/gone" {
			recorded = append(recorded, run)
		}
	}
	for n := range 162 {
		for i, v := range versions {
			run := recorded[(n+i)%len(recorded)]
			run.Group = []string{"article", "hooks", "init", "node", "probes", "restart", "sidecar", "status", "terminate"}[n%9]
			run.Case, run.Kubelet = fmt.Sprintf("%s/a-case-with-a-name-%d", run.Group, n), v
			r.Runs = append(r.Runs, run)
		}
	}
	r.Sort()
	return r
}

// The page of all cases on eleven kubelets stays small, opens at once, and its last cell as well.
func TestLarge(t *testing.T) {
	start(t)
	text := html(t, large(t))
	assert.Check(t, len(text) < mostBytes, "%d bytes", len(text))
	b := open(t, text, "")
	assert.Check(t, is.Equal(get[int](b, `document.querySelectorAll('#matrix td a').length`), 162*11))
	// The machine may be doing something else, so the best of a few counts.
	var took []float64
	for range 6 {
		b.fresh("")
		b.wait(`performance.getEntriesByType('navigation')[0].loadEventEnd > 0`)
		took = append(took, get[float64](b, `performance.getEntriesByType('navigation')[0].loadEventEnd / 1000`))
		if slices.Min(took) < mostSeconds {
			break
		}
	}
	t.Logf("%.1f MB, opened in %.2f s", float64(len(text))/1e6, slices.Min(took))
	assert.Check(t, slices.Min(took) < mostSeconds, "opened in %v s", took)
	b.do(chromedp.Focus(chromedp.CSS(`#matrix tbody:last-of-type tr:last-child td:last-child a`)), chromedp.KeyEvent("\r"))
	b.cell(1)
}

// The screenshots are for people to look at.
func TestScreenshots(t *testing.T) {
	if os.Getenv(keepShots) == "" {
		t.Skipf("%s names no folder", keepShots)
	}
	b := open(t, examplePage(t), "")
	b.shot("wide", false)
	b.fresh("#view=changes")
	b.shot("changes", false)
	b.fresh("#view=claims")
	b.shot("claims", false)
	b.fresh("#view=about")
	b.shot("about", false)
	for name, place := range map[string]string{"violation": violation, "comparison": comparison} {
		b.fresh(place)
		b.wait(`document.querySelectorAll('#cell .pictures > svg').length > 0`)
		b.shot(name, false)
		b.media("", "dark")
		b.shot(name+"-dark", false)
		b.media("print", "light")
		b.shot(name+"-print", true)
		b.media("", "light")
		b.size(390, 844)
		b.shot(name+"-phone", false)
		b.size(1400, 1000)
	}
	b.fresh("")
	b.media("", "dark")
	b.shot("dark", false)
	b.media("print", "light")
	b.shot("print", true)
	b.media("", "light")
	b.size(390, 844)
	b.shot("phone", false)
}
