// Package saved reads what runs of the suite have left in folders, and has it judged again
// by the present model.
//
// [Read] takes the report of a folder. A folder from before there was report.json has
// verdicts.json instead, and one of a run that was killed has traces alone; both are read
// as well. [Judge] judges each trace again. [Merge] makes one report of several, as of the
// jobs of one workflow, and [Pair] one of two runs that are to be compared.
//
// Left out on purpose: changing anything in the folders.
//
// Start at [Read].
package saved
