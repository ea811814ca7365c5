// Package suites runs the cases of podorder on a real cluster.
//
//	go test ./suites -count=1 -kubernetes v1.37.2
//
// There is one test function per group of cases and one subtest per case:
// TestHooks/poststart-blocks is fixtures/hooks/poststart-blocks, and TestOwn has
// the cases of -fixtures. With several
// kubelets each has a subtest of its own, TestHooks/poststart-blocks/v1.28.5; a case
// that is skipped on one is a skipped subtest. Everything
// that happens is in package run, which can be tested without a cluster.
//
// Always use -count=1: go test does not know about the cluster when it decides
// whether a cached result is still valid.
package suites
