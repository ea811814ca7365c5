//go:build unix

package suites

import (
	"os"
	"testing"

	"github.com/podorder/podorder/suites/run"
)

// suite is the run that the test functions share, as TestMain has no other way
// to hand it to them.
var suite = run.New()

func TestMain(m *testing.M) { os.Exit(suite.Main(m)) }

func TestArticle(t *testing.T) { suite.Group(t, "article") }

func TestHooks(t *testing.T) { suite.Group(t, "hooks") }

func TestInit(t *testing.T) { suite.Group(t, "init") }

func TestNode(t *testing.T) { suite.Group(t, "node") }

// TestOwn runs the cases of -fixtures.
func TestOwn(t *testing.T) { suite.Group(t, "own") }

func TestPods(t *testing.T) { suite.Group(t, "pods") }

func TestProbes(t *testing.T) { suite.Group(t, "probes") }

func TestRestart(t *testing.T) { suite.Group(t, "restart") }

func TestSidecar(t *testing.T) { suite.Group(t, "sidecar") }

func TestStart(t *testing.T) { suite.Group(t, "start") }

func TestStatic(t *testing.T) { suite.Group(t, "static") }

func TestStatus(t *testing.T) { suite.Group(t, "status") }

func TestTerminate(t *testing.T) { suite.Group(t, "terminate") }

func TestWorkloads(t *testing.T) { suite.Group(t, "workloads") }
