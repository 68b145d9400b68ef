package breaker

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/fusebox-project/fusebox/schemas"
)

var routeKeys = []string{"use_case", "chain", "otherwise", "by_cause"}

// routes reads where routers go while a circuit refuses.
func (r *parser) routes(n *yaml.Node) []schemas.Route {
	var routes []schemas.Route
	lines := map[string]int{}
	for _, entry := range r.list(n, "routes", mostRoutes) {
		route := r.route(entry)
		r.once(lines, entry, "the route of use case", route.UseCase)
		routes = append(routes, route)
	}
	return routes
}

func (r *parser) route(entry *yaml.Node) schemas.Route {
	t := r.table(entry, "a route", routeKeys)
	r.require(t, entry, "a route", "use_case", "chain")
	var route schemas.Route
	if n := t.get("use_case"); n != nil {
		route.UseCase, _ = r.text(n, "use_case", mostName)
	}
	if n := t.get("chain"); n != nil {
		route.Chain = r.circuits(n, "chain")
		if isNull(n) || n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
			r.fault(n, "chain is empty; %s", examples["chain"])
		}
	}
	if n := t.get("otherwise"); n != nil {
		route.Otherwise, _ = r.text(n, "otherwise", mostName)
	}
	r.kindPairs(t.get("by_cause"), "by_cause", "cause", func(i uint8, value *yaml.Node) {
		if route.ByCause == nil {
			route.ByCause = map[string][]string{}
		}
		what := "by_cause of " + r.kinds.name(i)
		if isNull(value) {
			r.fault(value, "%s is empty; write [] to go straight to otherwise, or name circuits", what)
		}
		route.ByCause[r.kinds.name(i)] = r.circuits(value, what)
	})
	return route
}

// circuits reads a list of names of circuits, each once.
func (r *parser) circuits(n *yaml.Node, what string) []string {
	names := []string{}
	for _, entry := range r.list(n, what, mostEntries) {
		name, ok := r.text(entry, "a circuit", mostName)
		switch {
		case !ok:
		case strings.Contains(name, "*"):
			r.fault(entry, "%s names %q, and a route takes no patterns; write the name of one circuit", what,
				shorten(name))
		case slices.Contains(names, name):
			r.fault(entry, "%s names circuit %q twice; leave one of them", what, shorten(name))
		default:
			names = append(names, name)
		}
	}
	return names
}
