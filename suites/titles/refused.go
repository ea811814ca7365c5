package titles

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podorder/podorder/reference/trace"
)

// Claim is a section of refused.txt: one way in which the title would be false.
type Claim struct {
	// Rule refuses it; empty where a witness is missing.
	Rule string
	// Kubelet is the version that leaves the trace.
	Kubelet string
	// Trace is what it leaves, and Line the one of it that is refused, counted from 1 as in a
	// trace file.
	Trace *trace.Trace
	Line  int
	// Witness are the witnesses and awaits of the case of which one is missing.
	Witness []string
}

// Witness is the name of a section without a trace.
const Witness = "witness"

// Read reads refused.txt of a case with the given Pod. A section that names no kubelet
// is one of the given version.
func Read(text []byte, pod *corev1.Pod, kubelet string) ([]Claim, error) {
	a := txtar.Parse(text)
	if s := strings.TrimSpace(string(a.Comment)); s != "" {
		return nil, fmt.Errorf("%q comes before the first section; begin one with \"-- RULE --\" or \"-- %s --\"", s, Witness)
	}
	var claims []Claim
	for _, f := range a.Files {
		name := strings.Fields(f.Name)
		c := Claim{Kubelet: kubelet}
		var err error
		switch {
		case f.Name == Witness:
			c.Witness, err = witnesses(string(f.Data))
		case len(name) <= 2 && strings.Contains(name[0], "/"):
			c.Rule = name[0]
			if len(name) == 2 {
				c.Kubelet = name[1]
			}
			s := script{pod: pod, kubelet: c.Kubelet, now: epoch}
			c.Trace, c.Line, err = s.read(string(f.Data))
		default:
			err = fmt.Errorf("a section is named by a rule, such as hooks/poststart-once, with a kubelet after it where that is another one, or %s", Witness)
		}
		if err != nil {
			return nil, fmt.Errorf("section %q: %w", f.Name, err)
		}
		claims = append(claims, c)
	}
	return claims, nil
}

// lines are those of a section, without comments.
func lines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			out = append(out, line)
		}
	}
	return out
}

func witnesses(text string) ([]string, error) {
	all := lines(text)
	if len(all) == 0 {
		return nil, fmt.Errorf("it is empty; write the witnesses and awaits that would be missing")
	}
	return all, nil
}

// stampLayout is RFC 3339 with always nine decimals: an even second must not be taken for a stamp of whole seconds.
const stampLayout = "2006-01-02T15:04:05.000000000Z"

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// refusedMark is after the line that is refused.
const refusedMark = "<-"

// script is a trace in the short form.
type script struct {
	pod     *corev1.Pod
	kubelet string
	now     time.Time
}

func (s *script) read(text string) (*trace.Trace, int, error) {
	var file bytes.Buffer
	w, err := trace.NewWriter(&file, trace.Header{Kubelet: s.kubelet})
	if err != nil {
		return nil, 0, err
	}
	mark, n := 0, 1 // the header is line 1
	write := func(line string) error {
		e, err := s.entry(line)
		if err == nil {
			err = w.Write(e)
		}
		if err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
		n++
		return nil
	}
	if err := write("did apply"); err != nil {
		return nil, 0, err
	}
	for _, line := range lines(text) {
		if wait, ok := strings.CutPrefix(line, "+"); ok {
			d, err := time.ParseDuration(wait)
			if err != nil {
				return nil, 0, fmt.Errorf("%q: %w", line, err)
			}
			s.now = s.now.Add(d)
			continue
		}
		line, last := strings.CutSuffix(line, refusedMark)
		if err := write(strings.TrimSpace(line)); err != nil {
			return nil, 0, err
		}
		if last && mark != 0 {
			return nil, 0, fmt.Errorf("%q is the second line that is marked as refused; mark one", line)
		}
		if last {
			mark = n
		}
	}
	if mark == 0 {
		return nil, 0, fmt.Errorf("no line is marked as the one to be refused; write %s after it", refusedMark)
	}
	tr, err := trace.Read(&file)
	return tr, mark, err
}

func (s *script) entry(line string) (trace.Entry, error) {
	s.now = s.now.Add(100 * time.Millisecond)
	e := trace.Entry{At: s.now}
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "did":
		name, param, _ := strings.Cut(rest, " ")
		var value any
		switch {
		case strings.HasPrefix(param, "{"):
			value = json.RawMessage(param)
		case param != "":
			value = param
		}
		act, err := trace.NewAct(name, value)
		if err != nil {
			return e, err
		}
		e.Did = &act
	case "event":
		f := strings.SplitN(rest, " ", 3)
		if len(f) < 2 {
			return e, fmt.Errorf("an Event has a reason and a container, or - for the Pod")
		}
		e.Event = &trace.Event{Reason: f[0], LastTimestamp: metav1.Time{Time: s.now.Truncate(time.Second)}}
		if len(f) == 3 {
			e.Event.Message = f[2]
		}
		if f[1] != "-" {
			list := "spec.containers"
			if s.init(f[1]) != nil {
				list = "spec.initContainers"
			}
			e.Event.FieldPath = list + "{" + f[1] + "}"
		}
	case "pod":
		var err error
		e.Type, e.Pod, err = s.update(strings.Fields(rest))
		return e, err
	default:
		log := s.now.Format(stampLayout) + ": " + line
		e.Log = &log
	}
	return e, nil
}

