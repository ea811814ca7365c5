package reference_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/trace"
)

// TestLogAlone judges the logs of testdata/alone. A script begins with the matter. Its sections,
// in the form of the scripts of the rules, say what the verdict must be:
//
//	pass                       a pass
//	pass ACT                   the same, where the lines show that this act has happened
//	inconclusive RULE ACT...   the marked line breaks the rule, unless these acts have happened
//	violation RULE             the marked line breaks it whatever was done
//
// A line "known" says what is known beside the log: "grace=5s", "deleted=9s" after its
// first line, or "nothing", which is to be assumed then. Each log is judged with stamps of whole
// seconds as well: what passes and what is a violation may then be inconclusive or pass,
// since such stamps say less, but what passes is no violation. It is a census of the acts: each
// is the one that explains some log.
func TestLogAlone(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join("testdata", "alone", "*.txt"))
	assert.NilError(t, err)
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(t, err)
	explains := map[string]bool{}
	for _, path := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			assert.NilError(t, err)
			assert.Assert(t, len(bytes.TrimSpace(a.Comment)) > 0, "the script does not say its matter")
			var podScript string
			for _, f := range a.Files {
				words := strings.Fields(f.Name)
				if words[0] == "pod" {
					podScript = string(f.Data)
					continue
				}
				pod := parsePodScript(t, podScript)
				known, script := knownBeside(t, string(f.Data))
				tr, mark := parseTraceScript(t, pod, k.String(), script)
				log, line := onlyLog(tr, mark)
				v := known.Check(k, pod, log)
				where := "-- " + f.Name + " --\n" + string(f.Data) + v.Text()
				assert.Equal(t, v.Outcome.String(), words[0], where)
				assert.Equal(t, v.Line, line, where)
				acts := words[1:]
				if words[0] != "pass" {
					assert.Equal(t, v.Rule, words[1], where)
					acts = acts[1:]
				}
				assert.DeepEqual(t, v.Explained, sentences(t, words[0] == "inconclusive", acts))
				for _, s := range sentences(t, words[0] == "pass", acts) {
					assert.Assert(t, slices.Contains(v.Assumed, s+", as the lines show"), where)
				}
				if len(acts) == 1 {
					explains[acts[0]] = true
				}
				if words[0] == "pass" {
					v := known.Check(k, pod, inWholeSeconds(t, log))
					assert.Assert(t, v.Outcome != reference.Violation, "in whole seconds:\n%s", v.Text())
				}
				again := known.CheckLog(k, pod, strings.NewReader(strings.Join(logOf(t, log), "\n")))
				assert.DeepEqual(t, again, v)
			}
		})
	}
	for _, a := range record.Acts() {
		assert.Check(t, explains[a.Name()], "no log is explained by %s alone", a.Name())
	}
}

// sentences are what a verdict says of acts; nil if it is not to.
func sentences(t *testing.T, says bool, names []string) (all []string) {
	t.Helper()
	for _, name := range names {
		i := slices.IndexFunc(record.Acts(), func(a record.Act) bool { return a.Name() == name })
		assert.Assert(t, i >= 0, "there is no act %s", name)
		if says {
			all = append(all, record.Acts()[i].String())
		}
	}
	return all
}

// knownBeside reads the line of a section that says what is known, and returns the others.
func knownBeside(t *testing.T, section string) (known reference.LogKnown, script string) {
	t.Helper()
	var others strings.Builder
	for line := range strings.Lines(section) {
		words, ok := strings.CutPrefix(strings.TrimSpace(line), "known ")
		if !ok {
			others.WriteString(line)
			continue
		}
		what, value, _ := strings.Cut(words, "=")
		if what == "nothing" {
			known.Nothing = true
			continue
		}
		d, err := time.ParseDuration(value)
		assert.NilError(t, err)
		switch what {
		case "grace":
			known.Grace = &d
		case "deleted":
			known.Deleted = epoch.Add(d)
		default:
			t.Fatalf("nobody knows %q", words)
		}
	}
	return known, others.String()
}

// inWholeSeconds is the log with the stamps that date(1) would have written.
func inWholeSeconds(t *testing.T, log *trace.Trace) *trace.Trace {
	t.Helper()
	whole := &trace.Trace{Header: log.Header, LogOnly: true}
	for _, e := range log.Entries {
		l, err := trace.ParseLine(*e.Log)
		assert.NilError(t, err)
		_, rest, _ := strings.Cut(*e.Log, "Z: ")
		text := l.Time.UTC().Format("Mon Jan _2 15:04:05 UTC 2006") + ": " + rest
		whole.Entries = append(whole.Entries, trace.Entry{Log: &text, Line: e.Line})
	}
	return whole
}
