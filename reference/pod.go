package reference

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// ParsePod reads a manifest that holds exactly one v1 Pod, as YAML or JSON.
// A field that a Pod does not have is an error.
func ParsePod(manifest []byte) (*corev1.Pod, error) {
	docs := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest)))
	var pod *corev1.Pod
	for {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading the manifest: %w", err)
		}
		raw, err := yaml.ToJSON(doc)
		if err != nil {
			return nil, fmt.Errorf("the manifest is not YAML: %w", err)
		}
		if len(bytes.TrimSpace(raw)) == 0 || string(bytes.TrimSpace(raw)) == "null" {
			continue
		}
		if pod != nil {
			return nil, errors.New("the manifest holds more than one object; give one Pod")
		}
		if pod, err = decodePod(raw); err != nil {
			return nil, err
		}
	}
	if pod == nil {
		return nil, errors.New("the manifest is empty; give one Pod")
	}
	return pod, nil
}

func decodePod(raw []byte) (*corev1.Pod, error) {
	var head struct{ APIVersion, Kind string }
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("the manifest is not an object: %w", err)
	}
	if head.APIVersion != "v1" || head.Kind != "Pod" {
		return nil, fmt.Errorf("the manifest holds apiVersion %q kind %q, not a v1 Pod", head.APIVersion, head.Kind)
	}
	pod := &corev1.Pod{}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(pod); err != nil {
		return nil, fmt.Errorf("the manifest is not a Pod: %w", err)
	}
	if len(pod.Spec.Containers) == 0 {
		return nil, errors.New("the Pod has no containers")
	}
	seen := map[string]bool{}
	name := func(list string, i int, name string) error {
		if name == "" || seen[name] {
			return fmt.Errorf("spec.%s[%d].name %q is empty or stands twice", list, i, name)
		}
		seen[name] = true
		return nil
	}
	var err error
	for i, c := range pod.Spec.InitContainers {
		err = errors.Join(err, name("initContainers", i, c.Name))
	}
	for i, c := range pod.Spec.Containers {
		err = errors.Join(err, name("containers", i, c.Name))
	}
	for i, c := range pod.Spec.EphemeralContainers {
		err = errors.Join(err, name("ephemeralContainers", i, c.Name))
	}
	if err != nil {
		return nil, err
	}
	return pod, nil
}
