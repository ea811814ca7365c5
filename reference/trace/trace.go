package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Version is the version of the trace format that this package reads and
// writes.
const Version = 1

// Header is the first line of a trace file.
type Header struct {
	Trace int `json:"trace"`
	// Case is the case that was run ("hooks/poststart-blocks"); it may be
	// empty in a trace that came from elsewhere.
	Case string `json:"case,omitempty"`
	// Kubernetes is the version of the API server, Kubelet that of the node's
	// kubelet. The model goes by the kubelet.
	Kubernetes string `json:"kubernetes,omitempty"`
	Kubelet    string `json:"kubelet"`
	Runtime    string `json:"runtime,omitempty"`
	// Settings are those of the kubelet that differ from its defaults.
	Settings *Settings `json:"settings,omitempty"`
}

// Settings are fields of a KubeletConfiguration, with its names.
type Settings struct {
	FeatureGates     map[string]bool   `json:"featureGates,omitempty"`
	CrashLoopBackOff *CrashLoopBackOff `json:"crashLoopBackOff,omitempty"`
}

// CrashLoopBackOff is the longest that a kubelet waits before it starts a container again.
type CrashLoopBackOff struct {
	MaxContainerRestartPeriod metav1.Duration `json:"maxContainerRestartPeriod"`
}

// Entry is one line of a trace after its header. Exactly one of Log, Pod,
// Event, Did and Gap is set.
type Entry struct {
	// At is the recorder's clock when the entry reached it.
	At time.Time `json:"at"`
	// Log is a raw line of the shared log, without its newline.
	Log *string `json:"log,omitempty"`
	// Type goes with Pod: ADDED, MODIFIED or DELETED.
	Type string `json:"type,omitempty"`
	// Pod is the object as the watch delivered it, managedFields removed.
	Pod   *corev1.Pod `json:"pod,omitempty"`
	Event *Event      `json:"event,omitempty"`
	Did   *Act        `json:"did,omitempty"`
	Gap   *Gap        `json:"gap,omitempty"`

	// Line is the number of the entry in its file, counted from 1; the header
	// is line 1. Not part of the format.
	Line int `json:"-"`
}

// The values of Entry.Type.
const (
	Added    = "ADDED"
	Modified = "MODIFIED"
	Deleted  = "DELETED"
)

// Event is what a trace keeps of a core/v1 Event. The stamps have whole
// seconds.
type Event struct {
	Reason         string      `json:"reason"`
	Type           string      `json:"type,omitempty"`
	Message        string      `json:"message,omitempty"`
	FieldPath      string      `json:"fieldPath,omitempty"`
	Count          int32       `json:"count,omitempty"`
	FirstTimestamp metav1.Time `json:"firstTimestamp,omitzero"`
	LastTimestamp  metav1.Time `json:"lastTimestamp,omitzero"`
}

// Gap says that something may be missing from a channel ("log", "watch",
// "events") at this place, or, as GapClock, that what the node did by then may have
// taken longer than it takes a kubelet.
type Gap struct {
	Channel string `json:"channel"`
	Why     string `json:"why"`
}

// GapClock is the channel of a gap in which nothing is missing but time: the node
// stood still.
const GapClock = "clock"

// Act is something that the harness did: a name and its parameter, written
// {"delete":{"gracePeriodSeconds":30}}.
type Act struct {
	Name  string
	Param json.RawMessage
}

// The acts that the format names.
const (
	ActApply   = "apply"
	ActDelete  = "delete"
	ActRestart = "restart" // of "kubelet" or "node"
	ActStop    = "stop"    // of "sandbox" or "kubelet"
	ActStart   = "start"   // of "kubelet"
	ActEvict   = "evict"
	ActPatch   = "patch"  // of the Pod, at the API
	ActDebug   = "debug"  // adds an ephemeral container
	ActRemove  = "remove" // of another object, named by its file
	ActLook    = "look"   // at what was recorded until then, which was enough: the case ends
	ActErase   = "erase"  // of a container, from the runtime; one that runs is killed
	// ActReplace: the file that a static Pod came from was replaced by another one, or by
	// nothing ("none"). Its kubelet stops the Pod with the grace period of the Pod.
	ActReplace = "replace"
)

