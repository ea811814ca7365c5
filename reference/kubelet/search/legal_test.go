package search_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/trace"
)

// A recording that is no violation is none either where the same happened, but was seen otherwise: an
// Event came later, a line was read late, a process was slower to write, or the recording ended
// sooner. These tests change recordings in such ways, by rules that know nothing of the model
// (arrival_test.go, writers_test.go), and ask the judge again. What it refuses then is a false alarm, or a change that is
// not legal after all: whoever finds one decides that by the sources of the kubelet.

var (
	recordings = flag.String("recordings", "", "folders with recordings (trace.jsonl in any of their folders), separated by commas, of which TestRecordingsSeenOtherwise takes those that are no violations; those of testdata if it is not given")
	changes    = flag.Int("changes", 0, "how often each recording and each run is changed; a few times if it is not given")
	changedBy  = flag.String("by", "", "the names of the changes that are made, separated by commas; all that the judge stands, if it is not given")
)

// recording is what is changed. Its entries are its own; the Pods and the texts that they point to are not.
type recording struct {
	name    string
	kubelet reference.Kubelet
	pod     *corev1.Pod
	tr      *trace.Trace
}

func (r recording) clone() recording {
	r.tr = &trace.Trace{Header: r.tr.Header, Entries: slices.Clone(r.tr.Entries)}
	return r
}

func (r recording) verdict() reference.Verdict { return reference.Check(r.kubelet, r.pod, r.tr) }

// number gives the entries the lines that they would have in a file.
func (r recording) number() {
	for i := range r.tr.Entries {
		r.tr.Entries[i].Line = i + 2
	}
}

// alarm reports whether a verdict blames the kubelet.
func alarm(v reference.Verdict) bool {
	return v.Outcome == reference.Violation || v.Outcome == reference.Broken || v.Outcome == reference.Fixed
}

// change is a way in which the same may have been seen otherwise. It reports false where it changes nothing.
type change func(r *recording, choose kubelet.Chooser) bool

// legal are the changes.
var legal = map[string]change{
	"events-late":     eventsLate,
	"events-on-way":   eventsOnTheirWay,
	"events-lost":     eventsLost,
	"updates-late":    updatesLate,
	"updates-merged":  updatesMerged,
	"lines-late":      linesLate,
	"written-later":   writtenLater,
	"written-sooner":  writtenSooner,
	"without-numbers": withoutNumbers,
	"whole-seconds":   wholeSeconds,
	"plain-writers":   plainWriters,
	"slower-start":    slowerStart,
}

// harder are changes that the judge does not stand yet: without numbers it takes a line for one of the newest instance that it
// has seen, and where one of them has left no line, or a hook writes first, that may be wrong. They are made where -by names them.
var harder = map[string]change{
	"without-numbers-of-restarts": withoutNumbersOfRestarts,
}

// changed is the recording after a few changes, with the names of those that changed something.
func (r recording) changed(names []string, choose kubelet.Chooser) (recording, string) {
	r = r.clone()
	var done []string
	for range 1 + choose(3) {
		name := names[choose(len(names))]
		by := legal[name]
		if by == nil {
			by = harder[name]
		}
		if !slices.Contains(done, name) && by(&r, choose) {
			done = append(done, name)
		}
	}
	r.number()
	return r, strings.Join(done, ", ")
}

// until is the recording as it would be, had it ended at some time: with all that was written by then, and what had come. It ends
// with an act if the case is ended for what it has seen.
func (r recording) until(at time.Time, act *trace.Act) recording {
	r.tr = &trace.Trace{Header: r.tr.Header, Entries: slices.DeleteFunc(slices.Clone(r.tr.Entries), func(e trace.Entry) bool {
		if e.Log != nil {
			if l, err := trace.ParseLine(*e.Log); err == nil {
				return writtenBy(l).After(at)
			}
		}
		return e.At.After(at)
	})}
	for i := range r.tr.Entries {
		if e := &r.tr.Entries[i]; e.At.After(at) {
			e.At = at // the rest of the log was read in time
		}
	}
	if act != nil {
		r.tr.Entries = append(r.tr.Entries, trace.Entry{At: at, Did: act})
	}
	r.sort()
	r.number()
	return r
}

// writtenBy is when a line was written. Where the second alone is known, it is taken for the earliest time, and for the
// latest if the container was being stopped: the recording knows why.
func writtenBy(l trace.Line) time.Time {
	if l.Whole && (l.Mark.Kind == trace.Signal || l.Actor == trace.PreStop) {
		return l.Time.Add(time.Second)
	}
	return l.Time
}

// endedBySomebody reports whether the Pod was deleted by nobody that the recording knows, as that of a Deployment is: only an update tells
// that, which may come after the containers were stopped, and a recording does not end in between.
func (r recording) endedBySomebody() bool {
	did := func(e trace.Entry) bool {
		return e.Did != nil && (e.Did.Name == trace.ActDelete || e.Did.Name == trace.ActEvict)
	}
	deleted := func(e trace.Entry) bool { return e.Pod != nil && e.Pod.DeletionTimestamp != nil }
	return slices.ContainsFunc(r.tr.Entries, deleted) && !slices.ContainsFunc(r.tr.Entries, did)
}

