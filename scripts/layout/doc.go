// Package layout pins which part of podorder may import which.
//
// The recorder must not know what is allowed, and a verdict must follow from the
// recording alone. Only the imports can guarantee that. [Imports] judges a list of packages, [Purity] the source of one package
// of reference; the test of this package applies both to the repository.
//
// Left out on purpose: imports of imports. Every package of the module belongs
// to a part, and every part is checked, so a forbidden part cannot be reached
// through an allowed one.
package layout
