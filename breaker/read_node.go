package breaker

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// table is a mapping of the file: its values by key, aliases resolved.
type table struct {
	at     *yaml.Node
	values map[string]*yaml.Node
	keys   map[string]*yaml.Node
}

// get returns the value of a key, nil where it is not set.
func (t table) get(key string) *yaml.Node { return t.values[key] }

// table reads a mapping that takes these keys. A nil or empty node is a mapping without any.
func (r *parser) table(n *yaml.Node, what string, known []string) table {
	t := table{at: n, values: map[string]*yaml.Node{}, keys: map[string]*yaml.Node{}}
	r.pairs(n, what, func(name string, key, value *yaml.Node) {
		if name == "<<" {
			r.fault(key, "a merge key (<<) in %s is not read; "+
				"write the keys out, or use an alias as a whole value", what)
			return
		}
		if !slices.Contains(known, name) {
			r.unknown(key, name, what, known)
			return
		}
		if first, ok := t.keys[name]; ok {
			r.fault(key, "%s is set twice in %s, first in line %d; leave one of them", name, what, first.Line)
			return
		}
		t.keys[name], t.values[name] = key, value
	})
	return t
}

// unknown notes a key that nobody knows. It looks for the nearest only while that is reported.
func (r *parser) unknown(key *yaml.Node, name, what string, known []string) {
	advised := ""
	if len(r.faults) < mostFaults {
		advised = advice(name, what+" takes ", known)
	}
	r.fault(key, "unknown key %q in %s; %s", shorten(name), what, advised)
}

// pairs calls do with each key and value of a mapping whose keys are text.
func (r *parser) pairs(n *yaml.Node, what string, do func(name string, key, value *yaml.Node)) {
	n = resolve(n)
	if isNull(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.fault(n, "%s is %s; write a mapping, one \"key: value\" a line", what, describe(n))
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := resolve(n.Content[i]), resolve(n.Content[i+1])
		if key.Kind != yaml.ScalarNode {
			r.fault(n.Content[i], "a key in %s is %s; write a name", what, describe(key))
			continue
		}
		do(key.Value, n.Content[i], value)
	}
}

// list reads a list of at most so many values, aliases resolved. A nil or empty node is a list without any.
func (r *parser) list(n *yaml.Node, what string, most int) []*yaml.Node {
	n = resolve(n)
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		r.fault(n, "%s is %s; write a list, such as [a, b]", what, describe(n))
		return nil
	}
	if len(n.Content) > most {
		r.fault(n, "%s has %d entries; write at most %d", what, len(n.Content), most)
	}
	nodes := make([]*yaml.Node, 0, min(len(n.Content), most))
	for _, node := range n.Content[:min(len(n.Content), most)] {
		nodes = append(nodes, resolve(node))
	}
	return nodes
}

// resolve returns what an alias names, any other node itself.
func resolve(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// isNull tells whether nothing is written at a node.
func isNull(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// describe says in a word or two what stands at a node.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!null":
		return "empty"
	case "!!str":
		return fmt.Sprintf("the text %q", shorten(n.Value))
	case "!!int", "!!float":
		return "the number " + shorten(n.Value)
	}
	return shorten(n.Value)
}

// shorten cuts what a message quotes to a length that can be read.
func shorten(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// advice proposes the likeliest of the known names as a question, or tells all of them.
func advice(name, takes string, known []string) string {
	if best := Nearest(name, known); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return takes + strings.Join(known, ", ")
}

// Nearest returns the known name that a slip of the hand could make of this one, or nothing.
func Nearest(name string, known []string) string {
	best, least := "", 3
	for _, k := range known {
		if d := distance(strings.ToLower(name), k); d < least && d < len(k) {
			best, least = k, d
		}
	}
	return best
}

// distance returns how many letters must be changed, added, left out or swapped with the next to make b of a. Above 2
// it may be any number above 2.
func distance(a, b string) int {
	if len(a) > len(b)+2 || len(b) > len(a)+2 {
		return 3
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
		for j := 1; j <= len(b); j++ {
			if i == 0 {
				rows[0][j] = j
				continue
			}
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
