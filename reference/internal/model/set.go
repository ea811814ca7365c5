// A set of states without duplicates.

package model

// Set is a set of states in the order in which they were added. The first one assumes the
// fewest faults, so a refusal gives its reason.
type Set struct {
	States []State
	places map[uint64][]int32 // the indexes of the states by their hash; nil while there are few
}

// many is the number of states from which on a hash finds them; fewer are compared one by
// one.
const many = 32

// Add adds a state if the set does not have it.
func (s *Set) Add(t *State) {
	if len(s.States) < many {
		for i := range s.States {
			if s.States[i].same(t) {
				s.prefer(i, t)
				return
			}
		}
		s.States = append(s.States, *t)
		return
	}
	if s.places == nil {
		s.places = map[uint64][]int32{}
		for i := range s.States {
			h := s.States[i].hash()
			s.places[h] = append(s.places[h], int32(i))
		}
	}
	h := t.hash()
	for _, i := range s.places[h] {
		if s.States[i].same(t) {
			s.prefer(int(i), t)
			return
		}
	}
	s.places[h] = append(s.places[h], int32(len(s.States)))
	s.States = append(s.States, *t)
}

// prefer puts t in the place of the same state if it needed fewer deviations.
func (s *Set) prefer(i int, t *State) {
	if t.used.len() < s.States[i].used.len() {
		s.States[i] = *t
	}
}
