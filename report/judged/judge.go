package judged

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/admission"
	"github.com/podorder/podorder/reference/trace"
	"github.com/podorder/podorder/report"
)

// Judgement is what came of a recording.
type Judgement struct {
	// Verdict is the zero value where the case was skipped.
	Verdict reference.Verdict
	// Skipped says why the case cannot be judged by what was recorded.
	Skipped string
	// Changes are what somebody else made of the Pod on its way into the cluster.
	Changes admission.Changes
}

// Judge judges a case by the Pod that the API server admitted. ended is what kept its run
// from the last step, nil if nothing did; what was recorded until then is judged all the
// same, since a fault of the kubelet is the likeliest reason for a step that never ended.
// gates are those of the kubelet that differ from its defaults.
//
// Where somebody else has made another Pod of it, the kubelet is not to blame for what
// that one does, nor does it show what the case is about: such a case is skipped.
func Judge(c fixtures.Case, gates string, tr *trace.Trace, ended *report.Ended) (j Judgement) {
	broken := func(err error) Judgement {
		return Judgement{Verdict: reference.Verdict{Outcome: reference.Broken, Reason: err.Error()}}
	}
	if tr == nil {
		if ended == nil {
			return broken(errors.New("nothing was recorded"))
		}
		return broken(errors.New(ended.Why))
	}
	manifest, err := reference.ParsePod(c.Manifest)
	if err != nil {
		return broken(fmt.Errorf("pod.yaml of the case: %w", err))
	}
	kubelet, err := reference.ParseKubelet(tr.Header.Kubelet)
	if err != nil {
		if err = fmt.Errorf("header of the trace: %w", err); ended != nil {
			err = errors.Join(errors.New(ended.Why), err)
		}
		return broken(err)
	}
	if kubelet, err = kubelet.WithGates(gates); err != nil {
		return broken(fmt.Errorf("-feature-gates: %w", err))
	}
	if kubelet, err = kubelet.Configured(tr.Header.Settings); err != nil {
		return broken(fmt.Errorf("settings in the header of the trace: %w", err))
	}
	admitted := tr.Admitted()
	if admitted != nil {
		j.Changes = admission.Compare(manifest, admitted)
	}
	if other := j.Changes.Of(admission.Case); len(other) > 0 {
		j.Skipped = "admission changed the Pod: " + strings.Join(other.List(), ", ")
		return j
	}
	v := reference.CheckTrace(kubelet, tr)
	if c.Writes != nil && admitted != nil {
		v = reference.Check(kubelet, Pod(c, tr), tr)
	}
	if unknown := unknownTo(kubelet, admitted); len(unknown) > 0 && len(unknownTo(kubelet, manifest)) == 0 {
		j.Skipped = "admission added what the model does not know: " + strings.Join(byName(unknown, admitted), ", ")
		return j
	}
	// Where nothing was written, nothing of what is shown was refused either.
	allowed := v.Outcome == reference.Pass || v.Outcome == reference.Inconclusive && tr.Logs() == 0
	v = v.Witnessed(tr, c.Witness)
	// In another Pod a known fault may have no occasion to show, and in the Pod of a user it has none for sure.
	if ended == nil && len(j.Changes.Of(admission.Order)) == 0 && !c.Own() {
		v = v.Due(c.Rules)
	}
	if ended != nil {
		v = unfinished(v, ended)
	}
	if allowed && v.Outcome == reference.Inconclusive {
		if why := inTheWay(c, tr, j.Changes, ended); why != "" {
			j.Skipped = why + "; " + v.Reason
			return j
		}
	}
	j.Verdict = v
	return j
}

// Pod is the Pod that a recording of a case is judged by; nil where it shows none.
func Pod(c fixtures.Case, tr *trace.Trace) *corev1.Pod {
	pod := tr.Admitted()
	if pod == nil || c.Writes == nil {
		return pod
	}
	return reference.WithWrites(pod, strings.Join(c.Writes, ","))
}

// Decides says why what was recorded so far decides a case that still waits: a kubelet that
// has broken a rule is not acquitted by what it does next.
func Decides(c fixtures.Case, gates string, soFar *trace.Trace) string {
	j := Judge(c, gates, soFar, nil)
	if j.Skipped != "" || j.Verdict.Outcome != reference.Violation {
		return ""
	}
	return fmt.Sprintf("%s, line %d", j.Verdict.Rule, j.Verdict.Line)
}

