package model

// Set is a set of states, in the order in which they came: the first one assumes the
// fewest faults.
type Set struct {
	States []State
	places map[uint64][]int32 // of the states, by their hash, once there are many
}

// many is from how many states on they are found by their hash.
const many = 32

// Add takes a state in unless the set has it.
func (s *Set) Add(t *State) {
	if len(s.States) < many {
		for i := range s.States {
			if s.States[i].same(t) {
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
			return
		}
	}
	s.places[h] = append(s.places[h], int32(len(s.States)))
	s.States = append(s.States, *t)
}