// DeleteParam is the parameter of a delete.
type DeleteParam struct {
	// GracePeriodSeconds is nil where the Pod's own period holds.
	GracePeriodSeconds *int64 `json:"gracePeriodSeconds,omitempty"`
}

// NewAct returns the act with its parameter encoded; nil stands for {}.
func NewAct(name string, param any) (Act, error) {
	if param == nil {
		param = struct{}{}
	}
	raw, err := json.Marshal(param)
	if err != nil {
		return Act{}, fmt.Errorf("encoding the parameter of act %q: %w", name, err)
	}
	return Act{Name: name, Param: raw}, nil
}

// Target returns what an act was done to, where its parameter is just a word:
// {"restart":"kubelet"}. It is empty for other acts.
func (a Act) Target() string {
	var what string
	if json.Unmarshal(a.Param, &what) != nil {
		return ""
	}
	return what
}

// Delete returns the parameter of a delete or an evict act.
func (a Act) Delete() (DeleteParam, error) {
	var p DeleteParam
	if a.Name != ActDelete && a.Name != ActEvict {
		return p, fmt.Errorf("act %q is not a delete", a.Name)
	}
	if err := strictJSON(a.Param, &p); err != nil {
		return p, fmt.Errorf("parameter of act %q: %w", a.Name, err)
	}
	return p, nil
}

// MarshalJSON writes the one-field object of the format.
func (a Act) MarshalJSON() ([]byte, error) {
	if a.Name == "" {
		return nil, fmt.Errorf("an act needs a name")
	}
	p := a.Param
	if len(p) == 0 {
		p = json.RawMessage("{}")
	}
	return json.Marshal(map[string]json.RawMessage{a.Name: p})
}

// UnmarshalJSON reads the one-field object of the format.
func (a *Act) UnmarshalJSON(b []byte) error {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	if len(m) != 1 {
		return fmt.Errorf("an act has exactly one field, not %d", len(m))
	}
	for a.Name, a.Param = range m {
	}
	if a.Name == "" {
		return fmt.Errorf("an act needs a name")
	}
	return nil
}

// Trace is a whole recording in memory.
type Trace struct {
	Header  Header
	Entries []Entry
	// LogOnly tells that the trace was made from a log alone: nothing is known
	// of the harness's acts, so the Pod may have been deleted at any time.
	LogOnly bool
}

// Logs returns how many log lines the trace holds.
func (t *Trace) Logs() int {
	n := 0
	for i := range t.Entries {
		if t.Entries[i].Log != nil {
			n++
		}
	}
	return n
}

// Admitted returns the Pod as the API server admitted it, which is that of the first
// object in the trace. It is nil where the trace shows no Pod.
func (t *Trace) Admitted() *corev1.Pod {
	for i := range t.Entries {
		if p := t.Entries[i].Pod; p != nil {
			return p
		}
	}
	return nil
}

// check reports what is wrong with the shape of an entry.
func (e *Entry) check() error {
	set := 0
	for _, has := range []bool{e.Log != nil, e.Pod != nil, e.Event != nil, e.Did != nil, e.Gap != nil} {
		if has {
			set++
		}
	}
	switch {
	case set != 1:
		return fmt.Errorf("%d of the fields log, pod, event, did and gap are set, not exactly one", set)
	case e.At.IsZero():
		return fmt.Errorf("no time in field at")
	case e.Pod == nil && e.Type != "":
		return fmt.Errorf("field type goes with pod only")
	case e.Pod != nil && e.Type != Added && e.Type != Modified && e.Type != Deleted:
		return fmt.Errorf("type %q beside pod is not ADDED, MODIFIED or DELETED", e.Type)
	case e.Event != nil && e.Event.Reason == "":
		return fmt.Errorf("an event without a reason")
	case e.Gap != nil && (e.Gap.Channel == "" || e.Gap.Why == ""):
		return fmt.Errorf("a gap needs channel and why")
	}
	return nil
}

// strictJSON refuses unknown fields and anything after the value.
func strictJSON(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if d.More() {
		return fmt.Errorf("something follows the value")
	}
	return nil
}
