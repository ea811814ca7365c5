package reference

// set is a set of states, in the order in which they came: the first one assumes the
// fewest faults.
type set struct {
	states []state
	places map[uint64][]int32 // of the states, by their hash, once there are many
}

// many is from how many states on they are found by their hash.
const many = 32

func (s *set) add(t *state) {
	if len(s.states) < many {
		for i := range s.states {
			if s.states[i].same(t) {
				return
			}
		}
		s.states = append(s.states, *t)
		return
	}
	if s.places == nil {
		s.places = map[uint64][]int32{}
		for i := range s.states {
			h := s.states[i].hash()
			s.places[h] = append(s.places[h], int32(i))
		}
	}
	h := t.hash()
	for _, i := range s.places[h] {
		if s.states[i].same(t) {
			return
		}
	}
	s.places[h] = append(s.places[h], int32(len(s.states)))
	s.states = append(s.states, *t)
}

// same reports whether two states are one for all that can still follow. What
// forced a fact matters to explanations alone.
func (s *state) same(t *state) bool {
	if s.key() != t.key() {
		return false
	}
	for i := range s.c {
		if s.c[i].key() != t.c[i].key() {
			return false
		}
	}
	return true
}

// hash is the same for states that are (FNV-1a, by word).
func (s *state) hash() uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := (offset ^ uint64(s.key())) * prime
	for i := range s.c {
		k := s.c[i].key()
		for _, v := range [...]uint64{uint64(k.run), uint64(k.before), uint64(k.facts)} {
			h = (h ^ v) * prime
		}
	}
	return h
}

// key tells apart what is known of a state beside its instances.
func (s *state) key() uint32 { return bits(s.anew, s.synced.known(), s.ending.known()) }

// instanceKey tells instances apart.
type instanceKey struct {
	run, before int32
	facts       uint32
}

func (c *instance) key() instanceKey {
	facts := bits(c.fresh, c.first, c.late, c.dead, c.prompt, c.returned.known(), c.gone.known(), c.done.known())
	return instanceKey{c.run, c.before, facts | uint32(c.kill)<<8 | uint32(c.after)<<16}
}

// bits packs up to eight facts.
func bits(facts ...bool) (b uint32) {
	for i, is := range facts {
		if is {
			b |= 1 << i
		}
	}
	return b
}
