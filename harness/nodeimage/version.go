package nodeimage

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/semver"
)

// The Kubernetes minors that node images and kubelets are provided for. kube-proxy and the kubelet of v1.38 need the module
// sigs.k8s.io/iptables-wrappers, which is not published. A kubelet works with something in its place, kube-proxy does not.
const (
	oldest        = "v1.28.0"
	newest        = 37
	newestKubelet = 38
)

// CheckVersion refuses what is not one exact release that node images are provided for.
func CheckVersion(version string) error {
	return checkRange(version, newest, "others take a node image of your own")
}

// CheckKubelet refuses what is not one exact release that kubelets are provided for.
func CheckKubelet(version string) error {
	return checkRange(version, newestKubelet, "no kubelet of a later one was tried")
}

func checkRange(version string, newest int, otherwise string) error {
	if !semver.IsValid(version) || semver.Canonical(version) != version {
		return fmt.Errorf("version %q of Kubernetes: write an exact release such as %s", version, Default)
	}
	if semver.Compare(version, oldest+"-0") < 0 {
		return fmt.Errorf("version %s of Kubernetes is older than %s, the first that podorder covers", version, oldest)
	}
	if minorOf(version) > newest {
		return fmt.Errorf("version %s of Kubernetes is not covered yet: the newest minor that can be built is v1.%d, %s", version, newest, otherwise)
	}
	return nil
}

// minorOf is the number in the middle: 37 for "v1.37.2".
func minorOf(version string) int {
	_, minor, _ := strings.Cut(semver.MajorMinor(version), ".")
	n, err := strconv.Atoi(minor)
	if err != nil {
		return 0 // an invalid version; CheckVersion has refused it
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

// guesses is how many patches to either side are tried although no list has them: lists omit some versions that can be had.
const guesses = 3

// patchesNear orders the versions of the same minor as want, without want itself, by how well they can stand in for it: releases before
// prereleases, the nearest patch first, the older one where two are equally near. Beside those in versions it has the patches next to want.
func patchesNear(want string, versions []string) []string {
	var near []string
	add := func(v string) {
		if semver.IsValid(v) && v != want && semver.MajorMinor(v) == semver.MajorMinor(want) && !slices.Contains(near, v) {
			near = append(near, v)
		}
	}
	for _, v := range versions {
		add(v)
	}
	for patch := max(0, patchOf(want)-guesses); patch <= patchOf(want)+guesses; patch++ {
		add(fmt.Sprintf("%s.%d", semver.MajorMinor(want), patch))
	}
	slices.SortFunc(near, func(a, b string) int {
		return cmp.Or(
			cmp.Compare(prereleaseRank(a), prereleaseRank(b)),
			cmp.Compare(distance(patchOf(a), patchOf(want)), distance(patchOf(b), patchOf(want))),
			semver.Compare(a, b),
		)
	})
	return near
}

func prereleaseRank(v string) int {
	if semver.Prerelease(v) == "" {
		return 0
	}
	return 1
}
