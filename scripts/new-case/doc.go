// Command new-case makes a case of a Pod, so that the order of its containers can be tried without
// its programs.
//
//	new-case -out mine/web pod.yaml
//	helm template shop ./chart | new-case -object Deployment/web -out mine/web -
//	new-case -tell 'migrate: ticks=20 every=250ms' -tell 'app/readiness probe: fail-first=3' pod.yaml
//
// The file holds a Pod or an object with a Pod template, with or without other objects, as that of
// judge does. In the folder of -out (that of the Pod's name, if nothing is said) it writes pod.yaml,
// case.yaml and allowed.txt; the suite runs what is there with -fixtures, on any cluster.
//
// Every container becomes a recorder (go doc ./fixtures/recorder), with the same hooks, probes,
// policies and times. Hooks and probes that run a command run that of the recorder; a request goes
// to a port at which the recorder of the container answers. Where nothing else is said,
//
//   - an init container ends with 0 after a second,
//   - a regular container runs on; if nothing would start it again, it ends with 0 after two seconds,
//   - a sidecar runs on,
//   - a hook takes half a second, a probe succeeds.
//
// What volumes, environment, identity, placement and the like a Pod asks for does not bear on that order
// and is left out; the first lines of pod.yaml and standard error say what.
//
// -tell says what an actor does otherwise, by the flags of the recorder: a container ("app"), one of its hooks or
// one of its probes ("app/post start hook"), a colon, and settings ("idle=20s exit=1"). Several stand apart by
// semicolons. The annotation podorder.dev/new-case of the Pod, or of the template, has the same form; -tell
// goes before it. An exit other than 0 has any hook or probe fail, also one that is a request.
//
// Exit status: 0 written, 2 usage or a manifest that cannot be read, 4 a Pod with fields that the model does not know.
//
// Left out on purpose: other objects of the manifest; a case is about one Pod.
package main
