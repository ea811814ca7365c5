package trace

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Release is a version of Kubernetes, as the header of a trace gives it for the
// API server and the kubelet.
type Release struct {
	Major, Minor, Patch int
	// Stage and N are those of a pre-release: "beta" and 0 for v1.38.0-beta.0.
	// Stage is empty for a release.
	Stage string
	N     int
}

var (
	versionForm = regexp.MustCompile(`^v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?:-(alpha|beta|rc)\.(\d{1,6})(?:\.\d{1,9})?)?([-+].*)?$`)
	// damagedStage is a suffix that wants to be a pre-release and is none.
	damagedStage = regexp.MustCompile(`^-(alpha|beta|rc)\.`)
)

// ParseRelease reads a version such as "v1.37.2", "1.28.5" or
// "v1.38.0-beta.0". What distributions append ("+k3s1", "-gke.100",
// "-eks-1a2b3c") is dropped: their builds are known by the release that they
// are built from. So is what was built some commits after a pre-release, and says how many
// ("v1.38.0-alpha.1.123+a1b2c3d").
func ParseRelease(s string) (Release, error) {
	m := versionForm.FindStringSubmatch(s)
	if m == nil || m[4] == "" && damagedStage.MatchString(m[6]) {
		return Release{}, fmt.Errorf("%q is not a Kubernetes version such as v1.37.2 or v1.38.0-beta.0", clip(s))
	}
	return Release{number(m[1]), number(m[2]), number(m[3]), m[4], number(m[5])}, nil
}

// number reads digits that a regular expression has checked; none are 0.
func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// String returns the version as Kubernetes writes it.
func (v Release) String() string {
	s := fmt.Sprintf("v%d.%d.%d", v.Major, v.Minor, v.Patch)
	if v.Stage != "" {
		s += fmt.Sprintf("-%s.%d", v.Stage, v.N)
	}
	return s
}

// Compare orders versions; a pre-release comes before its release.
func (v Release) Compare(w Release) int {
	c := cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(v.Patch, w.Patch))
	switch {
	case c != 0:
		return c
	case v.Stage == "" || w.Stage == "":
		return strings.Compare(w.Stage, v.Stage) // an empty stage is the later one
	}
	// alpha, beta and rc are in the order of the alphabet.
	return cmp.Or(strings.Compare(v.Stage, w.Stage), cmp.Compare(v.N, w.N))
}

// release is the version without its pre-release.
func (v Release) plain() Release { return Release{Major: v.Major, Minor: v.Minor, Patch: v.Patch} }

// Range is a set of Kubernetes versions, written as bounds that all have to
// hold: ">=1.28", ">=1.35.0 <1.38.0", "1.36.3". The operators are >=, >, <=, <
// and = (which may be left out). "or" joins such ranges, for what releases of
// several minors have from some patch on: "1.35 or >=1.36.3 <1.37". The zero
// value includes every version.
//
// A version is compared only as far as the bound is precise. 1.38 stands for
// the whole minor, so ">1.37" begins with 1.38 and "1.36" is any 1.36. A
// pre-release belongs to the release it leads to: v1.38.0-beta.0 is included in
// ">=1.38" and ">=1.38.0", and in neither "<1.38" nor "<1.38.0". Only a bound
// that names a pre-release itself (">=1.38.0-rc.0") tells them apart.
type Range struct {
	text string
	// any are the alternatives: a version is in the range if all bounds of one
	// of them hold. There is none in the range of every version.
	any []bounds
}

// bounds all have to hold.
type bounds []bound

type bound struct {
	op string
	v  Release
	// parts is how many numbers the bound gives: 2 or 3, and 4 for one with a
	// pre-release.
	parts int
}

var boundForm = regexp.MustCompile(`^(>=|<=|>|<|=|)v?((?:0|[1-9]\d{0,5})\.(?:0|[1-9]\d{0,5}))(\.(?:0|[1-9]\d{0,5}))?(-(?:alpha|beta|rc)\.(?:0|[1-9]\d{0,5}))?$`)

