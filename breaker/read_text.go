package breaker

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// parse returns the one document of the text, or nil where it cannot be read.
func (r *parser) parse(text []byte) *yaml.Node {
	start := &yaml.Node{Line: 1, Column: 1}
	if len(text) > mostBytes {
		r.fault(start, "the file has %d bytes; write at most %d", len(text), mostBytes)
		return nil
	}
	if at := unreadable(text); at != nil {
		r.fault(at, "%s; write text in UTF-8", at.Value)
		return nil
	}
	d := yaml.NewDecoder(bytes.NewReader(asYAML11(text)))
	var document, next yaml.Node
	switch err := d.Decode(&document); {
	case errors.Is(err, io.EOF):
		r.fault(start, "the file is empty; write at least %s", minimal)
		return nil
	case err != nil:
		r.syntax(text, err)
		return nil
	}
	switch err := d.Decode(&next); {
	case err == nil:
		r.fault(&next, "a second document begins; write one document a file")
		return nil
	case !errors.Is(err, io.EOF):
		r.syntax(text, err)
		return nil
	}
	root := document.Content[0]
	if isNull(root) {
		r.fault(root, "the file is empty; write at least %s", minimal)
		return nil
	}
	if !r.bounded(root) {
		return nil
	}
	return root
}

// directive finds a first line that says YAML 1.2, behind comments and other such lines.
var directive = regexp.MustCompile(`\A(?:[ \t]*(?:#.*)?\r?\n|%.*\n)*?%YAML[ \t]+1\.2\b`)

// asYAML11 returns text that says YAML 1.2 as text that says 1.1. The library refuses the one and reads both alike.
func asYAML11(text []byte) []byte {
	found := directive.FindIndex(text)
	if found == nil {
		return text
	}
	text = bytes.Clone(text)
	text[found[1]-1] = '1'
	return text
}

// unreadable returns where the text has a byte or a character that YAML cannot have, and which, or nil.
func unreadable(text []byte) *yaml.Node {
	line, column := 1, 1
	for i := 0; i < len(text); column++ {
		c, n := utf8.DecodeRune(text[i:])
		switch {
		case c == utf8.RuneError && n == 1:
			return &yaml.Node{Line: line, Column: column, Value: "a byte is not UTF-8"}
		case c < ' ' && c != '\t' && c != '\n' && c != '\r', c >= 0x7f && c < 0xa0 && c != 0x85,
			c == 0xfffe, c == 0xffff:
			return &yaml.Node{Line: line, Column: column, Value: "a control character stands here"}
		case c == '\n':
			line, column = line+1, 0
		}
		i += n
	}
	return nil
}

// syntax notes what the parser could not read.
func (r *parser) syntax(text []byte, err error) {
	var load *yaml.LoadError
	if !errors.As(err, &load) {
		r.fault(&yaml.Node{}, "the file is not YAML: %v; write %s", err, minimal)
		return
	}
	mark, within := load.Mark, ""
	if load.ContextMsg != "" {
		within = " " + load.ContextMsg
	}
	hint := "mend the YAML here"
	switch {
	case strings.Contains(load.ContextMsg, "alias"):
		hint = `a text that begins with * must stand in quotes, such as "*"`
	case strings.Contains(load.Message, "incompatible YAML"):
		hint = "write %YAML 1.2, or take the line out"
	}
	at := &yaml.Node{Line: mark.Line, Column: mark.Column}
	lines := strings.Split(string(text), "\n")
	if n := mark.Line; n >= 1 && n <= len(lines) && IsTab(lines[n-1], mark.Column) {
		r.fault(at, "a tab: indent with spaces")
		return
	}
	r.fault(at, "the file is not YAML: %s%s; %s", load.Message, within, hint)
}

// IsTab tells whether a tab stands at a column of a line, counted from 1.
func IsTab(line string, column int) bool {
	return column >= 1 && column <= len(line) && line[column-1] == '\t'
}

// bounded tells whether the document is of a reasonable size with every alias written out.
func (r *parser) bounded(root *yaml.Node) bool {
	sizes := map[*yaml.Node]int{}
	var size func(n *yaml.Node) int
	size = func(n *yaml.Node) int {
		if s, ok := sizes[n]; ok {
			return s
		}
		sizes[n] = mostValues + 1 // For whoever meets it again inside itself.
		s := 1
		if n.Kind == yaml.AliasNode {
			s = size(n.Alias)
		}
		for _, c := range n.Content {
			s = min(s+size(c), mostValues+1)
		}
		sizes[n] = s
		return s
	}
	if size(root) > mostValues {
		r.fault(root, "the file has more than %d values with its aliases written out; use fewer, "+
			"and none inside what it names", mostValues)
		return false
	}
	return true
}
