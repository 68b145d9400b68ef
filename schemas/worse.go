package schemas

import (
	"cmp"
	"slices"
)

// WorseFirst orders circuits for people: those that refuse first, then those that are degraded, those that an operator
// keeps closed or disabled, those that no policy matches, and those that are well; the newest change first among them,
// then by name.
func WorseFirst(a, b *State) int {
	return cmp.Or(cmp.Compare(a.badness(), b.badness()), b.ChangedAt.Compare(a.ChangedAt),
		cmp.Compare(a.Circuit, b.Circuit))
}

func (s *State) badness() int {
	if i := slices.Index([]Phase{Open, HalfOpen, ForcedOpen}, s.State); i >= 0 {
		return i
	}
	switch {
	case s.Degraded != nil:
		return 3
	case s.State == ForcedClosed:
		return 4
	case s.State == Disabled:
		return 5
	case s.Policy == "":
		return 6
	}
	return 7
}
