package schemas

// isPlain tells whether text is JSON of the plainest sort, as nearly every record is: printable ASCII without escapes,
// and nothing nested deeply. Where it says no, the library has the word; where it says yes, the library would, in three
// times the time.
func isPlain(text []byte) bool {
	end := plainValue(text, 0, 0)
	return end > 0 && space(text, end) == len(text)
}

// plainDepth is how deeply objects and arrays may be nested.
const plainDepth = 16

// bad is what the functions below return in place of the end of what they found.
const bad = -1

// plainValue returns the end of the value that begins there, white space before it aside.
func plainValue(text []byte, at, depth int) int {
	if at = space(text, at); at == len(text) {
		return bad
	}
	switch text[at] {
	case '"':
		return plainString(text, at+1)
	case '{', '[':
		if depth == plainDepth {
			return bad
		}
		return plainList(text, at, depth+1)
	case 't':
		return word(text, at, "true")
	case 'f':
		return word(text, at, "false")
	case 'n':
		return word(text, at, "null")
	}
	return plainNumber(text, at)
}

// plainList returns the end of the object or array that begins there.
func plainList(text []byte, at, depth int) int {
	object, end := text[at] == '{', text[at]+2 // In ASCII the brackets stand two apart.
	if at = space(text, at+1); at < len(text) && text[at] == end {
		return at + 1
	}
	for {
		if object {
			if at = word(text, space(text, at), `"`); at < 0 {
				return bad
			}
			if at = plainString(text, at); at < 0 {
				return bad
			}
			if at = word(text, space(text, at), ":"); at < 0 {
				return bad
			}
		}
		if at = plainValue(text, at, depth); at < 0 {
			return bad
		}
		at = space(text, at)
		switch {
		case at == len(text):
			return bad
		case text[at] == end:
			return at + 1
		case text[at] != ',':
			return bad
		}
		at++
	}
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
