package observed

import (
	"math"
	"slices"
)

// enough is the evidence that it takes before something that the model leaves open counts as a
// difference: the logarithm of how much likelier the runs are with a probability for each
// kubelet than with one for both.
const enough = 16

// tally counts runs that did one thing, and runs that did the other.
type tally struct{ yes, no int }

func (t tally) runs() int { return t.yes + t.no }

// alike reports whether all runs did the same, and there is one.
func (t tally) alike() bool { return t.runs() > 0 && (t.yes == 0 || t.no == 0) }

func (t tally) plus(o tally) tally { return tally{t.yes + o.yes, t.no + o.no} }

// loglikelihood is that of the runs with the probability that fits them best.
func (t tally) loglikelihood() float64 {
	sum := 0.0
	for _, n := range []int{t.yes, t.no} {
		if n > 0 {
			sum += float64(n) * math.Log(float64(n)/float64(t.runs()))
		}
	}
	return sum
}

// evidence is how much speaks for a difference between the two.
func evidence(a, b tally) float64 {
	return a.loglikelihood() + b.loglikelihood() - a.plus(b).loglikelihood()
}

// stretch is the evidence for a difference between place i-1 and place i of a row of kubelets. On both
// ends those count that lie beyond, as long as all did the same.
func stretch(row []tally, i int) float64 {
	a, b := row[i-1], row[i]
	if a.runs() == 0 || b.runs() == 0 {
		return 0
	}
	for k := i - 2; k >= 0 && a.alike() && (row[k].runs() == 0 || a.plus(row[k]).alike()); k-- {
		a = a.plus(row[k])
	}
	for k := i + 1; k < len(row) && b.alike() && (row[k].runs() == 0 || b.plus(row[k]).alike()); k++ {
		b = b.plus(row[k])
	}
	return evidence(a, b)
}

// signedRank is Wilcoxon's test of pairs: how many standard deviations the ranks of the differences
// lie from where they would if both signs were equally likely. Differences of 0 do not count.
func signedRank(differences []float64) float64 {
	var d []float64
	for _, x := range differences {
		if x != 0 {
			d = append(d, x)
		}
	}
	if len(d) == 0 {
		return 0
	}
	slices.SortFunc(d, func(a, b float64) int { return compareFloat(math.Abs(a), math.Abs(b)) })
	var sum, squares float64
	for i := 0; i < len(d); {
		j := i
		for j < len(d) && math.Abs(d[j]) == math.Abs(d[i]) {
			j++
		}
		rank := float64(i+j+1) / 2 // the mean of the ranks i+1 to j
		for ; i < j; i++ {
			squares += rank * rank
			if d[i] > 0 {
				sum += rank
			} else {
				sum -= rank
			}
		}
	}
	return sum / math.Sqrt(squares)
}

// rankSum is the test of Mann and Whitney: how many standard deviations the second numbers lie above the first.
func rankSum(a, b []float64) float64 {
	type value struct {
		x      float64
		second bool
	}
	var all []value
	for _, x := range a {
		all = append(all, value{x, false})
	}
	for _, x := range b {
		all = append(all, value{x, true})
	}
	slices.SortFunc(all, func(a, b value) int { return compareFloat(a.x, b.x) })
	n, n1, n2 := float64(len(all)), float64(len(a)), float64(len(b))
	var sum, ties float64
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].x == all[i].x {
			j++
		}
		rank, t := float64(i+j+1)/2, float64(j-i)
		ties += t*t*t - t
		for ; i < j; i++ {
			if all[i].second {
				sum += rank
			}
		}
	}
	variance := n1 * n2 / 12 * (n + 1 - ties/(n*(n-1)))
	if variance <= 0 {
		return 0
	}
	return (sum - n2*(n+1)/2) / math.Sqrt(variance)
}