// ParseRange reads a range. An empty text is the range of every version; one
// that no version can satisfy is refused, also as an alternative of another,
// since what it is written for would never be.
func ParseRange(text string) (Range, error) {
	fields := strings.Fields(text)
	r := Range{text: strings.Join(fields, " ")}
	for rest := fields; len(rest) > 0; {
		alternative := rest
		if i := slices.Index(rest, "or"); i >= 0 {
			alternative, rest = rest[:i], rest[i+1:]
			if len(rest) == 0 {
				alternative = nil // nothing follows the last "or"
			}
		} else {
			rest = nil
		}
		if len(alternative) == 0 {
			return Range{}, fmt.Errorf("%q has an \"or\" without bounds on both sides; write it between two ranges such as \"1.35 or >=1.36.3 <1.37\"", r.text)
		}
		all, err := parseBounds(alternative)
		if err != nil {
			return Range{}, err
		}
		r.any = append(r.any, all)
	}
	return r, nil
}

func parseBounds(fields []string) (bounds, error) {
	var all bounds
	for _, f := range fields {
		m := boundForm.FindStringSubmatch(f)
		if m == nil || m[4] != "" && m[3] == "" {
			return nil, fmt.Errorf("%q is not a bound on a version; write bounds such as \">=1.35.0 <1.38.0\", \">=1.28\" or \"1.36.3\"", f)
		}
		b := bound{op: m[1], parts: 2}
		patch := m[3]
		switch {
		case m[4] != "":
			b.parts = 4
		case patch != "":
			b.parts = 3
		default:
			patch = ".0"
		}
		v, err := ParseRelease(m[2] + patch + m[4])
		if err != nil {
			return nil, err
		}
		b.v = v
		all = append(all, b)
	}
	if !all.satisfiable() {
		return nil, fmt.Errorf("no version is in %q; correct the bounds", strings.Join(fields, " "))
	}
	return all, nil
}

// Includes reports whether a version such as "v1.37.2" is in the range. A text
// that is not a version is in no range but that of every version.
func (r Range) Includes(version string) bool {
	v, err := ParseRelease(version)
	return err == nil && r.Has(v) || len(r.any) == 0
}

// Has reports whether the version is in the range.
func (r Range) Has(v Release) bool {
	return len(r.any) == 0 || slices.ContainsFunc(r.any, func(all bounds) bool { return all.hold(v) })
}

// String returns the range as it was written; "" for every version.
func (r Range) String() string { return r.text }

func (all bounds) hold(v Release) bool {
	return !slices.ContainsFunc(all, func(b bound) bool { return !b.holds(v) })
}

// holds compares a version as far as the bound is precise.
func (b bound) holds(v Release) bool {
	switch b.parts {
	case 2:
		v = Release{Major: v.Major, Minor: v.Minor}
	case 3:
		v = v.plain()
	}
	c := v.Compare(b.v)
	switch b.op {
	case ">=":
		return c >= 0
	case ">":
		return c > 0
	case "<=":
		return c <= 0
	case "<":
		return c < 0
	}
	return c == 0
}

// satisfiable tries the versions next to each bound: if any version is within
// all of them, one of these is.
func (all bounds) satisfiable() bool {
	const lastPatch = 1_000_000 // above every patch that a bound can name
	for _, b := range all {
		v := b.v
		next, plain, first := v, v.plain(), v.plain()
		next.N++
		first.Stage = "alpha"
		before, after := plain, plain
		before.Patch--
		after.Patch++
		lastOfMinor, nextMinor, minorBefore := plain, Release{Major: v.Major, Minor: v.Minor + 1}, Release{Major: v.Major, Minor: v.Minor - 1, Patch: lastPatch}
		lastOfMinor.Patch = lastPatch
		for _, try := range []Release{v, next, plain, first, before, after, lastOfMinor, nextMinor, minorBefore} {
			if try.Minor >= 0 && try.Patch >= 0 && (try.Stage != "" || try.N == 0) && all.hold(try) {
				return true
			}
		}
	}
	return false
}