// unfinished is the verdict of a run that did not end well.
func unfinished(v reference.Verdict, ended *report.Ended) reference.Verdict {
	if ended.Decided != "" {
		switch v.Outcome {
		case reference.Violation, reference.Unmodelled, reference.Broken:
			return v
		}
		v.Outcome = reference.Inconclusive
		v.Reason = "the case was ended early for what the rest of the recording explains: " + ended.Decided
		return v
	}
	switch v.Outcome {
	case reference.Violation, reference.Known, reference.Unmodelled, reference.Broken:
		v.Reason = strings.TrimPrefix(v.Reason+"; the run did not end well either: "+ended.Why, "; ")
	default:
		v.Outcome = reference.Inconclusive
		v.Reason = "the run did not end well: " + ended.Why
		if v.Accepted > 0 {
			v.Reason += "; everything recorded until then is allowed"
		}
	}
	return v
}

// unknownTo names what the model does not know of a Pod, whatever happened to it.
func unknownTo(k reference.Kubelet, pod *corev1.Pod) []string {
	if pod == nil {
		return nil
	}
	return reference.Check(k, pod, nil).Unmodelled
}

var elementOf = regexp.MustCompile(`^spec\.(initContainers|containers)\[([0-9]+)\]`)

// byName gives containers in the paths of fields their names instead of their numbers.
func byName(paths []string, pod *corev1.Pod) []string {
	out := slices.Clone(paths)
	for i, path := range out {
		out[i] = elementOf.ReplaceAllStringFunc(path, func(element string) string {
			part := elementOf.FindStringSubmatch(element)
			list := pod.Spec.Containers
			if part[1] == "initContainers" {
				list = pod.Spec.InitContainers
			}
			n, err := strconv.Atoi(part[2])
			if err != nil || n >= len(list) {
				return element
			}
			return part[1] + "[" + list[n].Name + "]"
		})
	}
	return out
}

// inTheWay says what of that which somebody else made of a Pod may have kept the case from
// showing what it is about, so that a step was not fulfilled, or a witness not seen. It is
// empty where nothing of it can have.
func inTheWay(c fixtures.Case, tr *trace.Trace, changes admission.Changes, ended *report.Ended) string {
	if ended != nil && ended.Awaited == "" {
		return "" // it is something else that went wrong
	}
	for _, one := range changes.Of(admission.Order) {
		if one.Container == "" && tr.Logs() > 0 {
			return "which may be because admission " + one.String()
		}
	}
	pod := lastUndeleted(tr)
	if pod == nil {
		return ""
	}
	if pod.Spec.NodeName == "" && len(changes) > 0 {
		return "the Pod was bound to no node, and " + changes.String()
	}
	whole := ended != nil && slices.ContainsFunc(c.Steps, func(s fixtures.Step) bool {
		return s.Await != nil && s.Await.String() == ended.Awaited && (s.Await.Condition != "" || s.Await.Phase != "")
	})
	for _, name := range changes.Containers() {
		if why := holds(pod, name, whole); why != "" {
			return fmt.Sprintf("container %s, which admission added, %s", name, why)
		}
	}
	return ""
}

// lastUndeleted is the last update of a Pod that was not being deleted; nil if there is none.
func lastUndeleted(tr *trace.Trace) *corev1.Pod {
	for _, e := range slices.Backward(tr.Entries) {
		if e.Pod != nil && e.Pod.DeletionTimestamp == nil && e.Type != trace.Deleted {
			return e.Pod
		}
	}
	return nil
}

// holds says why a container that was added holds up other containers or, where that is what was
// waited for, the whole Pod; empty if it does not.
func holds(pod *corev1.Pod, name string, whole bool) string {
	named := func(c corev1.Container) bool { return c.Name == name }
	i := slices.IndexFunc(pod.Spec.InitContainers, named)
	status := func(list []corev1.ContainerStatus) (s corev1.ContainerStatus) {
		if k := slices.IndexFunc(list, func(s corev1.ContainerStatus) bool { return s.Name == name }); k >= 0 {
			return list[k]
		}
		return s
	}
	if i >= 0 {
		s, always := status(pod.Status.InitContainerStatuses), corev1.ContainerRestartPolicyAlways
		sidecar := pod.Spec.InitContainers[i].RestartPolicy != nil && *pod.Spec.InitContainers[i].RestartPolicy == always
		switch {
		case !sidecar && (s.State.Terminated == nil || s.State.Terminated.ExitCode != 0):
			return "has not ended with 0"
		case sidecar && (s.Started == nil || !*s.Started):
			return "has not started"
		case sidecar && whole && !s.Ready:
			return "is not ready"
		}
		return ""
	}
	k := slices.IndexFunc(pod.Spec.Containers, named)
	if k < 0 {
		return ""
	}
	s, hook := status(pod.Status.ContainerStatuses), pod.Spec.Containers[k].Lifecycle
	started := s.Started != nil && *s.Started
	switch {
	case hook != nil && hook.PostStart != nil && !started && k < len(pod.Spec.Containers)-1:
		return "has not started"
	case whole && !s.Ready:
		return "is not ready"
	case whole && s.State.Running != nil:
		return "runs on"
	}
	return ""
}