// soFar is what a case sees of the recording when it looks at it at some time: what had come a little before, and the lines that were
// written by then.
func (r recording) soFar(now time.Time) recording {
	at := now.Add(-behind)
	r.tr = &trace.Trace{Header: r.tr.Header, Entries: slices.DeleteFunc(slices.Clone(r.tr.Entries), func(e trace.Entry) bool {
		if !e.At.After(at) {
			return false
		}
		if e.Log == nil || e.At.After(now) {
			return true
		}
		l, err := trace.ParseLine(*e.Log)
		return err != nil || l.Time.After(at)
	})}
	r.tr.Entries = append(r.tr.Entries, trace.Entry{At: at, Did: &trace.Act{Name: trace.ActLook, Param: []byte("{}")}})
	r.number()
	return r
}

// lookEvery is how often a case looks, behind how far back, and looks how often it has to see the same (harness/decide.go).
const (
	lookEvery = 2 * time.Second
	behind    = 5 * time.Second
	looks     = 5
)

// decided looks at a recording as a case does that waits all the time, and returns what it would be ended with; ok is false if
// it never would.
func (r recording) decided(choose kubelet.Chooser) (short recording, v reference.Verdict, ok bool) {
	if len(r.tr.Entries) == 0 {
		return r, v, false
	}
	last := r.tr.Entries[len(r.tr.Entries)-1].At
	at := r.tr.Entries[0].At.Add(behind + time.Duration(choose(2000))*time.Millisecond)
	for why, same := "", 0; at.Before(last); at = at.Add(lookEvery) {
		short = r.soFar(at)
		v = short.verdict()
		now := ""
		if v.Outcome == reference.Violation {
			now = fmt.Sprintf("%s, line %d", v.Rule, v.Line)
		}
		if now != why {
			why, same = now, 0
		}
		if same++; now != "" && same == looks {
			return short, v, true
		}
	}
	return short, v, false
}

// stored reads the recordings of real kubelets below some folders, those of testdata if none is named.
func stored(t *testing.T, folders string) (all []recording) {
	if folders == "" {
		folders = filepath.Join("..", "..", "testdata")
	}
	for folder := range strings.SplitSeq(folders, ",") {
		assert.NilError(t, filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(d.Name(), "trace.jsonl") {
				return err
			}
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			tr, err := trace.Read(f)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			r := recording{name: path, pod: tr.Admitted(), tr: tr}
			if r.pod == nil || r.pod.Namespace == "" {
				return nil // a run of the executable kubelet, of which only what shows a fault was kept
			}
			if r.kubelet, err = reference.ParseKubelet(tr.Header.Kubelet); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if r.kubelet, err = r.kubelet.Configured(tr.Header.Settings); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			all = append(all, r)
			return nil
		}))
	}
	return all
}

// alarms judges the recording after some changes, and prints what is refused.
func (r recording) alarms(t *testing.T, seed uint64, names []string, changes int) (judged int) {
	for n := range uint64(changes) {
		rnd := rand.New(rand.NewPCG(seed, n))
		choose := func(n int) int { return rnd.IntN(n) }
		what := fmt.Sprintf("%s, seed %d, change %d: ", r.name, seed, n)
		if n > 0 && choose(4) == 0 && !r.endedBySomebody() {
			short := r.until(r.tr.Entries[choose(len(r.tr.Entries))].At.Add(time.Duration(choose(100))*time.Millisecond), nil)
			judged++
			if v := short.verdict(); alarm(v) {
				short.report(t, what+"ended", v)
				continue
			}
		}
		other, how := r.changed(names, choose)
		if how == "" {
			continue
		}
		judged++
		if v := other.verdict(); alarm(v) {
			other.report(t, what+how, v)
			continue
		}
		if choose(4) == 0 {
			judged++
			if short, v, ok := other.decided(choose); ok {
				short.report(t, what+how+"; looked at", v)
			}
		}
	}
	return judged
}

func (r recording) report(t *testing.T, what string, v reference.Verdict) {
	t.Helper()
	t.Errorf("ALARM %s %s\n%s", v.Rule, what, v.Text())
	if *save != "" {
		dir := filepath.Join(*save, strings.NewReplacer("/", "_", " ", "-", ":", "", ",", "", ";", "").Replace(what))
		if err := writeRun(dir, r.pod, r.tr); err != nil {
			t.Error(err)
		}
	}
}

// namesOfChanges are those of the changes that are made.
func namesOfChanges(t *testing.T) []string {
	if *changedBy == "" {
		return slices.Sorted(maps.Keys(legal))
	}
	names := strings.Split(*changedBy, ",")
	for _, name := range names {
		assert.Assert(t, legal[name] != nil || harder[name] != nil, "-by: there is no change %q", name)
	}
	return names
}

