// Package forms writes every form of a report into a folder: the value itself, and what is
// made of it for people and for other programs.
//
// The suite writes them when a run ends, and the report command when a saved run is judged
// again, so that both write the same.
//
// Left out on purpose: what a form looks like, which packages report and page say.
//
// Start at [Write].
package forms
