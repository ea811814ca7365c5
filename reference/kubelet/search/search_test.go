package search_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/kubelet/search"
	"github.com/podorder/podorder/reference/trace"
)

var (
	firstRun  = flag.Uint64("from", 1, "the first run that TestOddRunsAreAccepted goes through")
	runs      = flag.Int("runs", 500, "how many runs it goes through; one alone is printed")
	family    = flag.Uint64("family", 0, "the family of these runs: in another one all are different")
	oddity    = flag.Int("oddity", 1, "how odd they are: 0 to 3")
	shortenIn = flag.Duration("shorten", 20*time.Second, "for how long a run that is refused is made shorter")
	save      = flag.String("save", "", "a folder to save what is left of it in, as pod.yaml and trace.jsonl")
)

// progress is logged each time that so many runs are done.
const progress = 50_000

// odd makes choices of which some, or many, are the first or the last that there is:
// where everything comes at once, and nothing is spared, models are wrong sooner.
func odd(number uint64) kubelet.Chooser {
	r := rand.New(rand.NewPCG(number, *family))
	oddly := 3 * *oddity * r.IntN(4)
	return func(n int) int {
		if n > 1 && r.IntN(16) < oddly {
			switch r.IntN(4) {
			case 0, 1:
				return 0
			case 2:
				return n - 1
			default:
				return r.IntN(1 + r.IntN(n))
			}
		}
		return r.IntN(n)
	}
}

// judged is a run of a Pod that somebody made all choices for.
type judged struct {
	pod   kubelet.Pod
	trace *trace.Trace
	v     reference.Verdict
}

func runAndJudge(choose kubelet.Chooser) (judged, error) {
	versions := kubelet.Versions()
	version := versions[choose(len(versions))]
	k, err := reference.ParseKubelet(version)
	if err != nil {
		return judged{}, err
	}
	p := search.AnyPod(version, choose)
	tr := kubelet.Run(p, version, choose)
	return judged{p, tr, reference.Check(k, p.Manifest(), tr)}, nil
}

// TestOddRunsAreAccepted is for searching long, on all processors. What it finds is made
// shorter, and can be saved. Such a trace is legal by itself, since a correct kubelet made it.
func TestOddRunsAreAccepted(t *testing.T) {
	assert.Assert(t, *runs > 0, "-runs=%d goes through nothing", *runs)
	assert.Assert(t, *oddity >= 0 && *oddity <= 3, "-oddity=%d is none of 0 to 3", *oddity)
	var next, decided atomic.Uint64
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), *runs) {
		wait.Go(func() {
			for n := next.Add(1); n <= uint64(*runs); n = next.Add(1) {
				j, err := searchRun(t, *firstRun+n-1)
				if err != nil {
					t.Error(err)
					return
				}
				if j.v.Outcome == reference.Pass {
					decided.Add(1)
				}
				if n%progress == 0 {
					t.Logf("%d of %d runs", n, *runs)
				}
			}
		})
	}
	wait.Wait()
	assert.Assert(t, t.Failed() || *runs < 100 || decided.Load() > 0, "nothing was decided of any run")
}

func searchRun(t *testing.T, number uint64) (judged, error) {
	j, err := runAndJudge(odd(number))
	if err != nil {
		return j, err
	}
	if *runs == 1 {
		t.Logf("%+v\n%s", j.pod, file(t, j.trace))
	}
	if !refused(j.v, j.trace) {
		return j, nil
	}
	how := fmt.Sprintf("SEED=%d CHECKS=1", number)
	if *family != 0 || *oddity != 1 {
		how += fmt.Sprintf(" FAMILY=%d ODDITY=%d", *family, *oddity)
	}
	t.Errorf("run %d, kubelet %s (make search %s prints it):\n%s", number, j.trace.Header.Kubelet, how, j.v.Text())
	if *shortenIn <= 0 {
		return j, nil
	}
	short, err := j.shorter(number)
	if err != nil {
		return j, err
	}
	t.Logf("what is left of run %d, kubelet %s:\n%+v\n%s\n%s", number, short.trace.Header.Kubelet, short.pod, file(t, short.trace), short.v.Text())
	if *save == "" {
		return j, nil
	}
	return j, short.save(filepath.Join(*save, fmt.Sprint(number)))
}

// shorter finds a shorter run that is refused for the same rule.
func (j judged) shorter(number uint64) (judged, error) {
	var choices []int
	choose := odd(number)
	if _, err := runAndJudge(func(n int) int {
		choices = append(choices, choose(n))
		return choices[len(choices)-1]
	}); err != nil {
		return judged{}, err
	}
	short := j
	shorten(choices, time.Now().Add(*shortenIn), func(choices []int) (size int, ok bool) {
		other, err := runAndJudge(replay(choices))
		if err != nil || !refused(other.v, other.trace) || other.v.Rule != j.v.Rule {
			return 0, false
		}
		return other.v.Accepted, true
	}, func(choices []int) { short, _ = runAndJudge(replay(choices)) })
	return short.cut()
}

// cut leaves out what is seen later than is needed: a recording may end at any time.
func (j judged) cut() (judged, error) {
	k, err := reference.ParseKubelet(j.trace.Header.Kubelet)
	if err != nil {
		return judged{}, err
	}
	for n := range j.trace.Entries {
		tr := &trace.Trace{Header: j.trace.Header, Entries: j.trace.Entries[:n+1]}
		if v := reference.Check(k, j.pod.Manifest(), tr); refused(v, tr) && v.Rule == j.v.Rule {
			return judged{j.pod, tr, v}, nil
		}
	}
	return j, nil
}

// save writes the run as the stored traces are kept.
func (j judged) save(dir string) error {
	manifest := j.pod.Manifest()
	manifest.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	return writeRun(dir, manifest, j.trace)
}

// writeRun writes a Pod and a trace of it into a folder, as pod.yaml and trace.jsonl.
func writeRun(dir string, manifest *corev1.Pod, tr *trace.Trace) error {
	pod, err := yaml.Marshal(manifest)
	if err != nil {
		return fmt.Errorf("write the Pod of a run: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("save a run: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "pod.yaml"), pod, 0o644); err != nil {
		return fmt.Errorf("save a run: %w", err)
	}
	f, err := os.Create(filepath.Join(dir, "trace.jsonl"))
	if err != nil {
		return fmt.Errorf("save a run: %w", err)
	}
	defer f.Close()
	w, err := trace.NewWriter(f, tr.Header)
	if err != nil {
		return fmt.Errorf("save a run: %w", err)
	}
	for _, e := range tr.Entries {
		if err := w.Write(e); err != nil {
			return fmt.Errorf("save a run: %w", err)
		}
	}
	return f.Close()
}
