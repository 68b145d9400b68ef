package main

import (
	"slices"

	"github.com/fusebox-project/fusebox/schemas"
)

// fallbackOf returns where routers go while a circuit of a route chain refuses: to what its cause chooses, or else to
// what follows it in the chain.
func fallbackOf(route *schemas.Route, s *schemas.State) []string {
	if s.Cause != nil {
		if instead, ok := route.ByCause[s.Cause.Kind]; ok {
			return instead
		}
	}
	at := slices.Index(route.Chain, s.Circuit)
	return route.Chain[at+1:]
}

// routeOf returns the route whose chain a circuit stands in, nil where there is none.
func routeOf(routes []schemas.Route, circuit string) *schemas.Route {
	for i := range routes {
		if slices.Contains(routes[i].Chain, circuit) {
			return &routes[i]
		}
	}
	return nil
}
