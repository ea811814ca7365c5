package observed

import "strings"

// clear is how long after a line of the log an update has to come, in seconds, for it to have been made after
// that. A line has the time at which it was written, and an update that at which it arrived, so one that
// stands before a line was made before it.
const clear = 1

// Relation is which of two events came first in a run.
type Relation uint8

// The relations. The zero value means that neither came.
const (
	Neither   Relation = iota
	Before             // the first one did
	After              // the second one did
	Together           // they came in one update, or too close to each other to tell
	OnlyFirst          // the second one never came
	OnlyLast           // the first one never came
)

// Order says which of two events came first, by the first time that each came.
func (b Behaviour) Order(first, second string) Relation {
	var x, y Event
	i, j := -1, -1
	for k, e := range b.Events {
		switch e.Name {
		case first:
			x, i = e, k
		case second:
			y, j = e, k
		}
	}
	return relation(x, i, y, j)
}

// relation takes the places of the events among all; -1 where they did not come.
func relation(x Event, i int, y Event, j int) Relation {
	logged := inLog(x.Name)
	switch {
	case i < 0 && j < 0:
		return Neither
	case j < 0:
		return OnlyFirst
	case i < 0:
		return OnlyLast
	case logged && !inLog(y.Name) && y.At >= x.At && y.At-x.At < clear, !logged && inLog(y.Name) && x.At >= y.At && x.At-y.At < clear:
		return Together
	case logged != inLog(y.Name) && x.At < y.At:
		return Before
	case logged != inLog(y.Name):
		return After
	case x.At == y.At && !logged: // one update
		return Together
	case i < j:
		return Before
	}
	return After
}

// inLog reports whether an event is a line of the log.
func inLog(name string) bool { return strings.Contains(name, " / ") }
