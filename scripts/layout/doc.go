// Package layout pins which part of podorder may import which.
//
// Who records must not know what is allowed, and what is allowed must follow
// from the recorded value alone; both are true only as long as the imports say
// so. [Imports] judges a list of packages, [Purity] the source of one package
// of reference; the test of this package applies both to the repository.
//
// Left out on purpose: imports of imports. Every package of the module belongs
// to a part, and every part is judged, so a forbidden part cannot be reached
// through an allowed one.
package layout
