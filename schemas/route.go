package schemas

import (
	"maps"
	"slices"
	"strings"
)

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

// Fallback says where routers go while a circuit of the route's chain refuses: by the cause that it has, or, while it
// has none, for each cause that makes a difference.
func (r *Route) Fallback(s *State) string {
	var words []string
	if next := r.steps(r.Next(s)); next != "" {
		words = append(words, next)
	}
	if s.Cause == nil {
		for _, kind := range slices.Sorted(maps.Keys(r.ByCause)) {
			words = append(words, "after "+kind+" "+r.steps(r.ByCause[kind]))
		}
	}
	return strings.Join(words, "; ")
}

func (r *Route) steps(circuits []string) string {
	if r.Otherwise != "" {
		circuits = append(slices.Clone(circuits), r.Otherwise)
	}
	return strings.Join(circuits, ", then ")
}
