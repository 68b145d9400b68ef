package breaker

import (
	"slices"

	"github.com/fusebox-project/fusebox/schemas"
)

// unknownKind is the number of all kinds that nobody declared.
const unknownKind uint8 = 0

// longestKind is the greatest length of a kind's name, in bytes, underscores not counted.
const longestKind = 64

// kindTable numbers the kinds of a file: 0 is unknown, 1 to 9 are the nine that every policy knows, in the order of
// schemas.Kinds, then come those that the file declares, in its order.
type kindTable struct {
	names    []string
	folded   []string
	declared byLength // Those that are declared, by the length of their names.
	all      byLength // All but unknown, by the length of their folded names.
}

// byLength are numbers of kinds by the length of something.
type byLength [longestKind + 1][]uint8

func newKindTable() kindTable {
	t := kindTable{names: []string{schemas.UnknownKind}, folded: []string{""}}
	for _, name := range schemas.Kinds {
		t.append(name)
	}
	return t
}

// declare adds a kind by its canonical name, which must be new.
func (t *kindTable) declare(name string) {
	t.declared[len(name)] = append(t.declared[len(name)], t.append(name))
}

func (t *kindTable) append(name string) uint8 {
	i := uint8(len(t.names))
	var buffer [longestKind]byte
	n, _ := fold(name, &buffer)
	t.names, t.folded = append(t.names, name), append(t.folded, string(buffer[:n]))
	t.all[n] = append(t.all[n], i)
	return i
}

// index returns the number of a kind, however its name is written, and 0 where nobody declared it.
func (t *kindTable) index(name string) uint8 {
	switch name {
	case schemas.Accepted:
		return 1
	case schemas.TransportFailure:
		return 2
	case schemas.InvalidContract:
		return 3
	case schemas.BusinessRuleFailure:
		return 4
	case schemas.MissingEvidence:
		return 5
	case schemas.ContradictoryEvidence:
		return 6
	case schemas.PolicyRejection:
		return 7
	case schemas.EvaluatorError:
		return 8
	case schemas.Cancelled:
		return 9
	}
	if len(name) <= longestKind {
		for _, i := range t.declared[len(name)] {
			if t.names[i] == name {
				return i
			}
		}
	}
	var buffer [longestKind]byte
	n, ok := fold(name, &buffer)
	if !ok {
		return unknownKind
	}
	for _, i := range t.all[n] {
		if t.folded[i] == string(buffer[:n]) {
			return i
		}
	}
	return unknownKind
}

// name returns the canonical name of a kind.
func (t *kindTable) name(i uint8) string { return t.names[i] }

// len returns the number of kinds, unknown among them.
func (t *kindTable) len() int { return len(t.names) }

// fold writes the name in lower case and without underscores, and tells whether it fits.
func fold(name string, into *[longestKind]byte) (n int, ok bool) {
	for i := range len(name) {
		c := name[i]
		if c == '_' {
			continue
		}
		if n == len(into) {
			return n, false
		}
		into[n] = lower(c)
		n++
	}
	return n, true
}

// canonicalKind writes a kind's name in snake_case, ToolMisuse as tool_misuse, and tells whether it is a name:
// letters, digits and underscores, beginning with a letter, at most 64 bytes.
func canonicalKind(name string) (string, bool) {
	b := make([]byte, 0, len(name)+4)
	for i := range len(name) {
		c := name[i]
		if c == '_' {
			continue
		}
		if !isLetter(c) && !isDigit(c) {
			return "", false
		}
		if len(b) > 0 && beginsWord(name, i) {
			b = append(b, '_')
		}
		b = append(b, lower(c))
	}
	if len(b) == 0 || len(b) > longestKind || isDigit(b[0]) {
		return "", false
	}
	return string(b), true
}

// beginsWord tells whether a word begins at name[i], which is not its first letter: after an underscore, at a capital
// after none, and at the last of several capitals before a small letter.
func beginsWord(name string, i int) bool {
	before := name[i-1]
	if before == '_' {
		return true
	}
	if !isUpper(name[i]) {
		return false
	}
	return !isUpper(before) || i+1 < len(name) && isLower(name[i+1])
}

func isUpper(c byte) bool  { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool  { return c >= 'a' && c <= 'z' }
func isLetter(c byte) bool { return isUpper(c) || isLower(c) }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func lower(c byte) byte {
	if isUpper(c) {
		return c + ('a' - 'A')
	}
	return c
}

// Kinds returns the canonical names of the kinds that the file knows: the nine, and those that it declares.
func (p *Policies) Kinds() []string { return slices.Clone(p.kinds.names[1:]) }

// KindLabel returns the canonical name of a kind that the file knows, however it is written, and "unknown" for any
// other. So its values are bounded, for metrics. It does not allocate.
func (p *Policies) KindLabel(kind string) string { return p.kinds.name(p.kinds.index(kind)) }

// KindName returns the canonical name of the kind of a number: see Kind.
func (p *Policies) KindName(number uint8) string { return p.kinds.name(number) }

// RoleOf returns what a kind is evidence of under one of these policies. It does not allocate.
func (p *Policies) RoleOf(policy *Policy, kind string) Role { return policy.roles[p.kinds.index(kind)] }
