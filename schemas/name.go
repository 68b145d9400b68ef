package schemas

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits, in bytes.
const (
	MaxRecord = 64 << 10 // Of an outcome or a signal; a dead letter's payload is cut to it.
	MaxState  = 1 << 20  // Of every record that Fusebox itself writes.
	MaxName   = 200      // Of a circuit, a lease, a holder and a kind.
	MaxText   = 256      // Of a reason, a reason code, a stage, a source and an actor.
)

const replacement = "\uFFFD"

// CheckCircuit returns a *Fault where the name is not UTF-8 of 1 to MaxName bytes without control characters.
func CheckCircuit(name string) error {
	if problem := nameProblem(name); problem != "" {
		return &Fault{Field: "circuit", Problem: problem}
	}
	return nil
}

func nameProblem(name string) string {
	switch {
	case name == "":
		return "is missing"
	case len(name) > MaxName:
		return fmt.Sprintf("has %d bytes, must have at most %d", len(name), MaxName)
	case !utf8.ValidString(name):
		return "is not valid UTF-8"
	case hasControl(name):
		return "has control characters"
	}
	return ""
}

// Cut returns s without control characters and, of that, what fits into limit bytes and ends with a whole character.
// It allocates only where there are control characters.
func Cut(s string, limit int) string {
	if hasControl(s) {
		s = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return -1
			}
			return r
		}, s)
	}
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// hasControl tells whether there is a control character, U+0000 to U+001F and U+007F to U+009F, in valid UTF-8.
func hasControl(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c == 0x7F || c == 0xC2 && i+1 < len(s) && s[i+1] < 0xA0 {
			return true
		}
	}
	return false
}

// kindOf returns the constant where the name is one of the nine kinds, without regard to case and underscores. Any
// other name stays as it came, but for what could not stand in a log line: control characters are replaced, not
// removed, so that no name turns into that of another kind, and what is beyond MaxName bytes is cut.
func kindOf(name string) string {
	for _, kind := range Kinds {
		if name == kind {
			return kind
		}
	}
	for _, kind := range Kinds {
		if SameKind(name, kind) {
			return kind
		}
	}
	if hasControl(name) {
		name = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return utf8.RuneError
			}
			return r
		}, name)
	}
	return Cut(name, MaxName)
}

// SameKind compares a kind's name with a canonical one, in snake_case, without regard to case and underscores.
func SameKind(name, kind string) bool {
	k := 0
	for i := range len(name) {
		c := name[i]
		if c == '_' {
			continue
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if k < len(kind) && kind[k] == '_' {
			k++
		}
		if k == len(kind) || kind[k] != c {
			return false
		}
		k++
	}
	return k == len(kind)
}
