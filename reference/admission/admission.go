package admission

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference"
)

// Kind says what happened to a field or a container. The zero value is none.
type Kind uint8

// The kinds.
const (
	_ Kind = iota
	Added
	Changed
	Removed
)

// String returns the kind as a word.
func (k Kind) String() string {
	switch k {
	case Added:
		return "added"
	case Changed:
		return "changed"
	case Removed:
		return "removed"
	}
	return "untouched"
}

// Weight is how much a change bears on a case.
type Weight uint8

// The weights.
const (
	// Nothing: it cannot bear on the order of containers.
	Nothing Weight = iota
	// Order: it may bear on their order, as an added container does. The Pod is another one, and what
	// the case is about can still be seen on it.
	Order
	// Case: the Pod does not do any more what the case has it do. A container of the manifest is missing or stands
	// elsewhere, runs something else, has other hooks or probes, or is restarted otherwise.
	Case
)

// Change is one thing that somebody else has done to a Pod.
type Change struct {
	Kind Kind
	// Path names it: "initContainers[mesh-proxy]", "containers[app].env[HOST]", "spec.dnsConfig".
	Path   string
	Weight Weight
	// Container is the name of a container that was added; empty for anything else.
	Container string
}

// String returns the change in words: "added spec.dnsConfig".
func (c Change) String() string { return c.Kind.String() + " " + c.Path }

// Changes are all that was done to one Pod.
type Changes []Change

// most is how many changes of one kind a line names.
const most = 8

// String returns the changes in one line: "admission added: initContainers[mesh-proxy], spec.dnsConfig; changed:
// spec.dnsPolicy". It is empty where there are none.
func (c Changes) String() string {
	var parts []string
	for _, kind := range []Kind{Added, Changed, Removed} {
		var paths []string
		for _, one := range c {
			if one.Kind == kind {
				paths = append(paths, one.Path)
			}
		}
		if over := len(paths) - most; over > 0 {
			paths = append(paths[:most], fmt.Sprintf("%d more", over))
		}
		if len(paths) > 0 {
			parts = append(parts, kind.String()+": "+strings.Join(paths, ", "))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "admission " + strings.Join(parts, "; ")
}

// List returns each change in words.
func (c Changes) List() []string {
	var list []string
	for _, one := range c {
		list = append(list, one.String())
	}
	return list
}

// Of returns the changes of a weight.
func (c Changes) Of(w Weight) (some Changes) {
	for _, one := range c {
		if one.Weight == w {
			some = append(some, one)
		}
	}
	return some
}

// Containers returns the names of the containers that were added.
func (c Changes) Containers() (names []string) {
	for _, one := range c {
		if one.Container != "" {
			names = append(names, one.Container)
		}
	}
	return names
}

// Compare returns what differs between a manifest and the Pod that the API server admitted for it,
// apart from what every API server sets: the containers first, in their order, then the other fields.
func Compare(manifest, admitted *corev1.Pod) Changes {
	want, got := complete(manifest), complete(admitted)
	ordinary(got, want)
	d := &differ{}
	d.containers("initContainers", want.Spec.InitContainers, got.Spec.InitContainers)
	d.containers("containers", want.Spec.Containers, got.Spec.Containers)
	for _, pod := range []*corev1.Pod{want, got} {
		pod.Spec.InitContainers, pod.Spec.Containers, pod.Spec.EphemeralContainers = nil, nil, nil
	}
	d.fields("spec", fieldsOf(&want.Spec), fieldsOf(&got.Spec), func(field string) Weight {
		switch {
		case field == "restartPolicy":
			return Case
		case reference.SpecFieldBears(field):
			return Order
		}
		return Nothing
	})
	d.weight = Nothing
	d.walk("metadata.labels", anyMap(want.Labels), anyMap(got.Labels))
	d.walk("metadata.annotations", anyMap(want.Annotations), anyMap(got.Annotations))
	return d.found
}

// differ collects changes.
type differ struct {
	found Changes
	// weight is that of what is being compared.
	weight Weight
}

func (d *differ) note(k Kind, path string) {
	d.found = append(d.found, Change{Kind: k, Path: path, Weight: d.weight})
}

// containers compares two lists by the names of the containers.
func (d *differ) containers(list string, want, got []corev1.Container) {
	named := func(name string) func(corev1.Container) bool {
		return func(c corev1.Container) bool { return c.Name == name }
	}
	var order []string
	for _, c := range got {
		if slices.ContainsFunc(want, named(c.Name)) {
			order = append(order, c.Name)
			continue
		}
		d.found = append(d.found, Change{Kind: Added, Path: at(list, c.Name), Weight: Order, Container: c.Name})
	}
	var kept []string
	for i := range want {
		c := &want[i]
		j := slices.IndexFunc(got, named(c.Name))
		if j < 0 {
			d.weight = Case
			d.note(Removed, at(list, c.Name))
			continue
		}
		kept = append(kept, c.Name)
		d.fields(at(list, c.Name), fieldsOf(c), fieldsOf(&got[j]), func(field string) Weight {
			// What a container runs is nothing to the kubelet, and everything to the case.
			if field == "command" || field == "args" || reference.ContainerFieldBears(field) {
				return Case
			}
			return Nothing
		})
	}
	if !slices.Equal(kept, order) {
		d.weight = Case
		d.note(Changed, "order of "+list)
	}
}

// fields compares two structs field by field, each with a weight of its own.
func (d *differ) fields(path string, want, got map[string]any, weight func(field string) Weight) {
	for _, field := range keys(want, got) {
		d.weight = weight(field)
		d.either(path+"."+field, field, want, got)
	}
}

// walk compares two values.
func (d *differ) walk(path string, want, got any) {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			for _, key := range keys(w, g) {
				d.either(within(path, key), key, w, g)
			}
			return
		}
	case []any:
		if g, ok := got.([]any); ok {
			if w, g, ok := byKey(w, g); ok {
				for _, key := range keys(w, g) {
					d.either(at(path, key), key, w, g)
				}
				return
			}
		}
	}
	if !reflect.DeepEqual(want, got) {
		d.note(Changed, path)
	}
}

