// Package judgedtest has recordings of one case, allowed and not, for the tests of what judges them and of what
// is done with the verdict.
//
// Start at [Recording].
package judgedtest