// times is how often something is changed: so many times if the command line does not say.
func times(few int) int {
	if *changes > 0 {
		return *changes
	}
	return few
}

// each does something with every recording, on all processors.
func each[T any](all []T, do func(n int, x T)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for n := int(next.Add(1)) - 1; n < len(all); n = int(next.Add(1)) - 1 {
				do(n, all[n])
			}
		})
	}
	wait.Wait()
}

// TestRecordingsSeenOtherwise: what was recorded of real kubelets and is no violation is none either where
// it is seen otherwise.
func TestRecordingsSeenOtherwise(t *testing.T) {
	var judged, green atomic.Int64
	names := namesOfChanges(t)
	each(stored(t, *recordings), func(n int, r recording) {
		if alarm(r.verdict()) {
			return
		}
		green.Add(1)
		judged.Add(int64(r.alarms(t, *firstRun, names, times(3))))
	})
	t.Logf("%d recordings, judged %d times", green.Load(), judged.Load())
	assert.Assert(t, judged.Load() > 0)
}

// TestBeginningsOfRecordings: no beginning of a recording is a violation if the whole is none, and no case is ended for
// what the rest of its recording explains.
func TestBeginningsOfRecordings(t *testing.T) {
	each(stored(t, *recordings), func(_ int, r recording) {
		if alarm(r.verdict()) {
			return
		}
		for n, e := range r.tr.Entries {
			if r.endedBySomebody() {
				break
			}
			if short := r.until(e.At, nil); alarm(short.verdict()) {
				short.report(t, fmt.Sprintf("%s, the first %d entries", r.name, n), short.verdict())
				break
			}
		}
		if short, v, ok := r.decided(func(int) int { return 0 }); ok {
			short.report(t, r.name+", looked at", v)
		}
	})
}

// TestRunsSeenOtherwise does the same to runs of the executable kubelet, and makes those shorter that are refused then.
func TestRunsSeenOtherwise(t *testing.T) {
	var judged atomic.Int64
	numbers := make([]uint64, *runs)
	for n := range numbers {
		numbers[n] = *firstRun + uint64(n)
	}
	names := namesOfChanges(t)
	each(numbers, func(_ int, number uint64) {
		for n := range uint64(times(1)) {
			choose := both(odd(number), n)
			r, how, err := otherwise(choose, names)
			if err != nil {
				t.Error(err)
				return
			}
			judged.Add(1)
			v := r.verdict()
			if how == "" || !alarm(v) {
				continue
			}
			if r, how, err = shorterOtherwise(both(odd(number), n), names, v.Rule); err != nil {
				t.Error(err)
			}
			r.report(t, fmt.Sprintf("run %d of family %d, oddity %d, change %d, kubelet %s: %s", number, *family, *oddity, n, r.kubelet, how), r.verdict())
			t.Logf("%s", kubelet.Timeline(r.tr))
		}
	})
	t.Logf("judged %d times", judged.Load())
	assert.Assert(t, judged.Load() > 0)
}

// both makes the choices of a run, and other ones for each change of it.
func both(run kubelet.Chooser, change uint64) func() kubelet.Chooser {
	first := true
	return func() kubelet.Chooser {
		if first {
			first = false
			return run
		}
		rnd := rand.New(rand.NewPCG(change, 1))
		return func(n int) int { return rnd.IntN(n) }
	}
}

// otherwise makes a run that is accepted, and changes it; choose is asked for a Chooser of the run, and of the changes.
func otherwise(choose func() kubelet.Chooser, names []string) (r recording, how string, err error) {
	j, err := runAndJudge(choose())
	if err != nil || refused(j.v, j.trace) {
		return r, "", err // another test says what is refused
	}
	k, err := reference.ParseKubelet(j.trace.Header.Kubelet)
	if err != nil {
		return r, "", err
	}
	r, how = recording{"", k, j.pod.Manifest(), j.trace}.changed(names, choose())
	return r, how, nil
}

// shorterOtherwise finds a shorter run that is refused for the same rule after its changes.
func shorterOtherwise(choose func() kubelet.Chooser, names []string, rule string) (r recording, how string, err error) {
	var choices [2][]int
	which := -1
	if _, _, err := otherwise(func() kubelet.Chooser {
		which++
		of, c := &choices[which], choose()
		return func(n int) int {
			*of = append(*of, c(n))
			return (*of)[len(*of)-1]
		}
	}, names); err != nil {
		return r, "", err
	}
	again := func() (recording, string, error) {
		which := -1
		return otherwise(func() kubelet.Chooser { which++; return replay(choices[which]) }, names)
	}
	for range 2 {
		for which := range choices {
			best := choices[which]
			shorten(choices[which], time.Now().Add(*shortenIn/4), func(other []int) (size int, ok bool) {
				choices[which] = other
				r, how, err := again()
				if err != nil || how == "" {
					return 0, false
				}
				v := r.verdict()
				return len(r.tr.Entries), alarm(v) && v.Rule == rule
			}, func(other []int) { best = other })
			choices[which] = best
		}
	}
	return again()
}
