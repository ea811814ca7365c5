// Package report holds what came of a run of the suite as one value, from which every
// form of it is written.
//
// A [Report] is what report.json holds. Its runs name the traces by paths that start at
// the folder of the report, so that the folder can be moved, kept and reported again.
// [Run.Load] gives a trace back with the Pod that it is judged by.
//
// # The file
//
// report.json is one JSON object. Its field "report" is the version of the format, which
// is 1. Fields may be added within a version; a program must pass over those that it
// does not know. A field that is absent has the zero value.
//
// Left out on purpose: judging, and what a page or a picture looks like.
//
// Start at [Report] and [Read].
package report
