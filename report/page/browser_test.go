package page

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/report"
)

// visibleRows are the cases that the matrix shows.
const visibleRows = `[...document.querySelectorAll('#matrix tr[data-n]')].filter(r => r.offsetParent).map(r => r.querySelector('.id').textContent)`

// The places that the tests open.
const (
	violation  = "#case=hooks/poststart-blocks&kubelet=v1.37.2"
	comparison = "#case=article/s1&kubelet=v1.28.5&with=v1.37.2"
)

// Every view opens from its link, alone, and says something.
func TestViews(t *testing.T) {
	b := open(t, examplePage(t), "")
	for _, view := range []string{"changes", "claims", "about", "cases"} {
		b.do(chromedp.Click(chromedp.CSS(`nav a[data-view=` + view + `]`)))
		b.wait(`document.body.dataset.shown === '` + view + `'`)
		assert.DeepEqual(t, get[[]string](b, `[...document.querySelectorAll('main > section')].filter(s => s.offsetParent).map(s => s.id)`), []string{view})
		assert.Check(t, get[int](b, `document.getElementById('`+view+`').innerText.length`) > 100, view)
		assert.Check(t, is.Equal(get[string](b, `document.querySelector('nav a[aria-current]').dataset.view`), view))
	}
}

// The filters leave what fits, the address has them, and opened anew it leaves the same.
func TestFilters(t *testing.T) {
	b := open(t, examplePage(t), "")
	all := get[[]string](b, visibleRows)
	assert.Check(t, is.Len(all, 9))
	of := func(keep func(*report.Run) bool) (ids []string) {
		for i := range example(t).Runs {
			if r := &example(t).Runs[i]; keep(r) && !slices.Contains(ids, r.Case) {
				ids = append(ids, r.Case)
			}
		}
		slices.Sort(ids)
		return ids
	}
	set := func(name, value string) {
		b.do(chromedp.SetValue(chromedp.CSS(`#filters [name=`+name+`]`), value))
		get[bool](b, `document.querySelector('#filters [name=`+name+`]').dispatchEvent(new Event('input', {bubbles: true}))`)
	}
	for _, tt := range []struct {
		name, value string
		want        []string
	}{
		{"verdict", report.Violation, of(func(r *report.Run) bool { return r.Outcome == report.Violation })},
		{"verdict", "!pass", of(func(r *report.Run) bool { return r.Outcome != report.Pass && r.Outcome != report.Skipped })},
		{"group", "article", []string{"article/s1", "article/s2"}},
		{"on", "v1.36.3", of(func(r *report.Run) bool { return r.Kubelet == "v1.36.3" })},
		{"rule", "status/between-syncs", of(func(r *report.Run) bool { return r.Verdict != nil && r.Verdict.Rule == "status/between-syncs" })},
		{"q", "no access node/", []string{"node/restart"}},
	} {
		assert.Check(t, len(tt.want) > 0 && len(tt.want) < len(all), "%s %s shows nothing of the filter", tt.name, tt.value)
		set(tt.name, tt.value)
		assert.DeepEqual(t, get[[]string](b, visibleRows), tt.want)
		hash := get[string](b, `location.hash`)
		assert.Check(t, is.Contains(hash, tt.name+"="))
		b.fresh(hash)
		assert.DeepEqual(t, get[[]string](b, visibleRows), tt.want)
		b.do(chromedp.Click(chromedp.CSS(`#filters button[type=reset]`)))
		assert.DeepEqual(t, get[[]string](b, visibleRows), all)
	}
	set("on", "v1.36.3")
	assert.Check(t, is.Equal(get[int](b, `[...document.querySelectorAll('#matrix thead th')].filter(th => th.offsetParent).length`), 2), "one column is left")
	set("q", "nothing of the kind")
	assert.Check(t, get[bool](b, `!document.getElementById('none').hidden`))
	b.do(chromedp.Click(chromedp.CSS(`#clear`)))
	assert.DeepEqual(t, get[[]string](b, visibleRows), all)
}

