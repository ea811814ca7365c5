package simulator_test

import (
	"flag"
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/simulator"
)

var (
	firstLife = flag.Uint64("from", 1, "the first life that TestOddLivesAreAccepted goes through")
	lives     = flag.Int("lives", 500, "how many lives it goes through; one alone is printed")
)

// odd makes choices of which some, or many, are the first or the last that there is:
// where everything comes at once, and nothing is spared, models are wrong sooner.
func odd(life uint64) simulator.Chooser {
	r := rand.New(rand.NewPCG(life, 0))
	oddity := r.IntN(4)
	return func(n int) int {
		if n > 1 && r.IntN(16) < 3*oddity {
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

// TestOddLivesAreAccepted is for searching long. What it finds is not made shorter, as
// rapid does with what it draws.
func TestOddLivesAreAccepted(t *testing.T) {
	assert.Assert(t, *lives > 0, "-lives=%d goes through nothing", *lives)
	versions := simulator.Versions()
	for life := *firstLife; life < *firstLife+uint64(*lives); life++ {
		choose := odd(life)
		version := versions[choose(len(versions))]
		k, err := reference.ParseKubelet(version)
		assert.NilError(t, err)
		p := simulator.Draw(version, choose)
		tr := simulator.Run(p, version, choose)
		if *lives == 1 {
			t.Logf("%+v\n%s", p, file(t, tr))
		}
		if v := reference.Check(k, p.Manifest(), tr); refused(v, tr) {
			t.Errorf("life %d, kubelet %s (make search SEED=%d CHECKS=1 prints it):\n%s", life, version, life, v.Text())
		}
	}
}
