package observed

import (
	"math"
	"slices"

	"github.com/podorder/podorder/reference/kubelet"
)

// shift is a row of the table of figures that change with a trait. The change is small beside what a busy
// machine does, so it need not show; one in the other direction is not expected.
type shift struct {
	trait  trait
	figure string
	// up: the figure is larger for kubelets with the trait; otherwise it is smaller.
	up bool
}

var shifts = []shift{
	{trait: change(kubelet.RelistOnDemand, "", "PLEGOnDemandRelist"), figure: HookToReady},
	{trait: change(kubelet.RelistOnDemand, "", "PLEGOnDemandRelist"), figure: DeleteToTERM},
	{trait: change(kubelet.AimedRetry, "", ""), figure: ExitToRestart},
}

// least is the smallest shift that counts, in the unit of a figure.
const least = 0.1

// compareFigures compares each figure of neighbouring kubelets over all cases that both have run. Each case
// counts once, with the median of its instances and runs, which depend on each other. It says nothing of a figure
// that has not shifted.
func compareFigures(kubelets []Kubelet, byCase map[string]map[string][]Run) (out []Difference) {
	for _, name := range Figures() {
		var values []map[string][]float64
		for _, k := range kubelets {
			values = append(values, figuresOf(name, k.Name, byCase))
		}
		for i := 1; i < len(kubelets); i++ {
			if d, ok := compareFigure(name, kubelets[i-1], kubelets[i], values[i-1], values[i]); ok {
				out = append(out, d)
			}
		}
	}
	return out
}

// figuresOf are the values of a figure on a kubelet, by case.
func figuresOf(name, on string, byCase map[string]map[string][]Run) map[string][]float64 {
	values := map[string][]float64{}
	for id, runs := range byCase {
		for _, r := range runs[on] {
			for _, f := range r.Behaviour.Figures {
				if f.Name == name {
					values[id] = append(values[id], f.Value)
				}
			}
		}
	}
	return values
}

func compareFigure(name string, older, newer Kubelet, a, b map[string][]float64) (Difference, bool) {
	var before, after, by []float64
	for id, x := range a {
		if y := b[id]; len(y) > 0 {
			u, v := spreadOf("", x).Median, spreadOf("", y).Median
			before, after, by = append(before, u), append(after, v), append(by, v-u)
		}
	}
	if len(by) == 0 {
		return Difference{}, false
	}
	d := Difference{
		Older: older.Name, Newer: newer.Name, Kind: Measured, What: name,
		OnOlder: spreadOf("", before).String(), OnNewer: spreadOf("", after).String(),
	}
	slices.Sort(by)
	z, shown := signedRank(by), math.Abs(median(by)) >= least
	for _, s := range shifts {
		had, has := s.trait.of(older.Model), s.trait.of(newer.Model)
		if s.figure != name || had == has {
			continue
		}
		d.Because = s.trait.cause()
		if up := s.up == has; up && z >= shifted && shown || !up && z <= -shifted && shown {
			d.State = Expected
			return d, true
		}
	}
	d.State = Unexpected
	return d, shown && math.Abs(z) >= shifted
}

// explains is the cause of a difference in what the model leaves open; nil where it knows none.
func explains(f finding, older, newer Kubelet) *Cause { return nil }
