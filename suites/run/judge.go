package run

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/harness"
	"github.com/podorder/podorder/harness/record"
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/admission"
	"github.com/podorder/podorder/reference/trace"
)

// judgement is what came of a recording.
type judgement struct {
	// verdict is the zero value where the case was skipped.
	verdict reference.Verdict
	// skipped says why the case cannot be judged by what was recorded.
	skipped string
	// changes are what somebody else made of the Pod on its way into the cluster.
	changes admission.Changes
}

// judge judges a case by the Pod that the API server admitted. ran is what went wrong
// while it was run; what was recorded until then is judged all the same, since a fault
// of the kubelet is the likeliest reason for a step that never ended. gates are those of
// the kubelet that differ from its defaults.
//
// Where somebody else has made another Pod of it, the kubelet is not to blame for what
// that one does, nor does it show what the case is about: such a case is skipped.
func judge(c fixtures.Case, gates string, tr *trace.Trace, ran error) (j judgement) {
	broken := func(err error) judgement {
		return judgement{verdict: reference.Verdict{Outcome: reference.Broken, Reason: err.Error()}}
	}
	if tr == nil {
		if ran == nil {
			ran = errors.New("nothing was recorded")
		}
		return broken(ran)
	}
	manifest, err := reference.ParsePod(c.Manifest)
	if err != nil {
		return broken(fmt.Errorf("pod.yaml of the case: %w", err))
	}
	kubelet, err := reference.ParseKubelet(tr.Header.Kubelet)
	if err != nil {
		return broken(errors.Join(ran, fmt.Errorf("header of the trace: %w", err)))
	}
	if kubelet, err = kubelet.WithGates(gates); err != nil {
		return broken(fmt.Errorf("-feature-gates: %w", err))
	}
	if kubelet, err = kubelet.Configured(tr.Header.Settings); err != nil {
		return broken(fmt.Errorf("settings in the header of the trace: %w", err))
	}
	admitted := tr.Admitted()
	if admitted != nil {
		j.changes = admission.Compare(manifest, admitted)
	}
	if other := j.changes.Of(admission.Case); len(other) > 0 {
		j.skipped = "admission changed the Pod: " + strings.Join(other.List(), ", ")
		return j
	}
	v := reference.CheckTrace(kubelet, tr)
	if c.Writes != nil && admitted != nil {
		v = reference.Check(kubelet, reference.WithWrites(admitted, strings.Join(c.Writes, ",")), tr)
	}
	if unknown := unknownTo(kubelet, admitted); len(unknown) > 0 && len(unknownTo(kubelet, manifest)) == 0 {
		j.skipped = "admission added what the model does not know: " + strings.Join(byName(unknown, admitted), ", ")
		return j
	}
	// Where nothing was written, nothing of what is shown was refused either.
	allowed := v.Outcome == reference.Pass || v.Outcome == reference.Inconclusive && tr.Logs() == 0
	v = v.Witnessed(tr, c.Witness)
	// In another Pod a known fault may have no occasion to show.
	if ran == nil && len(j.changes.Of(admission.Order)) == 0 {
		v = v.Due(c.Rules)
	}
	if ran != nil {
		v = unfinished(v, ran)
	}
	if allowed && v.Outcome == reference.Inconclusive {
		if why := inTheWay(c, tr, j.changes, ran); why != "" {
			j.skipped = why + "; " + v.Reason
			return j
		}
	}
	j.verdict = v
	return j
}

// decides says why what was recorded so far decides a case that still waits: a kubelet that
// has broken a rule is not acquitted by what it does next.
func decides(c fixtures.Case, gates string, soFar *trace.Trace) string {
	j := judge(c, gates, soFar, nil)
	if j.skipped != "" || j.verdict.Outcome != reference.Violation {
		return ""
	}
	return fmt.Sprintf("%s, line %d", j.verdict.Rule, j.verdict.Line)
}

// unfinished is the verdict of a run that did not end well.
func unfinished(v reference.Verdict, ran error) reference.Verdict {
	if decided := new(harness.DecidedError); errors.As(ran, &decided) {
		switch v.Outcome {
		case reference.Violation, reference.Unmodelled, reference.Broken:
			return v
		}
		v.Outcome = reference.Inconclusive
		v.Reason = "the case was ended early for what the rest of the recording explains: " + decided.Why
		return v
	}
	switch v.Outcome {
	case reference.Violation, reference.Known, reference.Unmodelled, reference.Broken:
		v.Reason = strings.TrimPrefix(v.Reason+"; the run did not end well either: "+ran.Error(), "; ")
	default:
		v.Outcome = reference.Inconclusive
		v.Reason = "the run did not end well: " + ran.Error()
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
func inTheWay(c fixtures.Case, tr *trace.Trace, changes admission.Changes, ran error) string {
	var wanted *record.AwaitError
	if ran != nil && !errors.As(ran, &wanted) {
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
	whole := wanted != nil && slices.ContainsFunc(c.Steps, func(s fixtures.Step) bool {
		return s.Await != nil && s.Await.String() == wanted.What && (s.Await.Condition != "" || s.Await.Phase != "")
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
