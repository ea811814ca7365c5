package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference/rules"
)

// ownGroup is the group of the cases of -fixtures: whatever their folders are called, one test
// function runs all of them.
const ownGroup = "own"

// builtIn stands for the cases of podorder itself among the folders of -fixtures.
const builtIn = "built-in"

// casesOf reads the cases of -fixtures, those that are built in if nothing is named.
func casesOf(root, folders string) ([]fixtures.Case, error) {
	if folders == "" {
		folders = builtIn
	}
	var all []fixtures.Case
	from := map[string]string{} // the folder of each
	for _, dir := range strings.Split(folders, ",") {
		dir = strings.TrimSpace(dir)
		var cases []fixtures.Case
		var err error
		switch dir {
		case "":
			return nil, usageError{fmt.Errorf("-fixtures: %q names an empty folder", folders)}
		case builtIn:
			if cases, err = fixtures.All(); err != nil {
				return nil, fmt.Errorf("reading the cases: %w", err)
			}
		default:
			if cases, err = fixtures.LoadDir(absolute(root, dir), isRule); err != nil {
				return nil, usageError{fmt.Errorf("-fixtures: %w", err)}
			}
		}
		for _, c := range cases {
			if other, twice := from[c.ID]; twice {
				return nil, usageError{fmt.Errorf("-fixtures: case %s is in %s and in %s: what is recorded of both would go to one folder, so rename one of them", c.ID, other, dir)}
			}
			from[c.ID] = dir
		}
		all = append(all, cases...)
	}
	return all, nil
}

func isRule(slug string) bool {
	_, ok := rules.BySlug(slug)
	return ok
}

// testOf returns the test function that runs a case, and the name that the case has in it.
func testOf(c fixtures.Case) (group, name string) {
	if c.Own() {
		return ownGroup, c.ID
	}
	group, name, _ = strings.Cut(c.ID, "/")
	return group, name
}

// groupsOf are the values of the label group that a case has.
func groupsOf(c fixtures.Case) []string {
	group, _ := testOf(c)
	if folder, _, nested := strings.Cut(c.ID, "/"); nested && folder != group {
		return []string{group, folder}
	}
	return []string{group}
}

// pattern is what go test's -run takes for one case.
func (s *Suite) pattern(id string) string {
	group, name := testOf(s.caseOf(id))
	return "Test" + title(group) + "/^" + strings.ReplaceAll(name, "/", "$/^") + "$"
}

// caseOf returns the case of a result.
func (s *Suite) caseOf(id string) fixtures.Case {
	if i := slices.IndexFunc(s.all, func(c fixtures.Case) bool { return c.ID == id }); i >= 0 {
		return s.all[i]
	}
	return fixtures.Case{ID: id}
}

// builtInOf are those of some cases that are built in.
func builtInOf(cases []fixtures.Case) []fixtures.Case {
	return slices.DeleteFunc(slices.Clone(cases), func(c fixtures.Case) bool { return c.Own() })
}
