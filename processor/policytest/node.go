package policytest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
	"go.yaml.in/yaml/v4"
)

func (r *reader) fault(n *yaml.Node, format string, args ...any) {
	r.faults = append(r.faults, breaker.Fault{
		File: r.file, Line: max(n.Line, 1), Column: max(n.Column, 1), Message: fmt.Sprintf(format, args...),
	})
}

// unknown notes a name that nobody knows.
func (r *reader) unknown(n *yaml.Node, what, name string, known []string) {
	if best := breaker.Nearest(name, known); best != "" {
		r.fault(n, "%s has no %q; did you mean %q?", what, name, best)
		return
	}
	r.fault(n, "%s has no %q; it takes %s", what, name, strings.Join(known, ", "))
}

// fields returns the values of a mapping that takes these keys.
func (r *reader) fields(n *yaml.Node, what string, known ...string) map[string]*yaml.Node {
	values := map[string]*yaml.Node{}
	n = resolve(n)
	if n.Kind != yaml.MappingNode {
		r.fault(n, "%s has to be a mapping with some of %s", what, strings.Join(known, ", "))
		return values
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := resolve(n.Content[i]), resolve(n.Content[i+1])
		switch {
		case !slices.Contains(known, key.Value):
			r.unknown(n.Content[i], what, key.Value, known)
		case values[key.Value] != nil:
			r.fault(n.Content[i], "%s has %q twice", what, key.Value)
		default:
			values[key.Value] = value
		}
	}
	return values
}

func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// text reads a value of any type as it is written, or the absent one where there is none.
func (r *reader) text(n *yaml.Node, what, absent string) string {
	if n == nil || isNull(n) {
		return absent
	}
	if n.Kind != yaml.ScalarNode {
		r.fault(n, "%s has to be one value", what)
	}
	return n.Value
}

// circuit reads the name of a circuit.
func (r *reader) circuit(n *yaml.Node, absent string) string {
	name := r.text(n, "circuit", absent)
	if n == nil || name == absent {
		return name
	}
	if err := schemas.CheckCircuit(name); err != nil {
		r.fault(n, "%v", err)
		return "c" // It will not be run, and there is no need to say it again.
	}
	return name
}

// flag reads true or false.
func (r *reader) flag(n *yaml.Node, what string) bool {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" {
		return strings.EqualFold(n.Value, "true")
	}
	is := n.Value
	switch {
	case n.Kind != yaml.ScalarNode:
		is = "no single value"
	case isNull(n):
		is = "empty"
	case n.ShortTag() == "!!str":
		is = strconv.Quote(n.Value)
	}
	r.fault(n, "%s is %s; write true or false, without quotes", what, is)
	return false
}

func (r *reader) duration(n *yaml.Node, what string) time.Duration {
	d, err := time.ParseDuration(n.Value)
	if err != nil {
		r.fault(n, "%s is %q; write a duration, such as 90s or 1500ms", what, n.Value)
	}
	return d
}

// at returns the value of a key of a mapping, or the mapping where it has no such key.
func at(n *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if resolve(n.Content[i]).Value == name {
			return resolve(n.Content[i+1])
		}
	}
	return n
}

// key returns a key of a mapping, or the mapping where it has no such key.
func key(n *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if resolve(n.Content[i]).Value == name {
			return n.Content[i]
		}
	}
	return n
}
