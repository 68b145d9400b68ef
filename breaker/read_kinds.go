package breaker

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/fusebox-project/fusebox/schemas"
)

// declarations reads the kinds that the file has beside the nine.
func (r *parser) declarations(n *yaml.Node) {
	lines := map[string]int{}
	for _, k := range r.list(n, "kinds", mostKinds) {
		text, ok := r.text(k, "a kind", 2*longestKind)
		if !ok {
			continue
		}
		name, ok := canonicalKind(text)
		switch {
		case !ok:
			r.fault(k, "kind %q is not a name; write letters, digits and underscores, at most %d, a letter first",
				text, longestKind)
		case lines[name] > 0:
			r.fault(k, "kind %s is declared twice, first in line %d; leave one of them", name, lines[name])
		case r.kinds.index(name) != unknownKind:
			r.fault(k, "kind %s is already known as %s; leave it out or take another name", text,
				r.kinds.name(r.kinds.index(name)))
		case name == schemas.UnknownKind:
			r.fault(k, "kind unknown is what all kinds are counted as that nobody declares; take another name")
		default:
			lines[name] = k.Line
			r.kinds.declare(name)
		}
	}
}

// kind reads the name of a kind and returns its index.
func (r *parser) kind(n *yaml.Node, what string) (uint8, bool) {
	name, ok := r.text(n, what, mostName)
	if !ok {
		return 0, false
	}
	i := r.kinds.index(name)
	if i == unknownKind {
		known := slices.Sorted(slices.Values(r.kinds.names[1:]))
		r.fault(n, "%s %q is not a kind that this file knows; write %s, or declare it in the file's kinds", what,
			shorten(name), likely(name, known))
		return 0, false
	}
	return i, true
}

// kindPairs reads a mapping from kinds, each once, and calls for each with its number.
func (r *parser) kindPairs(n *yaml.Node, what, key string, do func(kind uint8, value *yaml.Node)) {
	lines := map[uint8]int{}
	r.pairs(n, what, func(_ string, at, value *yaml.Node) {
		i, ok := r.kind(resolve(at), key)
		if !ok {
			return
		}
		if lines[i] > 0 {
			r.fault(at, "%s %s is set twice, first in line %d; leave one of them", key, r.kinds.name(i), lines[i])
			return
		}
		lines[i] = at.Line
		do(i, value)
	})
}

// kindList reads a list of kinds and returns their canonical names, sorted, each once.
func (r *parser) kindList(n *yaml.Node, what string) []string {
	var names []string
	for _, k := range r.list(n, what, mostEntries) {
		if i, ok := r.kind(k, "kind"); ok {
			names = append(names, r.kinds.name(i))
		}
	}
	return sortedOnce(names)
}

// likely names the kind that is probably meant, or all.
func likely(name string, known []string) string {
	if best := Nearest(name, known); best != "" {
		return best
	}
	return "one of " + strings.Join(known, ", ")
}