// either compares what two maps have for a key, which is at a path.
func (d *differ) either(path, key string, want, got map[string]any) {
	w, wanted := want[key]
	g, there := got[key]
	switch {
	case !wanted:
		d.note(Added, path)
	case !there:
		d.note(Removed, path)
	default:
		d.walk(path, w, g)
	}
}

// byKey makes maps of two lists of objects, by the first field that names each of them.
func byKey(want, got []any) (w, g map[string]any, ok bool) {
	for _, field := range []string{"name", "mountPath", "devicePath", "ip", "conditionType", "resourceName"} {
		w, ok = index(want, field)
		if !ok {
			continue
		}
		if g, ok = index(got, field); ok {
			return w, g, true
		}
	}
	return nil, nil, false
}

func index(list []any, field string) (map[string]any, bool) {
	all := map[string]any{}
	for _, v := range list {
		o, _ := v.(map[string]any)
		name, _ := o[field].(string)
		if _, twice := all[name]; name == "" || twice {
			return nil, false
		}
		all[name] = v
	}
	return all, true
}

// keys returns the keys of both maps, sorted.
func keys(a, b map[string]any) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// at is the path of an element, within that of a field.
func at(list, name string) string { return list + "[" + name + "]" }

func within(path, key string) string {
	if strings.ContainsAny(key, "./") {
		return at(path, key)
	}
	return path + "." + key
}

// fieldsOf returns a value of the API as its JSON has it, without what is empty in there.
func fieldsOf(v any) map[string]any {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encoding a %T: %v", v, err)) // it holds nothing that JSON could refuse
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		panic(fmt.Sprintf("reading back a %T: %v", v, err))
	}
	for key, v := range m {
		switch v := v.(type) {
		case nil:
			delete(m, key)
		case map[string]any:
			if len(v) == 0 {
				delete(m, key)
			}
		case []any:
			if len(v) == 0 {
				delete(m, key)
			}
		}
	}
	return m
}

func anyMap(m map[string]string) map[string]any {
	all := map[string]any{}
	for k, v := range m {
		all[k] = v
	}
	return all
}
