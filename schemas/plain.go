package schemas

import "math"

// plain is a look at text: whether it is JSON of the plainest sort, as nearly every record is: printable ASCII without
// escapes, and nothing nested deeply. Where it says no, the library has the word; where it says yes, the library would,
// in three times the time. It notes where the tokens are, as far as it has room, so that nobody has to look for them
// again.
type plain struct {
	tokens [plainTokens]token
	n      int // Of the tokens noted.
}

// token is where a token begins and ends.
type token struct{ begin, end uint16 }

// plainTokens is room for an outcome with every member.
const plainTokens = 96

// is tells whether the text is plain.
func (p *plain) is(text []byte) bool {
	p.n = 0
	end := p.value(text, 0, 0)
	return end > 0 && space(text, end) == len(text)
}

// note takes down a token. The first one that finds no room is the last one noted.
func (p *plain) note(begin, end int) {
	if p.n < plainTokens && end <= math.MaxUint16 {
		p.tokens[p.n] = token{uint16(begin), uint16(end)}
		p.n++
	}
}

// plainDepth is how deeply objects and arrays may be nested.
const plainDepth = 16

// bad is what the functions below return in place of the end of what they found.
const bad = -1

// value returns the end of the value that begins there, white space before it aside.
func (p *plain) value(text []byte, at, depth int) (end int) {
	if at = space(text, at); at == len(text) {
		return bad
	}
	switch text[at] {
	case '"':
		end = plainString(text, at+1)
	case '{', '[':
		if depth == plainDepth {
			return bad
		}
		return p.list(text, at, depth+1)
	case 't':
		end = word(text, at, "true")
	case 'f':
		end = word(text, at, "false")
	case 'n':
		end = word(text, at, "null")
	default:
		end = plainNumber(text, at)
	}
	p.note(at, end)
	return end
}

// list returns the end of the object or array that begins there.
func (p *plain) list(text []byte, at, depth int) int {
	object, end := text[at] == '{', text[at]+2 // In ASCII the brackets stand two apart.
	p.note(at, at+1)
	if at = space(text, at+1); at < len(text) && text[at] == end {
		p.note(at, at+1)
		return at + 1
	}
	for {
		if object {
			if at = p.name(text, space(text, at)); at < 0 {
				return bad
			}
		}
		if at = p.value(text, at, depth); at < 0 {
			return bad
		}
		at = space(text, at)
		switch {
		case at == len(text):
			return bad
		case text[at] == end:
			p.note(at, at+1)
			return at + 1
		case text[at] != ',':
			return bad
		}
		at++
	}
}

// name returns the end of the name that stands there, with its colon.
func (p *plain) name(text []byte, begin int) int {
	if begin == len(text) || text[begin] != '"' {
		return bad
	}
	end := plainString(text, begin+1)
	if end < 0 {
		return bad
	}
	p.note(begin, end)
	return word(text, space(text, end), ":")
}

// plainString returns the end of the string whose text begins there.
func plainString(text []byte, at int) int {
	for at < len(text) && plainText[text[at]] {
		at++
	}
	return word(text, at, `"`)
}

// plainNumber returns the end of the number that begins there.
func plainNumber(text []byte, at int) int {
	if at < len(text) && text[at] == '-' {
		at++
	}
	whole := at
	if at = plainDigits(text, at); at < 0 || text[whole] == '0' && at > whole+1 {
		return bad
	}
	if at < len(text) && text[at] == '.' {
		if at = plainDigits(text, at+1); at < 0 {
			return bad
		}
	}
	if at < len(text) && (text[at] == 'e' || text[at] == 'E') {
		if at++; at < len(text) && (text[at] == '+' || text[at] == '-') {
			at++
		}
		return plainDigits(text, at)
	}
	return at
}

// plainDigits returns the end of the digits that begin there, of which there must be one.
func plainDigits(text []byte, at int) int {
	begin := at
	for at < len(text) && '0' <= text[at] && text[at] <= '9' {
		at++
	}
	if at == begin {
		return bad
	}
	return at
}

// word returns the end of a word that must stand there.
func word(text []byte, at int, want string) int {
	if len(text)-at < len(want) || string(text[at:at+len(want)]) != want {
		return bad
	}
	return at + len(want)
}

// space returns where white space that begins there, or not, ends.
func space(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t') {
		at++
	}
	return at
}

// plainText are the bytes that may stand in a string as they are.
var plainText = func() (set [256]bool) {
	for c := ' '; c <= '~'; c++ {
		set[c] = c != '"' && c != '\\'
	}
	return set
}()
