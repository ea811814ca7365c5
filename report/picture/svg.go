package picture

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// paper is what is drawn on: it writes SVG.
type paper struct {
	strings.Builder
	// bare leaves the titles of the entries to who has their [Line].
	bare bool
}

func (p *paper) f(format string, args ...any) { fmt.Fprintf(p, format, args...) }

// num writes a coordinate, to a tenth of a pixel.
func num(x float64) string {
	return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64)
}

// titled ends an element with its title, which the browser shows to who points at it.
func (p *paper) titled(tag, title string) {
	if title == "" {
		p.WriteString("/>\n")
		return
	}
	p.f("><title>%s</title></%s>\n", html.EscapeString(title), tag)
}

// path draws a path; id is empty for what is no entry.
func (p *paper) path(id, class, d, title string) {
	p.WriteString("<path" + idAttr(id))
	p.f(` class="%s" d="%s"`, class, d)
	if p.bare && id != "" {
		title = ""
	}
	p.titled("path", title)
}

func (p *paper) rect(id, class string, x, y, w, h, round float64, title string) {
	p.WriteString("<rect" + idAttr(id))
	p.f(` class="%s" x="%s" y="%s" width="%s" height="%s"`, class, num(x), num(y), num(max(w, 0)), num(h))
	if round > 0 {
		p.f(` rx="%s"`, num(round))
	}
	p.titled("rect", title)
}

// text writes a text whose baseline begins at x, y.
func (p *paper) text(class string, x, y float64, text, title string) {
	p.f(`<text class="%s" x="%s" y="%s">%s`, class, num(x), num(y), html.EscapeString(text))
	if title != "" && title != text {
		p.f("<title>%s</title>", html.EscapeString(title))
	}
	p.WriteString("</text>\n")
}

func idAttr(id string) string {
	if id == "" {
		return ""
	}
	return ` id="` + id + `"`
}

// lineID is the id of the entry of a line.
func lineID(n int) string { return "line-" + strconv.Itoa(n) }

// em is how wide a letter of 12 pixels is at most on average; texts are placed by it.
const em = 6.6

func width(text string) float64 { return em * float64(len([]rune(text))) }

// wrap breaks a text into lines of at most that many pixels.
func wrap(text string, most float64) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && width(line+" "+word) > most {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
