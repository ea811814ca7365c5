// Command judge judges a saved log or trace without a cluster.
//
//	judge -trace trace.jsonl
//	judge -kubernetes v1.37.2 -pod pod.yaml -log message
//
// A trace names its kubelet and, if it is of a bundled case, its case; the
// flags override both. The Pod is the first Pod object in the trace, which is what
// the API server admitted; where a trace holds none, it comes from -pod, or from the
// case that -case names. Only a case has witnesses, so only with a case a pass proves that what the
// case is about did happen. Where a manifest or a case has another Pod than
// the trace, because somebody else added something or the case has changed since, a
// line on standard error says in what.
//
// A log alone is judged by what is ordinary: a deletion, if any, had the Pod's own grace
// period, and nothing befell the node. If that refuses it, and acts that no line shows
// would explain it, it is inconclusive and the verdict names them. -deleted-at and -grace say
// what is known of the deletion, and with -assume nothing any of the acts may have happened.
//
// The file of -pod holds a Pod, or an object with a Pod template: a Deployment, StatefulSet, DaemonSet,
// ReplicaSet, Job, CronJob, ReplicationController or PodTemplate. Other objects may stand beside it, as in what
// helm template or kubectl get prints. Where several hold a Pod, -object says which one is meant.
//
//	judge -kubernetes v1.37.2 -pod shop.yaml -object Deployment/web -log message
//
// -writes says which processes, hooks and probes write to the log, so that one which is missing
// there is missed: "app, network/post start hook". Without it the annotation podorder.dev/writes
// of the Pod says so, the list writes of the case, or else the commands of the Pod do, where they name their
// lines or the file.
//
// -fixtures names the folder of a case that is not bundled: that of the trace, or that of -case.
//
// -feature-gates sets gates that differ from the defaults of the version.
//
// -svg writes a picture of the recording to a file, whatever the verdict: the containers with their hooks and probes on
// one axis of time, what the updates showed, and the lines that the verdict names. Package
// report/picture says how to read it. A log alone gets one as well, without updates and Events. Of a damaged
// trace it shows what comes before the damage.
//
//	judge -trace trace.jsonl -svg trace.svg
//
// The verdict goes to standard output, as text or with -json as one JSON
// object; what is wrong with the input goes to standard error. Exit status: 0
// pass, 1 violation (also fixed, and known with -strict), 2 usage or broken
// input, 3 inconclusive, 4 unmodelled, 5 known.
//
// Left out on purpose: judging, which package reference does.
package main
