// Package reporting is the command report: see there what it does. The command podorder, which go install
// gives a name of its own, has it as well.
//
// Start at Run.
package reporting
