package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// object is one object of a text, of any kind.
type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name         string `json:"name"`
		GenerateName string `json:"generateName"`
		Namespace    string `json:"namespace"`
	} `json:"metadata"`
	raw []byte
}

// String names the object as kind/name.
func (o object) String() string {
	if o.Metadata.Name == "" && o.Metadata.GenerateName == "" {
		return o.Kind + " without a name"
	}
	return o.Kind + "/" + o.name()
}

func (o object) name() string {
	if o.Metadata.Name == "" {
		return o.Metadata.GenerateName
	}
	return o.Metadata.Name
}

// is reports whether the object is the one that is named as kind/name or namespace/kind/name. The kind may be written in
// small letters and with its group, as kubectl prints it: deployment.apps/web.
func (o object) is(which string) bool {
	parts := strings.Split(which, "/")
	if len(parts) == 3 {
		if parts[0] != o.Metadata.Namespace {
			return false
		}
		parts = parts[1:]
	}
	if len(parts) != 2 || parts[1] != o.name() {
		return false
	}
	kind, group, _ := strings.Cut(parts[0], ".")
	return strings.EqualFold(kind, o.Kind) && (group == "" || group == o.group())
}

// group is the group of the API that the object is of; empty for the core group.
func (o object) group() string {
	group, _, found := strings.Cut(o.APIVersion, "/")
	if !found {
		return ""
	}
	return group
}

// most is how many objects an error names.
const most = 20

// listed names objects in one line, and the namespaces of those that have one.
func listed(all []object) string {
	var names []string
	for i, o := range all {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(all)-most))
			break
		}
		name := o.String()
		if o.Metadata.Namespace != "" {
			name += " (namespace " + o.Metadata.Namespace + ")"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

func areAll(all []object) string {
	if len(all) == 1 {
		return "is only " + listed(all)
	}
	return "are " + listed(all)
}

// objects returns the objects of a text. The items of a list are objects of their own. Only the
// kind and the name of each are read.
func objects(text []byte) ([]object, error) {
	docs, err := texts(text)
	if err != nil {
		return nil, err
	}
	var all []object
	for i, doc := range docs {
		some, err := unpack(doc, object{})
		if err != nil && len(docs) > 1 {
			err = fmt.Errorf("document %d: %w", i+1, err)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// unpack reads one object, or those of a list. Where the object does not say what it is, it is what the list says.
func unpack(raw []byte, of object) ([]object, error) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '{' {
		return nil, errors.New("not an object; write a v1 Pod here, or an object with a Pod template")
	}
	o := object{APIVersion: of.APIVersion, Kind: of.Kind, raw: raw}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &o); err != nil {
		return nil, fmt.Errorf("not an object: %w", err)
	}
	if o.Kind == "" {
		return nil, errors.New("field kind: empty; every object has apiVersion and kind")
	}
	item := object{APIVersion: o.APIVersion}
	item.Kind, _ = strings.CutSuffix(o.Kind, "List")
	switch _, ofPods := workloadOf(item); {
	case o.Kind == "List" && o.group() == "":
		item = object{} // each says for itself what it is
	case item.Kind == o.Kind || !ofPods:
		return []object{o}, nil
	}
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &list); err != nil {
		return nil, fmt.Errorf("not a list: %w", err)
	}
	var all []object
	for i, raw := range list.Items {
		some, err := unpack(raw, item)
		if err != nil {
			return nil, fmt.Errorf("field items[%d]: %w", i, err)
		}
		all = append(all, some...)
	}
	return all, nil
}

// texts returns the documents of a text as JSON, without those that hold nothing but comments. They may be JSON already,
// one after another. A key that is given twice is an error in an object that may hold a Pod; in another one, it is nobody's concern here.
func texts(text []byte) ([][]byte, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if docs, ok := jsonTexts(text); ok {
		return docs, nil
	}
	var out [][]byte
	docs, err := split(text)
	if err != nil {
		return nil, err
	}
	for _, doc := range docs {
		b, err := ToJSON(doc)
		if err != nil {
			lenient, other := yaml.YAMLToJSON(doc)
			if other != nil || mayHoldPod(lenient) {
				return nil, err
			}
			b = lenient
		}
		if string(b) != "null" {
			out = append(out, b)
		}
	}
	return out, nil
}

func mayHoldPod(raw []byte) bool {
	all, err := unpack(raw, object{})
	for _, o := range all {
		if _, ok := workloadOf(o); ok {
			return true
		}
	}
	return err != nil
}

// jsonTexts returns the JSON objects that a text consists of, and whether it consists of them.
func jsonTexts(text []byte) (docs [][]byte, ok bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		var raw json.RawMessage
		switch err := d.Decode(&raw); {
		case errors.Is(err, io.EOF):
			return docs, len(docs) > 0
		case err != nil || raw[0] != '{':
			return nil, false
		}
		docs = append(docs, raw)
	}
}