// A cell has its picture, the explanation and every line; the refused one stands out. A line is
// chosen by its number, by its mark in the picture, and by the address.
func TestCell(t *testing.T) {
	b := open(t, examplePage(t), "")
	b.do(chromedp.Click(chromedp.CSS(`#matrix td.violation a`)))
	b.cell(1)
	assert.Check(t, is.Contains(get[string](b, `document.querySelector('#cell h2').textContent`), "hooks/poststart-blocks"))
	b.fresh(violation)
	b.cell(1)
	rec, err := example(t).Runs[0].Load(folder)
	assert.NilError(t, err)
	assert.Check(t, is.Equal(get[int](b, `document.querySelectorAll('#cell tr[data-line]').length`), len(rec.Trace.Entries)))
	assert.Check(t, is.Equal(get[int](b, `document.querySelectorAll('#cell .pictures [id^=line-] > title').length`), len(rec.Trace.Entries)), "every mark has its title")
	for _, want := range []string{"hooks/poststart-blocks-next (MUST, implementation)", "replay   go run ./scripts/judge -trace artifacts/", "rerun    go test ./suites"} {
		assert.Check(t, is.Contains(get[string](b, `document.querySelector('#cell pre').textContent`), want))
	}
	assert.Check(t, is.Contains(get[string](b, `document.querySelector('#cell tr.bad').textContent`), "not allowed here"))
	assert.Check(t, is.Equal(get[string](b, `document.querySelector('#cell tr.bad').dataset.line`), "22"))

	chosen := `[...document.querySelectorAll('#cell tr.on')].map(r => r.dataset.line).join() + ' ' + document.querySelectorAll('#cell .pictures .sel').length`
	b.do(chromedp.Click(chromedp.CSS(`#cell tr[data-line="21"] a`)))
	b.wait(chosen + ` === '21 1'`)
	get[bool](b, `(() => { const r = document.querySelector('#cell #line-30').getBoundingClientRect(); document.querySelector('#cell .pictures svg').dispatchEvent(new MouseEvent('click', {bubbles: true, clientX: r.x + r.width / 2, clientY: r.y + r.height / 2})); return true })()`)
	b.wait(chosen + ` === '30 1'`)
	b.fresh(violation + "&line=22")
	b.wait(chosen + ` === '22 1'`)
	assert.Check(t, get[bool](b, `(r => r.top >= 0 && r.bottom <= innerHeight)(document.querySelector('#cell tr.on').getBoundingClientRect())`), "the line is in sight")
}

// Two kubelets stand above each other on one axis, chosen on the page or by the address.
func TestCompare(t *testing.T) {
	b := open(t, examplePage(t), "#case=article/s1&kubelet=v1.28.5")
	b.cell(1)
	b.do(chromedp.SetValue(chromedp.CSS(`#with`), "v1.37.2"))
	get[bool](b, `document.getElementById('with').dispatchEvent(new Event('change'))`)
	b.cell(2)
	assert.Check(t, is.Contains(get[string](b, `location.hash`), "with=v1.37.2"))
	b.fresh(comparison)
	b.cell(2)
	axes := get[[]string](b, `[...document.querySelectorAll('#cell .pictures > svg')].map(s => s.getAttribute('width') + ' ' + [...s.querySelectorAll('.s.halo, .zl')].map(e => e.textContent + '@' + e.getBoundingClientRect().x).join(' '))`)
	assert.Check(t, is.Equal(axes[0], axes[1]))
	assert.Check(t, strings.Contains(axes[0], "0 s@"), axes[0])
	tops := get[[]float64](b, `[...document.querySelectorAll('#cell .pictures > svg')].map(s => s.getBoundingClientRect().top)`)
	assert.Check(t, tops[1] > tops[0])
	assert.Check(t, get[bool](b, `new Set([...document.querySelectorAll('#cell [id]')].map(e => e.id)).size === document.querySelectorAll('#cell [id]').length`), "every id is there once")
	assert.Check(t, is.Contains(get[string](b, `document.querySelector('#cell').innerText`), "v1.28.5"))
}

// Links lead where they say: from what changed, from the claims, from the list above the matrix, and out
// of a cell. What the report does not have is said.
func TestLinks(t *testing.T) {
	b := open(t, examplePage(t), "#view=changes")
	b.do(chromedp.Click(chromedp.CSS(`#changes td a`)))
	b.cell(2)
	b.fresh("#view=claims")
	b.do(chromedp.Click(chromedp.CSS(`#claims summary`)), chromedp.Click(chromedp.CSS(`#claims li li a`)))
	b.cell(1)
	b.wait(`document.querySelector('#cell tr.on').dataset.line === '21'`)
	b.do(chromedp.Click(chromedp.CSS(`.crumbs a`)))
	b.wait(`document.body.dataset.shown === 'cases'`)
	b.do(chromedp.Click(chromedp.CSS(`#worst li a`)))
	b.cell(1)
	b.fresh("#case=article/s1&kubelet=v1.37.2")
	b.cell(1)
	b.do(chromedp.Click(chromedp.CSS(`.crumbs a:last-child`)))
	b.wait(`document.querySelector('#cell h2').textContent === 'article/s1 on v1.38.0-beta.0'`)
	for fragment, says := range map[string]string{
		"#case=node/restart&kubelet=v1.37.2":                       "no access to the node",
		"#case=probes/gone&kubelet=v1.36.3":                        "There is no picture",
		"#case=no/such&kubelet=v1.36.3":                            "This report has no case no/such.",
		"#case=node/restart&kubelet=v1.28.5":                       "did not run on kubelet v1.28.5",
		"#case=probes/during-termination&kubelet=v1.36.3&repeat=3": "leaves out 2 more runs",
	} {
		b.fresh(fragment)
		b.wait(fmt.Sprintf(`document.getElementById('cell').innerText.includes(%q)`, says))
	}
}

