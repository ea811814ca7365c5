package upstream

import (
	"bufio"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed tried.txt
var triedText string

// Fault is one way in which a kubelet was broken on purpose, in one place of its source.
type Fault struct {
	// Name is a few words with hyphens, and Does what the kubelet does wrong.
	Name, Does string
	// Refused are the cases that were refused on that kubelet.
	Refused []Refusal
}

// Refusal is a case that was run on a broken kubelet and refused.
type Refusal struct {
	// Case is its ID, and Rule the rule by which it was refused.
	Case, Rule string
}

// Tried are the kubelets that were broken on purpose, and the cases that found it: what a case
// claims is held against a real kubelet for which it is not so.
func Tried() []Fault { return tried() }

var tried = sync.OnceValue(func() []Fault {
	all, err := parseTried(triedText)
	if err != nil {
		panic(err) // a test reads the table as well
	}
	return all
})

// parseTried reads tried.txt. An error says which line is at fault.
func parseTried(text string) ([]Fault, error) {
	var all []Fault
	n := 0
	fail := func(format string, args ...any) ([]Fault, error) {
		return nil, fmt.Errorf("tried.txt:%d: %s", n, fmt.Sprintf(format, args...))
	}
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		n++
		line := s.Text()
		switch word, rest, _ := strings.Cut(line, " "); {
		case line == "", strings.HasPrefix(line, "#"):
		case word == "fault":
			name, does, ok := strings.Cut(rest, " ")
			if !ok || does == "" || !kindForm.MatchString(name) {
				return fail("write fault, a name of words with hyphens, and what the kubelet does wrong")
			}
			if slices.ContainsFunc(all, func(f Fault) bool { return f.Name == name }) {
				return fail("fault %s is there twice", name)
			}
			all = append(all, Fault{Name: name, Does: does})
		case word == "-" && len(all) > 0:
			f, words := &all[len(all)-1], strings.Fields(rest)
			if len(words) != 2 {
				return fail("write -, a case, and the rule that refused it")
			}
			if slices.ContainsFunc(f.Refused, func(r Refusal) bool { return r.Case == words[0] }) {
				return fail("case %s is named twice for fault %s", words[0], f.Name)
			}
			f.Refused = append(f.Refused, Refusal{words[0], words[1]})
		default:
			return fail("%q begins no line; those are fault, and - for a case below its fault", word)
		}
	}
	for _, f := range all {
		if f.Refused == nil {
			return nil, fmt.Errorf("tried.txt: no case is refused for fault %s; remove it", f.Name)
		}
	}
	return all, nil
}
