package policytest

import (
	"errors"
	"strings"

	"github.com/fusebox-project/fusebox/breaker"
	"go.yaml.in/yaml/v4"
)

// policies reads the policies that the document names; the built-in ones where it names none.
func (r *reader) policies(fields map[string]*yaml.Node) *breaker.Policies {
	inline, path := fields["policy"], fields["policy_file"]
	switch {
	case inline != nil && path != nil:
		r.fault(path, "policy and policy_file exclude each other; leave one of them")
	case inline != nil:
		return r.inline(inline)
	case path != nil:
		text, err := r.open(path.Value)
		if err != nil {
			r.fault(path, "policy_file: %v", err)
			break
		}
		policies, err := breaker.Read(path.Value, text)
		if err != nil {
			var faults breaker.Faults
			errors.As(err, &faults)
			r.faults = append(r.faults, faults...)
			break
		}
		return policies
	}
	return breaker.Builtin()
}

// inline reads policies that stand in the file as text. Their faults are told where they stand in this file.
func (r *reader) inline(n *yaml.Node) *breaker.Policies {
	if n.Kind != yaml.ScalarNode {
		r.fault(n, "policy has to be the text of a policy file: write policy: | and indent the file under it")
		return breaker.Builtin()
	}
	policies, err := breaker.Read(r.file, []byte(n.Value))
	if err == nil {
		return policies
	}
	right, block := r.indentation(n)
	if block {
		// Read again behind as many empty lines as stand before it: the lines that a message names are right too then.
		_, err = breaker.Read(r.file, []byte(strings.Repeat("\n", n.Line)+n.Value))
	}
	var faults breaker.Faults
	errors.As(err, &faults)
	for _, f := range faults {
		if !block || f.Line <= n.Line {
			r.fault(n, "in line %d of the text, column %d: %s", f.Line, f.Column, f.Message)
			continue
		}
		f.Column += right
		r.faults = append(r.faults, f)
	}
	return breaker.Builtin()
}

// indentation returns by how much a block of text stands further to the right than its value says, and whether each
// line of the value is a line of the file.
func (r *reader) indentation(n *yaml.Node) (right int, block bool) {
	if n.Style&yaml.LiteralStyle == 0 {
		return 0, false
	}
	number := n.Line // Of the first line, from 0.
	for line := range strings.Lines(n.Value) {
		if number >= len(r.lines) {
			return 0, false
		}
		if text := strings.TrimSpace(line); text != "" {
			inFile, inValue := strings.Index(r.lines[number], text), strings.Index(line, text)
			return inFile - inValue, inFile >= inValue
		}
		number++
	}
	return 0, false
}
