// Package upstream relates the tests of Kubernetes' own node suite that concern
// order to the cases of podorder: for each test the case that covers it, or the
// reason why none does. The table is relations.txt.
//
// A relation is one such test, named by the texts of its Describe, Context, When and
// It, joined by " > ". Nothing else of Kubernetes' sources is in the table.
//
// # What counts as covered
//
// A case covers a relation if its Pod does what the Pod of the test does, and the judge refuses a
// kubelet that breaks what the test asserts. refused.txt of the case has the trace of such a kubelet.
//
// What a kubelet has to do and does not is refused where a rule says by when it is due: that a hook runs, a
// container is restarted, a failed probe stops it. Where none does, the cases only show it
// ("seen"): without it they lack a witness and are inconclusive. That does not count as covered, and is
// counted separately. A final phase that a test asserts is covered if any other phase is refused. Cases that
// show what the test asserts, but would accept the opposite as well, cover nothing: the reason "free" names
// them. If tests differ only in the restartPolicy of their Pods, each needs a case with that policy. What a
// test asserts besides, and no case tests, follows "but".
//
// # Which tests
//
// The files that concern the order of starts, hooks, probes, restarts and stops within
// one Pod, and the status that shows it, are listed with all of their tests. Those of their tests
// that concern something else are marked so, and count for nothing. Every other file of the node suite
// (test/e2e_node, test/e2e/common/node, test/e2e/node) is set aside with what it is about.
//
// # How it is kept complete
//
// Each file has a pin, the number of its tests and a digest of their names, so that the table cannot lose
// a test without notice. [Compare] compares the table with the sources of Kubernetes: it reports every test or
// file that the table lacks, or that the sources no longer have, with the lines to paste. The sources are the
// module k8s.io/kubernetes. Since they may not be available, this is a command, scripts/upstream, and not a
// test of this package.
//
// Left out on purpose: parameters of table tests in subtrees, which no listed file has, and any
// reading of what a test does. Whether a case covers a test is for a reviewer to say.
//
// # What was tried
//
// A trace in refused.txt is written by hand. tried.txt has the cases that were run on real kubelets which were
// broken on purpose, and refused there.
//
// Start at [Relations]; relations.txt says how it is written. [Tried] is the other table.
package upstream
