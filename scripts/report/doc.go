// Command report judges what runs of the suite have saved again, with the model of today
// and without a cluster, and writes the report of it.
//
//	report artifacts
//	report -out merged artifacts-v1.36.4 artifacts-v1.37.0
//	report -against artifacts-of-may artifacts
//
// Each folder is one that a run wrote: the artifacts of this version, or of an earlier one
// that knew only verdicts.json, or of a run that was killed and left its traces alone.
// Several folders become one report, as those of the jobs of one workflow. With -against
// there are two runs, and the report has their kubelets side by side and says what differs.
//
// The report goes into the folder of -out; for one folder that is "report" in it. Nothing
// that a run has recorded is changed, and a folder that holds a run is refused for -out.
// On GitHub the summary is added to that of the step.
//
// -feature-gates says which gates the kubelets had, where an old run does not say so
// itself; -fixtures names the folders of cases that are not built in; -strict lets a known
// fault fail the run.
//
// The table and what differs go to standard output, as at the end of a run, with a line for
// each run that is judged otherwise than then. Exit status: 0, 1 if the run fails by the
// verdicts, or with -against if anything differs that is not to, and 2 for a command line or
// a folder that makes no sense.
//
// Left out on purpose: judging and writing, which packages saved and forms do.
package main
