package main

import (
	"slices"

	"github.com/fusebox-project/fusebox/schemas"
)

// fallbackOf returns where routers go while a circuit of a route chain refuses.
func fallbackOf(route *schemas.Route, s *schemas.State) []string {
	rest := route.After(s.Circuit)
	if s.Cause == nil {
		return rest
	}
	return route.Instead(s.Cause.Kind, rest)
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