// init is the init container or sidecar of that name.
func (s *script) init(name string) *corev1.Container {
	i := slices.IndexFunc(s.pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &s.pod.Spec.InitContainers[i]
}

// update reads an update. Conditions are what the containers say.
func (s *script) update(words []string) (string, *corev1.Pod, error) {
	kind, pod := trace.Modified, s.pod.DeepCopy()
	if len(words) == 0 {
		return "", nil, fmt.Errorf("an update begins with the phase")
	}
	pod.Status.Phase = corev1.PodPhase(words[0])
	is := map[corev1.PodConditionType]bool{corev1.PodInitialized: true, corev1.ContainersReady: true, corev1.PodReadyToStartContainers: false}
	said := map[corev1.PodConditionType]bool{}
	for _, word := range words[1:] {
		name, value, ok := strings.Cut(word, "=")
		switch {
		case word == "gone":
			kind = trace.Deleted
			fallthrough
		case word == "deleting":
			pod.DeletionTimestamp = &metav1.Time{Time: epoch}
		case strings.HasPrefix(word, "deadline"):
			n, err := strconv.ParseInt(word[len("deadline"):], 10, 64)
			if err != nil {
				return "", nil, fmt.Errorf("%q: a deadline has its seconds after it", word)
			}
			pod.Spec.ActiveDeadlineSeconds, pod.Status.StartTime = &n, &metav1.Time{Time: epoch}
		case !ok:
			return "", nil, fmt.Errorf("%q is neither a container, nor a condition, nor deleting or gone", word)
		case value == "True" || value == "False":
			said[corev1.PodConditionType(name)] = value == "True"
		default:
			cs, err := container(name, strings.Split(value, ","))
			if err != nil {
				return "", nil, err
			}
			init := s.init(name)
			plain := init != nil && init.RestartPolicy == nil
			if plain {
				cs.Ready = cs.State.Terminated != nil && cs.State.Terminated.ExitCode == 0
			}
			is[corev1.PodReadyToStartContainers] = is[corev1.PodReadyToStartContainers] || cs.State.Running != nil
			is[corev1.ContainersReady] = is[corev1.ContainersReady] && (cs.Ready || plain)
			if init == nil {
				pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, cs)
				continue
			}
			is[corev1.PodInitialized] = is[corev1.PodInitialized] && (cs.Ready || !plain && *cs.Started)
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, cs)
		}
	}
	is[corev1.PodReady] = is[corev1.ContainersReady]
	for name, value := range said {
		is[name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		c := corev1.PodCondition{Type: name, Status: corev1.ConditionTrue}
		if !is[name] {
			c.Status, c.Reason = corev1.ConditionFalse, "ContainersNotReady"
		}
		pod.Status.Conditions = append(pod.Status.Conditions, c)
	}
	return kind, pod, nil
}

// container reads how an update shows one.
func container(name string, words []string) (corev1.ContainerStatus, error) {
	started := words[0] == "running"
	cs := corev1.ContainerStatus{Name: name, Started: &started}
	reason, code, at := "ContainerCreating", int32(0), metav1.Time{}
	second := func(n int) metav1.Time { return metav1.Time{Time: epoch.Add(time.Duration(n) * time.Second)} }
	for _, w := range words[1:] {
		head := strings.TrimRight(w, "0123456789")
		n, err := strconv.Atoi(w[len(head):])
		switch {
		case w == "ready":
			cs.Ready = true
		case w == "notstarted":
			started = false
		case err == nil && head == "run":
			cs.RestartCount = int32(n)
		case err == nil && head == "code":
			code = int32(n)
		case err == nil && head == "at":
			at = second(n)
		case err == nil && head == "ended":
			cs.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{FinishedAt: second(n)}
		case err != nil && strings.ToUpper(w[:1]) == w[:1]:
			reason = w
		default:
			return cs, fmt.Errorf("%q says nothing of container %s", w, name)
		}
	}
	switch words[0] {
	case "running":
		cs.State.Running = &corev1.ContainerStateRunning{StartedAt: at}
	case "terminated":
		cs.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: at}
	case "waiting":
		cs.State.Waiting = &corev1.ContainerStateWaiting{Reason: reason}
		if slices.Contains([]string{"CrashLoopBackOff", "PostStartHookError"}, reason) {
			cs.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: at}
		}
	default:
		return cs, fmt.Errorf("container %s is %s; it can be waiting, running or terminated", name, words[0])
	}
	return cs, nil
}
