package schemas

import "slices"

// After returns what follows a circuit in the chain: all of it where the circuit does not stand there.
func (r *Route) After(circuit string) []string {
	return r.Chain[slices.Index(r.Chain, circuit)+1:]
}

// Instead returns where to go on when a circuit refused, or its answer was not accepted, for a kind, with rest left of
// the chain: to what ByCause lists for that kind, however it is written, or else to the rest.
func (r *Route) Instead(kind string, rest []string) []string {
	for cause, list := range r.ByCause {
		if SameKind(kind, cause) {
			return list
		}
	}
	return rest
}
