// Command upstream compares the table of upstream tests, suites/upstream/relations.txt, with the sources
// of Kubernetes, in both directions.
//
//	go run ./scripts/upstream                       # of the version that the table names
//	go run ./scripts/upstream -kubernetes v1.38.0   # of another one: what to do to raise it
//
// It needs the module k8s.io/kubernetes, which the go command downloads. Exit status: 0 they agree, 1 they do
// not, 2 usage or no sources.
package main
