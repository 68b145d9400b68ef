package schemas

// Newer tells whether a record of a circuit says more than another one of it: by life first, then by sequence. A reader
// drops what is not newer than what it has.
func (s *State) Newer(than *State) bool {
	if !s.Born.Equal(than.Born) {
		return s.Born.After(than.Born)
	}
	return s.Sequence > than.Sequence
}
