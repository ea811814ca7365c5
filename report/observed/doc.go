// Package observed says what a recording shows of the behaviour of a kubelet, in a form
// in which recordings of one case on several kubelets can be compared.
package observed
