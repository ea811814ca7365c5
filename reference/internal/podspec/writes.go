package podspec

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// WritesAnnotation is the annotation of a Pod that says which of its actors write to the shared
// log: a list of containers ("app"), each with all processes that it declares, and of single
// actors ("network/post start hook"), separated by commas. What it does not name
// writes nothing. Where it is missing, the commands tell.
const WritesAnnotation = "podorder.dev/writes"

// Writing says whether an actor of a container writes a line to the shared log when it runs.
// One that writes may still leave no line: the command was not found, its container died
// first, or the time of a probe ran out.
type Writing uint8

// What is known of it.
const (
	// MayWrite: nothing tells.
	MayWrite Writing = iota
	Writes
	WritesNothing
)

// actors are those of a container, in the order of everything that has an entry for each.
var actors = trace.Actors()

// Writing says whether an actor of the container writes.
func (s *Container) Writing(a trace.Actor) Writing {
	if i := a.Index(); i >= 0 {
		return s.writing[i]
	}
	return WritesNothing
}

// Marks reports whether the process that the actor is surely logs its begin and its end.
func (s *Container) Marks(a trace.Actor) bool {
	i := a.Index()
	return i >= 0 && s.marks[i] && s.writing[i] == Writes
}

// HooksWrite is the Pod in which hooks of which nothing tells whether they write are taken to; ok
// is false where there is none. A hook of container c that wrote tells it by that.
func (p *Pod) HooksWrite(wrote func(c int, a trace.Actor) bool) (of Pod, ok bool) {
	of = *p
	of.Containers = slices.Clone(p.Containers)
	for i := range of.Containers {
		for k, a := range actors {
			if w := &of.Containers[i].writing[k]; a.IsHook() && of.Containers[i].runs[k] && *w == MayWrite && !wrote(i, a) {
				*w, ok = Writes, true
			}
		}
	}
	return of, ok
}

// WritesEachRun reports whether an actor of the container is known to write in each of its
// runs, whatever it finds.
func (s *Container) WritesEachRun(a trace.Actor) bool {
	i := a.Index()
	return i >= 0 && s.writing[i] == Writes && !s.branches[i]
}

// branching are the words by which a shell command does one thing or another.
var branching = []string{"&&", "||", "if", "then", "else", "case"}

// setWriting finds for each actor of a Pod whether it writes. The error is of an annotation
// that names what the Pod does not have.
func (p *Pod) setWriting(pod *corev1.Pod) error {
	list, told := pod.Annotations[WritesAnnotation]
	commands := make([]commands, len(p.Containers))
	logs := map[string]bool{}
	for i := range p.Containers {
		commands[i] = commandsOf(pod, i)
		for _, words := range commands[i] {
			for _, file := range logsOf(words) {
				logs[file] = true
			}
		}
	}
	for i := range p.Containers {
		s := &p.Containers[i]
		for k, a := range actors {
			words := commands[i][k]
			s.runs[k] = a == trace.Main || words != nil
			s.marks[k] = subcommand(words) != nil || a == trace.Main && words == nil && isRecorder(imageOf(pod, i))
			s.branches[k] = slices.ContainsFunc(words, func(w string) bool { return slices.Contains(branching, w) })
			switch {
			case told || !s.Has(a):
				s.writing[k] = WritesNothing
			case words != nil:
				s.writing[k] = writingOf(s.Name, a, words, logs)
			case a == trace.Main && isRecorder(imageOf(pod, i)):
				s.writing[k] = Writes
			case a != trace.Main:
				s.writing[k] = WritesNothing // it asks over the network, or sleeps in the kubelet
			}
		}
	}
	return p.writeAsTold(list, commands)
}

// writeAsTold takes what an annotation names for what writes.
func (p *Pod) writeAsTold(list string, of []commands) error {
	for one := range strings.SplitSeq(list, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		name, actor, single := strings.Cut(one, "/")
		i, ok := p.Index[strings.TrimSpace(name)]
		if !ok {
			return fmt.Errorf("%q: the Pod has no container %q", one, name)
		}
		s, a := &p.Containers[i], trace.Actor(strings.TrimSpace(actor))
		if single && !s.Has(a) {
			return fmt.Errorf("%q: container %s has no %s", one, s.Name, a)
		}
		for k, other := range actors {
			if single && a == other || !single && (other == trace.Main || of[i][k] != nil) {
				s.writing[k] = Writes
			}
		}
	}
	return nil
}

// commands are the words that each actor of a container runs, in the order of actors;
// nil where it runs no command, or the one of its image.
type commands [6][]string

func commandsOf(pod *corev1.Pod, i int) (all commands) {
	c := containerAt(pod, i)
	for k, a := range actors {
		switch a {
		case trace.Main:
			all[k] = words(slices.Concat(c.Command, c.Args))
		case trace.PostStart:
			if c.Lifecycle != nil {
				all[k] = handlerWords(c.Lifecycle.PostStart)
			}
		case trace.PreStop:
			if c.Lifecycle != nil {
				all[k] = handlerWords(c.Lifecycle.PreStop)
			}
		case trace.StartupProbe:
			all[k] = probeWords(c.StartupProbe)
		case trace.ReadinessProbe:
			all[k] = probeWords(c.ReadinessProbe)
		case trace.LivenessProbe:
			all[k] = probeWords(c.LivenessProbe)
		}
	}
	return all
}

