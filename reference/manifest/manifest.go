package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	yamldoc "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Pod reads exactly one v1 Pod. Its containers have names, each its own.
func Pod(text []byte) (*corev1.Pod, error) {
	docs, err := Documents(text)
	switch {
	case err != nil:
		return nil, err
	case len(docs) == 0:
		return nil, errors.New("no object; write exactly one v1 Pod here")
	case len(docs) > 1:
		return nil, errors.New("more than one object; leave only the one v1 Pod here")
	}
	if docs[0][0] != '{' {
		return nil, errors.New("not an object; write exactly one Pod of apiVersion v1 here")
	}
	pod := new(corev1.Pod)
	unknown, err := kjson.UnmarshalStrict(docs[0], pod)
	if pod.APIVersion != "v1" || pod.Kind != "Pod" {
		return nil, fmt.Errorf("apiVersion %q and kind %q; write exactly one Pod of apiVersion v1 here", pod.APIVersion, pod.Kind)
	}
	if err != nil {
		return nil, fmt.Errorf("not a v1 Pod: %w", err)
	}
	if len(unknown) > 0 {
		return nil, misplaced(unknown[0], "v1 Pod")
	}
	return pod, containers(pod, "spec")
}

// misplaced says what to do about a field that an object of a kind does not have, or has twice.
func misplaced(err error, kind string) error {
	if strings.HasPrefix(err.Error(), "duplicate field ") {
		return fmt.Errorf("%w; leave one of them", err)
	}
	return fmt.Errorf("%w; a %s has no such field there, so remove or correct it", err, kind)
}

// names checks that no two containers have the same name; at is the path of the spec.
func names(pod *corev1.Pod, at string) error {
	seen := map[string]bool{}
	check := func(list string, i int, name string) error {
		field := fmt.Sprintf("%s.%s[%d].name", at, list, i)
		switch {
		case name == "":
			return fmt.Errorf("field %s: empty; name the container", field)
		case seen[name]:
			return fmt.Errorf("field %s: %q is used twice; give every container a name of its own", field, name)
		}
		seen[name] = true
		return nil
	}
	for i, c := range pod.Spec.InitContainers {
		if err := check("initContainers", i, c.Name); err != nil {
			return err
		}
	}
	for i, c := range pod.Spec.Containers {
		if err := check("containers", i, c.Name); err != nil {
			return err
		}
	}
	for i, c := range pod.Spec.EphemeralContainers {
		if err := check("ephemeralContainers", i, c.Name); err != nil {
			return err
		}
	}
	return nil
}

// Documents returns the YAML documents of a text, as JSON. Those with nothing but comments do not count.
func Documents(text []byte) ([][]byte, error) {
	docs, err := split(text)
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for _, doc := range docs {
		b, err := ToJSON(doc)
		if err != nil {
			return nil, err
		}
		if string(b) != "null" {
			out = append(out, b)
		}
	}
	return out, nil
}

// split returns the YAML documents of a text. A line "..." ends one as "---" does, and what a "%" begins before a document is
// not of it.
func split(text []byte) ([][]byte, error) {
	var plain bytes.Buffer
	begins := true
	for line := range bytes.Lines(text) {
		trimmed := bytes.TrimSpace(line)
		switch {
		case bytes.Equal(bytes.TrimRight(line, " \t\r\n"), []byte("...")):
			line, begins = []byte("---\n"), true
		case bytes.HasPrefix(line, []byte("---")):
			begins = true
		case begins && bytes.HasPrefix(line, []byte("%")):
			line = []byte("\n")
		case len(trimmed) > 0 && trimmed[0] != '#':
			begins = false
		}
		plain.Write(line)
	}
	docs := yamldoc.NewYAMLReader(bufio.NewReader(&plain))
	var out [][]byte
	for {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("not YAML: %w", err)
		}
		out = append(out, doc)
	}
}

// ToJSON turns one YAML document into JSON. A key that is given twice is an error.
func ToJSON(doc []byte) ([]byte, error) {
	b, err := yaml.YAMLToJSONStrict(doc)
	if err != nil {
		return nil, fmt.Errorf("not YAML: %w", plain(err))
	}
	return b, nil
}

// Decode reads JSON into a value and refuses any field that the value does not have, also one
// that differs only in its letter case.
func Decode(raw []byte, into any) error {
	unknown, err := kjson.UnmarshalStrict(raw, into)
	if err != nil {
		return err
	}
	if len(unknown) > 0 {
		return unknown[0]
	}
	return nil
}

// plain drops what the YAML library says about its own inner workings.
func plain(err error) error {
	text := err.Error()
	for _, prefix := range []string{"error converting YAML to JSON: ", "yaml: ", "unmarshal errors:"} {
		text = strings.TrimSpace(strings.TrimPrefix(text, prefix))
	}
	return errors.New(strings.Join(strings.Fields(text), " "))
}
