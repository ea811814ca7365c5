package newcase

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podorder/podorder/reference/trace"
)

// annotation has what -tell has, in the manifest itself.
const annotation = "podorder.dev/new-case"

// setting is one flag of the recorder.
type setting struct{ key, value string }

// who is an actor of a container.
type who struct {
	container string
	actor     trace.Actor
}

func (w who) String() string {
	if w.actor == trace.Main {
		return w.container
	}
	return w.container + "/" + string(w.actor)
}

// told are the settings of actors that somebody gave.
type told map[who][]setting

// kind is what an actor is to the recorder, which knows other settings for each.
type kind int

const (
	mainProcess kind = iota
	hookCommand
	hookRequest
	probeCommand
	probeRequest
	probeConnection
)

// settings are what each kind knows (fixtures/recorder).
var settings = map[kind][]string{
	mainProcess:     {"await", "await-http", "poll", "within", "ticks", "every", "create", "idle", "exit", "fail-first", "fail-exit", "fail-idle", "stop-on", "stop-delay", "stop-exit"},
	hookCommand:     {"await", "await-http", "poll", "within", "ticks", "every", "create", "idle", "exit", "fail-first", "fail-exit", "fail-idle", "stop-on", "stop-delay", "stop-exit"},
	hookRequest:     {"await", "within", "ticks", "every", "create", "idle", "exit"},
	probeCommand:    {"await", "await-http", "poll", "within", "idle", "require", "until", "create", "exit", "fail-first", "fail-exit", "fail-after"},
	probeRequest:    {"await", "within", "idle", "require", "until", "create", "exit", "fail-first", "fail-after", "fail-status", "after"},
	probeConnection: {"exit"},
}

var (
	numbers   = []string{"ticks", "exit", "fail-first", "fail-exit", "fail-after", "fail-status", "stop-exit"}
	durations = []string{"poll", "within", "every", "idle", "fail-idle", "stop-delay", "after"}
)

// forever is an idle time without an end.
const forever = "forever"

// parseTold reads "app: idle=20s exit=1; app/readiness probe: fail-first=3". Lines separate as semicolons do.
func parseTold(text string, into told) error {
	for _, one := range strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == '\n' }) {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		name, list, found := strings.Cut(one, ":")
		if !found {
			return fmt.Errorf(`%q: write "CONTAINER: KEY=VALUE" or "CONTAINER/ACTOR: KEY=VALUE"`, one)
		}
		w, err := parseWho(name)
		if err != nil {
			return fmt.Errorf("%q: %w", one, err)
		}
		var all []setting
		for _, word := range strings.Fields(list) {
			key, value, found := strings.Cut(word, "=")
			if !found || key == "" || value == "" {
				return fmt.Errorf("%q: %q is not KEY=VALUE", one, word)
			}
			if err := check(key, value); err != nil {
				return fmt.Errorf("%q: %w", one, err)
			}
			all = append(all, setting{key, value})
		}
		if len(all) == 0 {
			return fmt.Errorf("%q: says nothing; write settings such as idle=20s", one)
		}
		into[w] = all
	}
	return nil
}

func parseWho(text string) (who, error) {
	container, actor, single := strings.Cut(text, "/")
	w := who{strings.TrimSpace(container), trace.Main}
	if single {
		w.actor = trace.Actor(strings.TrimSpace(actor))
	}
	if w.container == "" || !slices.Contains(trace.Actors(), w.actor) {
		var names []string
		for _, a := range trace.Actors() {
			names = append(names, string(a))
		}
		return w, fmt.Errorf("%q is not a container, nor CONTAINER/ACTOR with one of %s", strings.TrimSpace(text), strings.Join(names, ", "))
	}
	return w, nil
}

// check makes sure that the recorder could read a value.
func check(key, value string) error {
	switch {
	case slices.Contains(numbers, key):
		if n, err := strconv.Atoi(value); err != nil || n < 0 {
			return fmt.Errorf("%s=%s is not a number from 0 on", key, value)
		}
	case slices.Contains(durations, key) && (value != forever || !strings.HasSuffix(key, "idle")):
		if d, err := time.ParseDuration(value); err != nil || d < 0 {
			return fmt.Errorf("%s=%s is not a duration such as 2s", key, value)
		}
	}
	return nil
}

// of returns the settings of an actor: the usual ones, changed and completed by what was told.
func (t told) of(w who, is kind, usual ...setting) ([]setting, error) {
	all := slices.Clone(usual)
	for _, s := range t[w] {
		if !slices.Contains(settings[is], s.key) {
			return nil, fmt.Errorf("%s: %q is nothing that it can be told; it knows %s", w, s.key, strings.Join(settings[is], ", "))
		}
		if i := slices.IndexFunc(all, func(u setting) bool { return u.key == s.key }); i >= 0 && i < len(usual) {
			all[i] = s
			continue
		}
		all = append(all, s)
	}
	return all, nil
}

// others names who was told something and is not there.
func (t told) others(there []who) error {
	for _, w := range slices.SortedFunc(maps.Keys(t), func(a, b who) int { return strings.Compare(a.String(), b.String()) }) {
		if !slices.Contains(there, w) {
			var names []string
			for _, other := range there {
				names = append(names, other.String())
			}
			return fmt.Errorf("the Pod has no %s that could be told something; it has %s", w, strings.Join(names, ", "))
		}
	}
	return nil
}

// value returns what a setting says; empty if it is not there.
func value(all []setting, key string) string {
	for _, s := range slices.Backward(all) {
		if s.key == key {
			return s.value
		}
	}
	return ""
}

// number is a value as a number; 0 if it is not there.
func number(all []setting, key string) int {
	n, _ := strconv.Atoi(value(all, key)) // checked when it was read
	return n
}

// length is how long an actor takes by its settings; ok is false if it has no end.
func length(all []setting) (d time.Duration, ok bool) {
	every, err := time.ParseDuration(value(all, "every"))
	if err != nil {
		every = time.Second
	}
	idle, _ := time.ParseDuration(value(all, "idle"))
	return time.Duration(number(all, "ticks"))*every + idle, value(all, "idle") != forever
}
