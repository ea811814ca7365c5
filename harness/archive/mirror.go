package archive

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

// Mirrored is the reference under which a mirror has an image: what the image is called in its registry, below the registry and the folder that the
// mirror is. "registry.example/podorder" has busybox:1.36.1 as registry.example/podorder/library/busybox:1.36.1.
func Mirrored(mirror, ref string) (string, error) {
	tagged, digest, pinned := strings.Cut(ref, "@")
	tag, err := name.NewTag(tagged)
	if err != nil {
		return "", fmt.Errorf("image %s in mirror %s: %w", ref, mirror, err)
	}
	repository := strings.TrimSuffix(mirror, "/") + "/" + tag.RepositoryStr()
	_, err = name.NewRepository(repository)
	if err == nil && strings.Contains(mirror, "://") {
		err = errors.New("it is an address")
	}
	if err != nil {
		return "", fmt.Errorf("image %s in mirror %s: %w; a mirror is a registry, or a folder of one, such as registry.example:5000/podorder", ref, mirror, err)
	}
	there := repository + ":" + tag.TagStr()
	if pinned {
		there += "@" + digest
	}
	return there, nil
}

// Whole is a reference with its registry written out, as nodes know the image.
func Whole(ref string) (string, error) {
	tag, err := name.NewTag(ref)
	if err != nil {
		return "", err
	}
	// The library calls Docker Hub index.docker.io where runtimes say docker.io.
	registry := tag.RegistryStr()
	if registry == name.DefaultRegistry {
		registry = "docker.io"
	}
	return registry + "/" + tag.RepositoryStr() + ":" + tag.TagStr(), nil
}
