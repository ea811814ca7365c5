// Package search looks for runs of the executable kubelet that the model is
// wrong about.
//
// [AnyPod] makes up a Pod of any kind. The tests do the rest: one run after
// another is made and judged, and what the model refuses is made shorter before
// it is printed (search_test.go, shorten_test.go; `make search` goes through as many
// as you want). The same number makes the same run.
//
// Properties that hold for every run, by the rules alone, make sure of the
// kubelet before it judges (properties_test.go). Traces that are changed until
// one of them breaks make sure that the judge refuses what no kubelet does
// (mutations_test.go). So do kubelets that are wrong on purpose
// (accepted_test.go), and varied_test.go sees that the runs show all that they
// should.
//
// What is no violation is none either where it was seen otherwise: later, in another
// order, or not to its end (legal_test.go). So it is with runs, and with recordings of real
// kubelets, of which
//
//	go test ./reference/kubelet/search -run 'SeenOtherwise|Beginnings' -args -recordings=FOLDER -changes=100
//
// takes all that are stored below a folder.
//
// Left out on purpose: anything that chooses by itself. Chance is in the tests,
// which say where it begins.
package search
