// Package observed says what a recording shows of one Pod, in a form that can be
// compared: what came, in which order and how often, and how long it took.
//
// [Of] reads one recording into a [Behaviour], without a judgement. [Merge] lays the runs of
// one case on one kubelet over each other. [Compare] says in what neighbouring kubelets
// differ, which of that the model expects, and what it expects in vain; what it expects is the
// table in expected.go.
//
// Left out on purpose: what is allowed, which is for package reference to say, and whatever
// a recording shows by chance. Events of the API are best effort, so they are not part of
// a behaviour.
package observed
