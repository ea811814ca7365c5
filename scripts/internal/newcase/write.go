package newcase

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// toYAML writes a value as people do: fields in the order of its type, without those that are empty, and
// commands and patterns in one line.
func toYAML(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil { // JSON is YAML
		return nil, err
	}
	tidy(&doc)
	if root := doc.Content[0].Content; len(root) > 3 && root[2].Value == "apiVersion" {
		root[0], root[1], root[2], root[3] = root[2], root[3], root[0], root[1] // as people write it
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(&doc); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// tidy gives a node the usual style.
func tidy(n *yaml.Node) {
	n.Style = 0
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); {
			key, value := n.Content[i], n.Content[i+1]
			if empty(value) && key.Value != "emptyDir" && key.Value != "delete" {
				n.Content = slices.Delete(n.Content, i, i+2)
				continue
			}
			i += 2
		}
	}
	for i, c := range n.Content {
		tidy(c)
		if n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].Value == "command" {
			c.Style = yaml.FlowStyle
		}
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" && strings.Contains(n.Value, " / ") {
		n.Style = yaml.DoubleQuotedStyle
	}
}

// empty reports whether a value says nothing: null, and a mapping without any field.
func empty(n *yaml.Node) bool {
	return n.Tag == "!!null" || n.Kind == yaml.MappingNode && len(n.Content) == 0
}

// comment makes lines of a text that is no longer than what can be read.
func comment(text string) string {
	const most = 118
	var b strings.Builder
	line := "#"
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > most {
			b.WriteString(line + "\n")
			line = "#"
		}
		line += " " + word
	}
	return b.String() + line + "\n"
}

// file is one file of a case.
type file struct {
	name string
	text []byte
}

// save writes the files of a case into a folder, unless there is one already.
func save(dir string, files []file) error {
	for _, f := range files {
		if _, err := os.Lstat(filepath.Join(dir, f.name)); err == nil {
			return fmt.Errorf("%s has a file %s: remove the folder, or name another with -out", dir, f.name)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the folder of the case: %w", err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.name), f.text, 0o644); err != nil {
			return fmt.Errorf("writing the case: %w", err)
		}
	}
	return nil
}
