package upstream

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed relations.txt
var text string

// Table relates the tests of one version of Kubernetes to cases.
type Table struct {
	// Kubernetes is the version whose sources the tests stand in.
	Kubernetes string
	// Files are listed test by test, in the order of the table.
	Files []File
	// Aside has what the other files of the node suite are about, by their path.
	Aside map[string]string
	// Why has a sentence for each kind of reason.
	Why map[string]string
}

// File is a file of tests.
type File struct {
	// Path is below the root of the module k8s.io/kubernetes.
	Path  string
	Tests []Test
	// Pin is what the table says that [PinOf] of the names of the tests is.
	Pin string
}

// Test is an upstream test, with exactly one of Cases, Why and Other.
type Test struct {
	// Name has the texts of the test and of what it stands in, joined by [Separator].
	Name string
	// Cases are the IDs of the cases that together cover it, or that show it.
	Cases []string
	// Shown: what it asserts is due, and a witness or an await of the cases alone
	// holds it. A kubelet that does not do it is not refused, so this does not cover it.
	Shown bool
	// But is what it asserts besides, and no case holds against a kubelet.
	But string
	// Why is the kind of the reason why no case covers it, a key of
	// [Table.Why], and Note what is to be said of this test in particular.
	Why, Note string
	// Other is what it is about, if not about order.
	Other string
}

// Separator stands between the texts of a name.
const Separator = " > "

// Count says how many of the tests concern order, how many of these the cases cover, and how many more
// they only show.
func (t *Table) Count(cases []string) (covered, shown, all int) {
	for _, f := range t.Files {
		for _, x := range f.Tests {
			if x.Other == "" {
				all++
			}
			switch {
			case x.Cases == nil || slices.ContainsFunc(x.Cases, func(id string) bool { return !slices.Contains(cases, id) }):
			case x.Shown:
				shown++
			default:
				covered++
			}
		}
	}
	return covered, shown, all
}

// CoveredBy says how many of the tests a case covers, alone or with others.
func (t *Table) CoveredBy(id string) int {
	n := 0
	for _, f := range t.Files {
		for _, x := range f.Tests {
			if slices.Contains(x.Cases, id) && !x.Shown {
				n++
			}
		}
	}
	return n
}

// Relations is the table.
func Relations() *Table { return table() }

var table = sync.OnceValue(func() *Table {
	t, err := parse(text)
	if err != nil {
		panic(err) // a test reads the table as well
	}
	return t
})

// PinOf is the number of tests and a digest over their names, in order.
func PinOf(names []string) string {
	return fmt.Sprintf("%d sha256:%x", len(names), sha256.Sum256([]byte(strings.Join(names, "\n"))))
}

// Names are the names of the tests of a file, in order.
func (f *File) Names() []string {
	var out []string
	for _, x := range f.Tests {
		out = append(out, x.Name)
	}
	return out
}

var (
	versionForm = regexp.MustCompile(`^v1\.[0-9]+\.[0-9]+(-[a-z]+\.[0-9]+)?$`)
	kindForm    = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
)

// parse reads the table. An error says which line is at fault and what to do.
func parse(text string) (*Table, error) {
	t := &Table{Aside: map[string]string{}, Why: map[string]string{}}
	p := reader{t: t, used: map[string]bool{}, lines: map[string]int{}}
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		p.n++
		line := strings.TrimRight(s.Text(), " ")
		if line != s.Text() {
			return nil, p.errorf("space at the end of the line; remove it")
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		if strings.HasPrefix(line, "  ") {
			word, rest, _ = strings.Cut(line[2:], " ")
			word = "  " + word
		}
		read, ok := directives[word]
		if !ok {
			return nil, p.errorf("%q begins no line; those are kubernetes, why, aside, file, pin, in, -, and, indented by two spaces, by, seen, but, not, other", strings.TrimSpace(word))
		}
		if rest == "" {
			return nil, p.errorf("nothing after %q", strings.TrimSpace(word))
		}
		if err := read(&p, rest); err != nil {
			return nil, err
		}
	}
	if err := p.endFile(); err != nil {
		return nil, err
	}
	if t.Kubernetes == "" || len(t.Files) == 0 {
		return nil, p.errorf("the table has no version, or no file")
	}
	for _, kind := range slices.Sorted(maps.Keys(t.Why)) {
		if !p.used[kind] {
			return nil, fmt.Errorf("relations.txt: no test has the reason %s; remove it", kind)
		}
	}
	return t, nil
}

type reader struct {
	t     *Table
	n     int             // the line
	chain string          // what the following tests stand in
	used  map[string]bool // kinds of reasons
	lines map[string]int  // where each test of the file stands
}

// directives read what comes after the first word of a line.
var directives = map[string]func(*reader, string) error{
	"kubernetes": (*reader).kubernetes,
	"why":        (*reader).why,
	"aside":      (*reader).aside,
	"file":       (*reader).file,
	"pin":        (*reader).pin,
	"in":         (*reader).in,
	"-":          (*reader).test,
	"  by":       (*reader).by,
	"  seen":     (*reader).seen,
	"  but":      (*reader).but,
	"  not":      (*reader).not,
	"  other":    (*reader).other,
}

func (p *reader) errorf(format string, args ...any) error {
	return fmt.Errorf("relations.txt:%d: %s", p.n, fmt.Sprintf(format, args...))
}

