package policytest

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/fusebox-project/fusebox/breaker"
	"go.yaml.in/yaml/v4"
)

// Read reads the text of a file of policy tests. It asks open for policy files by their path relative to this file. An
// error is breaker.Faults: all that is wrong, by position.
func Read(file string, text []byte, open func(path string) ([]byte, error)) (*File, error) {
	r := &reader{file: file, open: open, lines: strings.Split(string(text), "\n")}
	f := &File{Name: file}
	documents := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var doc yaml.Node
		err := documents.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			r.syntax(err)
			break
		}
		if len(doc.Content) == 1 && isPolicyFile(doc.Content[0]) {
			r.fault(doc.Content[0], "this is a policy file, and no file of policy tests; to check it: "+
				"fusebox policy check %s", file)
			continue
		}
		if len(doc.Content) == 1 && !isNull(doc.Content[0]) {
			f.Tests = append(f.Tests, r.document(doc.Content[0])...)
		}
	}
	if len(f.Tests) == 0 && len(r.faults) == 0 {
		r.faults = breaker.Faults{{File: file, Line: 1, Column: 1, Message: "no tests in it; write tests: with a list"}}
	}
	if len(r.faults) > 0 {
		slices.SortStableFunc(r.faults, func(a, b breaker.Fault) int {
			return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		return nil, r.faults
	}
	return f, nil
}

// isPolicyFile tells whether a document has the keys of a policy file, and none of its own.
func isPolicyFile(n *yaml.Node) bool {
	its := 0
	if n = resolve(n); n.Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i < len(n.Content); i += 2 {
		switch resolve(n.Content[i]).Value {
		case "policies", "defaults", "routes", "kinds":
			its++
		case "tests", "policy", "policy_file":
			return false
		}
	}
	return its > 0
}

// reader reads one file and gathers what is wrong with it.
type reader struct {
	file   string
	open   func(string) ([]byte, error)
	lines  []string // Of the file.
	faults breaker.Faults
}

// syntax notes what is no YAML.
func (r *reader) syntax(err error) {
	at, what, right := &yaml.Node{}, err.Error(), "mend the YAML here"
	var load *yaml.LoadError
	if errors.As(err, &load) {
		at.Line, at.Column, what = load.Mark.Line, load.Mark.Column, load.Message
		if load.ContextMsg != "" {
			what += " " + load.ContextMsg
		}
	}
	if strings.Contains(what, "incompatible YAML") {
		right = "take this line out"
	}
	if n := at.Line; n >= 1 && n <= len(r.lines) && breaker.IsTab(r.lines[n-1], at.Column) {
		r.fault(at, "a tab: indent with spaces")
		return
	}
	r.fault(at, "the file is not YAML: %s; %s", what, right)
}

// document reads one document: a policy and its tests.
func (r *reader) document(n *yaml.Node) []Test {
	fields := r.fields(n, "the file", "policy", "policy_file", "tests")
	policies := r.policies(fields)
	list := fields["tests"]
	if list == nil {
		r.fault(n, "tests is missing; write tests: with a list of {name, steps}")
		return nil
	}
	switch {
	case isNull(list) || list.Kind == yaml.SequenceNode && len(list.Content) == 0:
		r.fault(list, "tests is empty; write a list of {name, steps}")
		return nil
	case list.Kind != yaml.SequenceNode:
		r.fault(list, "tests has to be a list of {name, steps}")
		return nil
	}
	var tests []Test
	for _, test := range list.Content {
		tests = append(tests, r.test(resolve(test), policies))
	}
	return tests
}

func (r *reader) test(n *yaml.Node, policies *breaker.Policies) Test {
	fields := r.fields(n, "a test", "name", "circuit", "steps")
	t := Test{Line: n.Line, Policies: policies}
	if t.Name = r.text(fields["name"], "name", ""); t.Name == "" {
		r.fault(n, "the test has no name")
	}
	circuit := r.circuit(fields["circuit"], "")
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
