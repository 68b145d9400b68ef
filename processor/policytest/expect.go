package policytest

import (
	"slices"
	"strconv"

	"go.yaml.in/yaml/v4"
)

// expectations are the fields of expect.
var expectations = []string{
	"state", "epoch", "attempt", "retry_at", "rule", "observed", "throughput", "by_kind", "counted", "why", "granted",
	"degraded", "enforced", "override", "transitions", "state_of",
}

// expect reads what is to be seen after a step that does this: a key of does, or nothing.
func (r *reader) expect(n *yaml.Node, does string) []Expectation {
	fields := r.fields(n, "expect", expectations...)
	var list []Expectation
	for _, name := range expectations {
		value := fields[name]
		if value == nil || !r.possible(name, value, does) {
			continue
		}
		e := Expectation{Line: value.Line, Column: value.Column, Field: name}
		e.Want = r.want(name, value)
		list = append(list, e)
	}
	return list
}

// possible tells whether a step can have such a result. That it has none may be said of any.
func (r *reader) possible(name string, value *yaml.Node, does string) bool {
	switch {
	case name == "granted" && does != "claim":
		if !isNull(value) {
			r.fault(value, "granted is what became of a claim, and the step makes none; take it out")
		}
		return false
	case (name == "counted" || name == "why") && does != "outcome":
		if !isNull(value) {
			r.fault(value, "%s is what became of an outcome, and the step has none; take it out", name)
		}
		return false
	}
	return true
}

// want reads what is expected of a field.
func (r *reader) want(name string, n *yaml.Node) Value {
	v := Value{Null: isNull(n)}
	switch name {
	case "by_kind":
		v.Names, v.Values = r.named(n, name, true)
		return v
	case "state_of":
		if v.Names, v.Values = r.named(n, name, false); v.Null || n.Kind == yaml.MappingNode && len(n.Content) == 0 {
			r.fault(n, "state_of is empty; write states by circuit, such as {a: open}")
		}
		return v
	}
	v.Text = r.text(n, name, "")
	isBool := n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool"
	switch {
	case name == "counted", name == "granted", name == "enforced", name == "degraded" && isBool:
		v.Truth, v.Text = true, strconv.FormatBool(r.flag(n, name))
	case name == "retry_at" && !v.Null:
		offset := r.duration(n, name)
		v.Offset = &offset
	}
	return v
}

// named reads values by name, sorted where the order means nothing.
func (r *reader) named(n *yaml.Node, what string, sorted bool) (names, values []string) {
	if n.Kind != yaml.MappingNode {
		if !isNull(n) {
			r.fault(n, "%s has to be a mapping, such as {a: b}", what)
		}
		return nil, nil
	}
	names = []string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := resolve(n.Content[i]).Value, resolve(n.Content[i+1])
		place := len(names)
		if sorted {
			place, _ = slices.BinarySearch(names, name)
		}
		if slices.Contains(names, name) {
			r.fault(n.Content[i], "%s has %q twice", what, name)
			continue
		}
		names = slices.Insert(names, place, name)
		values = slices.Insert(values, place, r.text(value, name, "null"))
	}
	return names, values
}
