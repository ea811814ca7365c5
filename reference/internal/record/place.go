package record

// Place is the place of an observation in the order in which observations are read. The zero
// Place is that of none: something was not seen, or is not known.
type Place int32

// PlaceOf is the place of observation n, counted from 0.
func PlaceOf(n int) Place { return Place(n) + 1 }

// Known reports whether there is such an observation.
func (p Place) Known() bool { return p != 0 }

// Index is the index of the observation, counted from 0; -1 if there is none.
func (p Place) Index() int { return int(p) - 1 }

// After reports whether the observation comes after observation n.
func (p Place) After(n int) bool { return p.Index() > n }
