package policytest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"go.yaml.in/yaml/v4"
)

// Read reads the text of a file of policy tests. It asks open for policy files by their path relative to this file. An
// error is breaker.Faults: all that is wrong, by position.
func Read(file string, text []byte, open func(path string) ([]byte, error)) (*File, error) {
	r := &reader{file: file, open: open}
	f := &File{Name: file}
	documents := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var doc yaml.Node
		err := documents.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			r.faults = append(r.faults, breaker.Fault{File: file, Line: 1, Column: 1, Message: err.Error()})
			break
		}
		if len(doc.Content) == 1 {
			f.Tests = append(f.Tests, r.document(doc.Content[0])...)
		}
	}
	if len(f.Tests) == 0 && len(r.faults) == 0 {
		r.faults = breaker.Faults{{File: file, Line: 1, Column: 1, Message: "no tests in it; write tests: with a list"}}
	}
	if len(r.faults) > 0 {
		return nil, r.faults
	}
	return f, nil
}

// reader reads one file and gathers what is wrong with it.
type reader struct {
	file   string
	open   func(string) ([]byte, error)
	faults breaker.Faults
}

func (r *reader) fault(n *yaml.Node, format string, args ...any) {
	r.faults = append(r.faults, breaker.Fault{
		File: r.file, Line: max(n.Line, 1), Column: max(n.Column, 1), Message: fmt.Sprintf(format, args...),
	})
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
		key, value := n.Content[i], resolve(n.Content[i+1])
		switch {
		case !slices.Contains(known, key.Value):
			r.fault(key, "%s has no %q; it takes %s", what, key.Value, strings.Join(known, ", "))
		case values[key.Value] != nil:
			r.fault(key, "%s has %q twice", what, key.Value)
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

// document reads one document: a policy and its tests.
func (r *reader) document(n *yaml.Node) []Test {
	fields := r.fields(n, "the file", "policy", "policy_file", "tests")
	policies := r.policies(fields)
	list := fields["tests"]
	if list == nil {
		r.fault(n, "tests is missing; write tests: with a list of {name, steps}")
		return nil
	}
	if list.Kind != yaml.SequenceNode {
		r.fault(list, "tests has to be a list of {name, steps}")
		return nil
	}
	var tests []Test
	for _, test := range list.Content {
		tests = append(tests, r.test(resolve(test), policies))
	}
	return tests
}

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
			r.adopt(err, 0, 0)
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
	down, right := 0, 0
	if n.Style&yaml.LiteralStyle != 0 {
		down, right = n.Line, n.Column
		if n.Column > 1 {
			right = 0
		}
	}
	r.adopt(err, down, right)
	return breaker.Builtin()
}

func (r *reader) adopt(err error, down, right int) {
	var faults breaker.Faults
	if !errors.As(err, &faults) {
		r.faults = append(r.faults, breaker.Fault{File: r.file, Line: 1, Column: 1, Message: err.Error()})
		return
	}
	for _, f := range faults {
		f.Line += down
		f.Column += right
		r.faults = append(r.faults, f)
	}
}

func (r *reader) test(n *yaml.Node, policies *breaker.Policies) Test {
	fields := r.fields(n, "a test", "name", "circuit", "steps")
	t := Test{Line: n.Line, Policies: policies}
	if name := fields["name"]; name != nil {
		t.Name = name.Value
	} else {
		r.fault(n, "the test has no name")
	}
	circuit := ""
	if c := fields["circuit"]; c != nil {
		circuit = c.Value
	}
	steps := fields["steps"]
	if steps == nil || steps.Kind != yaml.SequenceNode || len(steps.Content) == 0 {
		r.fault(n, "the test has no steps; write steps: with a list of {at, outcome, expect}")
		return t
	}
	for _, step := range steps.Content {
		t.Steps = append(t.Steps, r.step(resolve(step), circuit))
	}
	return t
}

func (r *reader) duration(n *yaml.Node, what string) time.Duration {
	d, err := time.ParseDuration(n.Value)
	if err != nil {
		r.fault(n, "%s is %q; write a duration, such as 90s or 1500ms", what, n.Value)
	}
	return d
}
