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

// RouteOf returns the route whose chain a circuit stands in, nil where there is none.
func RouteOf(routes []Route, circuit string) *Route {
	for i := range routes {
		if slices.Contains(routes[i].Chain, circuit) {
			return &routes[i]
		}
	}
	return nil
}

// Next returns where routers go while a circuit of the route's chain refuses.
func (r *Route) Next(s *State) []string {
	rest := r.After(s.Circuit)
	if s.Cause == nil {
		return rest
	}
	return r.Instead(s.Cause.Kind, rest)
}
