// Package newcase is the command new-case: see there what it does. The command podorder, which go install
// gives a name of its own, has it as well.
//
// Start at Run.
package newcase
