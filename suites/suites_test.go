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