func probeWords(p *corev1.Probe) []string {
	if p == nil || p.Exec == nil {
		return nil
	}
	return words(p.Exec.Command)
}

func handlerWords(h *corev1.LifecycleHandler) []string {
	if h == nil || h.Exec == nil {
		return nil
	}
	return words(h.Exec.Command)
}

// containerAt is container i of a Pod, in the order of [Pod.Containers].
func containerAt(pod *corev1.Pod, i int) corev1.Container {
	inits, regulars := len(pod.Spec.InitContainers), len(pod.Spec.Containers)
	switch {
	case i < inits:
		return pod.Spec.InitContainers[i]
	case i < inits+regulars:
		return pod.Spec.Containers[i-inits]
	}
	return corev1.Container(pod.Spec.EphemeralContainers[i-inits-regulars].EphemeralContainerCommon)
}

func imageOf(pod *corev1.Pod, i int) string { return containerAt(pod, i).Image }

// isRecorder reports whether an image is that of the recorder.
func isRecorder(image string) bool {
	name, _, _ := strings.Cut(path.Base(image), ":")
	return name == recorder
}

// recorder is the program of the test Pods (fixtures/recorder): it writes as each actor.
const recorder = "recorder"

// spaced puts spaces around what separates the words of a shell.
var spaced = strings.NewReplacer(">>", " >> ", ";", " ; ", "&&", " && ", "||", " || ", "\n", " ; ")

// words splits the arguments of a command, and what a shell is given in one of them.
// Redirections are words of their own.
func words(args []string) []string {
	var all []string
	for _, arg := range args {
		all = append(all, strings.FieldsFunc(spaced.Replace(arg), unicode.IsSpace)...)
	}
	return all
}

// subcommand is what the recorder is asked to be, with its arguments; nil where words run
// another program.
func subcommand(words []string) []string {
	for i, w := range words {
		if path.Base(w) == recorder && i+1 < len(words) {
			return words[i+1:]
		}
	}
	return nil
}

// valueOf is the argument of a flag; empty where it is not given.
func valueOf(flag string, args []string) string {
	if i := slices.Index(args, flag); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

// logsOf are the files that a command surely uses as the shared log: the one that the recorder is
// given, and those that lines of a log are appended to.
func logsOf(words []string) (files []string) {
	if args := subcommand(words); args != nil {
		files = append(files, valueOf("-log", args))
	}
	if strings.Contains(strings.Join(words, " "), " / ") {
		files = append(files, appended(words)...)
	}
	return slices.DeleteFunc(files, func(f string) bool { return f == "" })
}

// appended are the files that a command appends to.
func appended(words []string) (files []string) {
	for i, w := range words {
		switch {
		case i+1 == len(words):
		case w == ">>":
			files = append(files, unquoted(words[i+1]))
		case w == "-a" && i > 0 && path.Base(words[i-1]) == "tee":
			files = append(files, unquoted(words[i+1]))
		}
	}
	return files
}

func unquoted(word string) string { return strings.Trim(word, `"'`) }

// writingOf says whether a command that actor a of a container runs writes to one of the logs.
func writingOf(name string, a trace.Actor, words []string, logs map[string]bool) Writing {
	if args := subcommand(words); args != nil {
		if as := valueOf("-container", args); strings.ReplaceAll(string(a), " ", "-") != args[0] || as != "" && as != name {
			return WritesNothing // in the name of another
		}
		return Writes
	}
	text, files := strings.Join(words, " "), appended(words)
	switch {
	case strings.Contains(text, name+" / "+string(a)):
		return Writes
	case slices.ContainsFunc(files, func(f string) bool { return logs[f] }) && !strings.Contains(text, " / "):
		return Writes
	case writesNowhere(words):
		return WritesNothing
	}
	return MayWrite
}

// writesNowhere reports whether a command is made of nothing but common programs that write to
// no file by themselves.
func writesNowhere(words []string) bool {
	first := true // a word that names a program
	for _, w := range words {
		w = unquoted(w)
		switch {
		case strings.ContainsAny(w, ">`$") && w != "$?" && w != "$$":
			return false
		case slices.Contains(separators, w):
			first = true
		case !first:
		case slices.Contains(shellWords, w):
		case !slices.Contains(harmless, path.Base(w)):
			return false
		default:
			first = false
		}
	}
	return len(words) > 0
}

// What a shell command is made of, and programs of which it is known what they do.
var (
	separators = []string{";", "&&", "||", "|", "do", "then", "else", "{", "(", "!", "while", "until", "if"}
	shellWords = []string{"sh", "/bin/sh", "bash", "/bin/bash", "ash", "-c", "-ec", "-e", "done", "fi", "}", ")", "exec"}
	harmless   = []string{
		"sleep", "kill", "pkill", "killall", "nginx", "true", "false", ":", "exit", "test", "[", "rm", "touch", "mkdir", "echo", "cat", "grep",
		"pgrep", "curl", "wget", "nc", "nslookup", "ls", "date", "wait", "tail", "usleep", "sync",
	}
)
