package breaker

// Glob is a pattern over circuit names: * is any run of characters, ? is one character, nothing else is special.
type Glob string

// Matches tells whether the whole name matches. Case counts; a character is a Unicode code point.
func (g Glob) Matches(name string) bool {
	p, n := 0, 0
	star, retry := -1, 0
	for n < len(name) {
		switch {
		case p < len(g) && g[p] == '*':
			star, retry = p, n
			p++
		case p < len(g) && g[p] == '?':
			p++
			n += width(name[n])
		case p < len(g) && g[p] == name[n]:
			p++
			n++
		case star >= 0:
			retry += width(name[retry])
			p, n = star+1, retry
		default:
			return false
		}
	}
	for p < len(g) && g[p] == '*' {
		p++
	}
	return p == len(g)
}

// width returns the number of bytes of a character by its first byte. Names are valid UTF-8.
func width(first byte) int {
	switch {
	case first < 0xC0:
		return 1
	case first < 0xE0:
		return 2
	case first < 0xF0:
		return 3
	}
	return 4
}