// All of it works without a mouse.
func TestKeyboard(t *testing.T) {
	b := open(t, examplePage(t), "")
	b.do(chromedp.KeyEvent("/"))
	b.wait(`document.activeElement.id === 'q'`)
	b.do(chromedp.KeyEvent("article"))
	b.wait(visibleRows + `.length === 2`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.wait(visibleRows + `.length === 9 && document.activeElement.id !== 'q'`)
	focused := func() string { return get[string](b, `document.activeElement.getAttribute('aria-label') || ''`) }
	get[bool](b, `document.querySelector('#matrix td a[tabindex="0"]').focus() === undefined`)
	assert.Check(t, is.Equal(get[int](b, `document.querySelectorAll('#matrix td a[tabindex="0"]').length`), 1), "the matrix is one stop of the Tab key")
	assert.Check(t, is.Contains(focused(), "article/s1 on v1.28.5"))
	for _, step := range []struct{ key, want string }{
		{kb.ArrowRight, "article/s1 on v1.29.6"}, {kb.ArrowDown, "article/s2 on v1.29.6"}, {kb.End, "article/s2 on v1.38.0-beta.0"},
		{kb.ArrowLeft, "article/s2 on v1.37.2"}, {kb.ArrowDown, "hooks/poststart-blocks on v1.37.2"}, {kb.ArrowUp, "article/s2 on v1.37.2"},
		{kb.Home, "article/s2 on v1.28.5"}, {kb.ArrowUp, "article/s1 on v1.28.5"}, {kb.ArrowUp, "article/s1 on v1.28.5"},
	} {
		b.do(chromedp.KeyEvent(step.key))
		assert.Check(t, is.Contains(focused(), step.want))
	}
	assert.Check(t, get[bool](b, `(s => s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2)(getComputedStyle(document.activeElement))`), "the focus can be seen")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.cell(1)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.wait(`document.body.dataset.shown === 'cases' && (document.activeElement.getAttribute('aria-label') || '').includes('article/s1 on v1.28.5')`)
}

//go:embed testdata/contrast.js
var contrast string

// Text has the contrast that WCAG asks for at level AA, and marks that of graphics, in both modes.
func TestContrast(t *testing.T) {
	b := open(t, examplePage(t), "")
	for _, scheme := range []string{"light", "dark"} {
		b.media("", scheme)
		for _, place := range []string{"#view=cases", "#view=cases&verdict=violation", "#view=changes", "#view=claims", "#view=about", violation + "&line=22", comparison, "#case=status/before-workers&kubelet=v1.37.2"} {
			b.fresh(place)
			if strings.HasPrefix(place, "#case") {
				b.wait(`document.querySelectorAll('#cell .pictures > svg').length > 0`)
			}
			got := get[struct {
				Texts, Marks int
				Faults       []string
			}](b, contrast)
			assert.Check(t, is.Len(got.Faults, 0), "%s, %s:\n%s", scheme, place, strings.Join(got.Faults, "\n"))
			assert.Check(t, got.Texts > 20, "%s, %s: %d texts", scheme, place, got.Texts)
		}
	}
}

// On a phone nothing but tables and pictures is wider than the screen, and nothing too small to touch.
func TestPhone(t *testing.T) {
	b := open(t, examplePage(t), "")
	b.size(390, 844)
	for _, place := range []string{"#view=cases", "#view=changes", "#view=claims", "#view=about", violation, comparison} {
		b.fresh(place)
		if strings.HasPrefix(place, "#case") {
			b.wait(`document.querySelectorAll('#cell .pictures > svg').length > 0`)
		}
		assert.Check(t, is.Equal(get[int](b, `document.documentElement.scrollWidth`), 390), place)
	}
}