func (p *reader) kubernetes(s string) error {
	if p.t.Kubernetes != "" || !versionForm.MatchString(s) {
		return p.errorf("%q is not the one version of the table; write it as v1.37.2, once", s)
	}
	p.t.Kubernetes = s
	return nil
}

func (p *reader) why(s string) error {
	kind, sentence, _ := strings.Cut(s, " ")
	if sentence == "" || p.t.Why[kind] != "" || !kindForm.MatchString(kind) {
		return p.errorf("write a kind of reason, which is new, and a sentence")
	}
	p.t.Why[kind] = sentence
	return nil
}

func (p *reader) aside(s string) error {
	folder, rest, _ := strings.Cut(s, " ")
	about, files, ok := strings.Cut(rest, ": ")
	if !ok || about == "" {
		return p.errorf("write a folder, what its files are about, a colon and the files")
	}
	for _, f := range strings.Fields(files) {
		f = path.Join(folder, f)
		if p.t.Aside[f] != "" || p.listed(f) {
			return p.errorf("%s is in the table twice", f)
		}
		p.t.Aside[f] = about
	}
	return nil
}

func (p *reader) listed(file string) bool {
	return slices.ContainsFunc(p.t.Files, func(f File) bool { return f.Path == file })
}

func (p *reader) file(s string) error {
	if err := p.endFile(); err != nil {
		return err
	}
	if p.listed(s) || p.t.Aside[s] != "" {
		return p.errorf("%s is in the table twice", s)
	}
	p.t.Files = append(p.t.Files, File{Path: s})
	p.chain = ""
	clear(p.lines)
	return nil
}

func (p *reader) pin(s string) error {
	f := p.current()
	if f == nil || f.Pin != "" {
		return p.errorf("a pin follows its file, and only once")
	}
	f.Pin = s
	return nil
}

func (p *reader) current() *File {
	if len(p.t.Files) == 0 {
		return nil
	}
	return &p.t.Files[len(p.t.Files)-1]
}

// endFile checks the file that has just been read.
func (p *reader) endFile() error {
	f := p.current()
	if f == nil {
		return nil
	}
	if err := p.endTest(); err != nil {
		return err
	}
	if pin := PinOf(f.Names()); f.Pin != pin {
		return p.errorf("%s has tests that do not fit its pin; if they are right, write: pin %s", f.Path, pin)
	}
	return nil
}

func (p *reader) in(s string) error {
	if err := p.endTest(); err != nil {
		return err
	}
	if p.current() == nil {
		return p.errorf("no file comes before this line")
	}
	p.chain = s
	return nil
}

func (p *reader) test(s string) error {
	if err := p.endTest(); err != nil {
		return err
	}
	f := p.current()
	if f == nil {
		return p.errorf("no file comes before this line")
	}
	name := s
	if p.chain != "" {
		name = p.chain + Separator + s
	}
	if n := p.lines[name]; n != 0 {
		return p.errorf("the same test is in line %d", n)
	}
	p.lines[name] = p.n
	f.Tests = append(f.Tests, Test{Name: name})
	return nil
}

// last is the test that an indented line speaks of.
func (p *reader) last() (*Test, error) {
	if f := p.current(); f != nil && len(f.Tests) > 0 {
		return &f.Tests[len(f.Tests)-1], nil
	}
	return nil, p.errorf("no test comes before this line")
}

// answered is the test that an indented line answers for the first time.
func (p *reader) unanswered() (*Test, error) {
	x, err := p.last()
	if err == nil && (x.Cases != nil || x.Why != "" || x.Other != "") {
		err = p.errorf("a test has one of by, seen, not and other")
	}
	return x, err
}

func (p *reader) endTest() error {
	x, err := p.last()
	if err != nil {
		return nil // none yet
	}
	if x.Cases == nil && x.Why == "" && x.Other == "" {
		return p.errorf("nothing is said of the test before this line, %s; write by, seen, not or other", strconv.Quote(x.Name))
	}
	return nil
}

func (p *reader) by(s string) error {
	x, err := p.unanswered()
	if err != nil {
		return err
	}
	x.Cases = strings.Fields(s)
	if slices.Sort(x.Cases); len(slices.Compact(slices.Clone(x.Cases))) != len(x.Cases) {
		return p.errorf("a case is named twice")
	}
	return nil
}

func (p *reader) seen(s string) error {
	if err := p.by(s); err != nil {
		return err
	}
	x, err := p.last()
	if err == nil {
		x.Shown = true
	}
	return err
}

func (p *reader) but(s string) error {
	x, err := p.last()
	if err != nil {
		return err
	}
	if x.Cases == nil || x.But != "" {
		return p.errorf("but follows by or seen, and only once")
	}
	x.But = s
	return nil
}

func (p *reader) not(s string) error {
	x, err := p.unanswered()
	if err != nil {
		return err
	}
	kind, note, _ := strings.Cut(s, ": ")
	if p.t.Why[kind] == "" {
		return p.errorf("%q is no kind of reason; they are %s", kind, strings.Join(slices.Sorted(maps.Keys(p.t.Why)), ", "))
	}
	x.Why, x.Note = kind, note
	p.used[kind] = true
	return nil
}

func (p *reader) other(s string) error {
	x, err := p.unanswered()
	if err != nil {
		return err
	}
	x.Other = s
	return nil
}
