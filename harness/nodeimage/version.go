package nodeimage

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/semver"
)

// oldest is the first Kubernetes release that the suite covers.
const oldest = "v1.28.0"

// checkVersion refuses what is not one exact release.
func checkVersion(version string) error {
	if !semver.IsValid(version) || semver.Canonical(version) != version {
		return fmt.Errorf("Kubernetes version %q: write an exact release such as %s", version, Default)
	}
	if semver.Compare(version, oldest+"-0") < 0 {
		return fmt.Errorf("Kubernetes version %s is older than %s, the first that podorder covers", version, oldest)
	}
	return nil
}

// minorOf is the number in the middle: 37 for "v1.37.2".
func minorOf(version string) int {
	_, minor, _ := strings.Cut(semver.MajorMinor(version), ".")
	n, err := strconv.Atoi(minor)
	if err != nil {
		return 0 // an invalid version; checkVersion has refused it
	}
	return n
}

// nearest picks from versions those closest to want: first those of the same minor, by distance of the patch, then the newest of each
// other minor, by distance of the minor. At most n, without duplicates.
func nearest(want string, versions []string, n int) []string {
	newest := map[string]string{}
	var near []string
	for _, v := range versions {
		if !semver.IsValid(v) || v == want {
			continue
		}
		mm := semver.MajorMinor(v)
		if mm == semver.MajorMinor(want) {
			near = append(near, v)
		} else if old, ok := newest[mm]; !ok || semver.Compare(v, old) > 0 && (semver.Prerelease(v) == "" || semver.Prerelease(old) != "") {
			newest[mm] = v
		}
	}
	for _, v := range newest {
		near = append(near, v)
	}
	slices.SortFunc(near, func(a, b string) int {
		return cmp.Or(
			cmp.Compare(distance(minorOf(a), minorOf(want)), distance(minorOf(b), minorOf(want))),
			cmp.Compare(distance(patchOf(a), patchOf(want)), distance(patchOf(b), patchOf(want))),
			semver.Compare(b, a),
		)
	})
	near = slices.Compact(near)
	return near[:min(n, len(near))]
}

func distance(a, b int) int { return max(a-b, b-a) }

// patchOf is the last number: 2 for "v1.37.2" and for "v1.37.2-rc.0".
func patchOf(version string) int {
	core := strings.TrimSuffix(semver.Canonical(version), semver.Prerelease(version))
	_, patch, _ := strings.Cut(strings.TrimPrefix(core, semver.MajorMinor(version)), ".")
	n, err := strconv.Atoi(patch)
	if err != nil {
		return 0
	}
	return n
}

// patchNear picks the version of the same minor that is closest to want; an older one where two are equally close, and a prerelease only
// where there is no release.
func patchNear(want string, versions []string) (string, bool) {
	best := ""
	for _, v := range versions {
		if !semver.IsValid(v) || semver.MajorMinor(v) != semver.MajorMinor(want) {
			continue
		}
		if best == "" || closer(want, v, best) {
			best = v
		}
	}
	return best, best != ""
}

func closer(want, v, than string) bool {
	if a, b := semver.Prerelease(v) == "", semver.Prerelease(than) == ""; a != b {
		return a
	}
	if a, b := distance(patchOf(v), patchOf(want)), distance(patchOf(than), patchOf(want)); a != b {
		return a < b
	}
	return semver.Compare(v, than) < 0
}
