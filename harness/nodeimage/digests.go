package nodeimage

// kindRelease is the release of kind that the digests below belong to. A node image fits the kind release that it was published with, so both
// change together; a test compares this with go.mod.
const kindRelease = "v0.33.0"

// digests are the kindest/node images that the release notes of kindRelease pin, by Kubernetes version.
var digests = map[string]string{
	"v1.37.0":  "sha256:a1ed56cfb0e7b93589bdf97c8cd566405a265939e3620fc4f5de89adff580ae5",
	"v1.36.4":  "sha256:099e049362a1526b2db71494e1947aae99bd16290d7c895f2b7ea312e3cbfaed",
	"v1.35.8":  "sha256:07b2536e30b803ed61d1677a79df6115f798ce64c80f9e22f6ed45afd09323c0",
	"v1.34.11": "sha256:44e222ee2132dab25ff87301682f89eb82c7880ea3a1bf543bfe9708fd08d67d",
}

// Published is the reference of the published image of a version, if kindRelease pins one.
func Published(version string) (ref string, ok bool) {
	digest, ok := digests[version]
	if !ok {
		return "", false
	}
	return "docker.io/kindest/node:" + version + "@" + digest, true
}
