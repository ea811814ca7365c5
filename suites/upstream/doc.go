// Package upstream relates the tests of Kubernetes' own node suite that concern
// order to the cases of podorder: for each test the case that covers it, or the
// reason why none does. The table is relations.txt.
//
// A relation is one such test, named by the texts of its Describe, Context, When and
// It, joined by " > ". Nothing else of Kubernetes' sources is in the table.
//
// # What counts as covered
//
// A case covers a relation if its Pod brings about what the test brings about, and the judge refuses a
// kubelet that breaks what the test asserts; refused.txt of the case has its trace. Most of what is due
// (that a container is started again, that a hook is run at all, that two run at the same time) cannot be refused by
// its absence: there the cases only show it ("seen"), as a kubelet that does not do it leaves them without
// a witness, and inconclusive. That is not covered, and counted apart. Where a test asserts a final phase, it is covered if
// another one is refused. Cases that show what the test asserts, and would accept the opposite as
// well, cover nothing: the reason "free" names them. Where tests differ in the restartPolicy of
// their Pods alone, each takes a case with that policy. What a test asserts beside its
// relation, and no case holds against a kubelet, follows "but".
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
// Each file has a pin, the number of its tests and a digest over their names, so that the table cannot lose
// one unnoticed. [Compare] reads the sources of Kubernetes, in both directions: a test or a file that
// the table lacks, or has too much, is reported with the lines to paste. The sources are the module
// k8s.io/kubernetes, so this is no test of this package but a command, scripts/upstream, which fails where
// they cannot be had.
//
// Left out on purpose: parameters of table tests in subtrees, which no listed file has, and any
// reading of what a test does. Whether a case covers a test is for a reviewer to say.
//
// Start at [Relations]; relations.txt says how it is written.
package upstream
