package breaker

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// mostCoverSteps bounds the work of finding policies that are never reached. It is far beyond what files that people
// write take; where it does not suffice a policy passes for reachable.
const mostCoverSteps = 5_000_000

// checkCover notes policies of which every circuit is matched by a policy before them.
func (r *parser) checkCover(policies []*Policy, matches []*yaml.Node) {
	steps := mostCoverSteps
	all := func(globs, by []Glob) bool {
		return len(globs) > 0 && !slices.ContainsFunc(globs, func(g Glob) bool { return !covers(by, g, &steps) })
	}
	var earlier []Glob
	for i, p := range policies {
		if all(p.Match, earlier) {
			alone := slices.IndexFunc(policies[:i], func(e *Policy) bool { return all(p.Match, e.Match) })
			if alone >= 0 {
				r.fault(matches[i], "no circuit is left for this policy, as policy %q in line %d matches all of them; "+
					"move it before that one, or match others", policies[alone].Name, policies[alone].Line)
			} else {
				r.fault(matches[i], "no circuit is left for this policy, as the policies before it match all of them; "+
					"move it before those, or match others")
			}
		}
		earlier = append(earlier, p.Match...)
	}
}

// covers tells whether each name of at least one character that g matches is matched by some pattern. It looks for a
// name that is not: it walks g and the patterns side by side, the patterns as the set of all places where they can
// be.
func covers(by []Glob, g Glob, steps *int) bool {
	*steps -= len(by)
	if *steps < 0 {
		return false
	}
	c := newCover(by, g)
	todo := []place{{at: 0, in: c.start}}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if *steps -= 1 + len(p.in); *steps < 0 || len(p.in) == 0 {
			return false
		}
		if c.seen(p, steps) {
			continue
		}
		if p.at == len(c.g) {
			if p.some && !c.ends(p.in) {
				return false
			}
			continue
		}
		switch next := c.g[p.at]; next {
		case '*':
			todo = append(todo, place{p.at + 1, p.some, p.in})
			for _, symbol := range c.symbols(p.in) {
				todo = append(todo, place{p.at, true, c.step(p.in, symbol, steps)})
			}
		case '?':
			for _, symbol := range c.symbols(p.in) {
				todo = append(todo, place{p.at + 1, true, c.step(p.in, symbol, steps)})
			}
		default:
			todo = append(todo, place{p.at + 1, true, c.step(p.in, next, steps)})
		}
	}
	return true
}

// place is how far a walk has come: in g, whether by any character, and in the patterns.
type place struct {
	at   int
	some bool
	in   []int // Sorted places in cover.by.
}

// cover holds the patterns of one walk.
type cover struct {
	g     []rune
	by    []rune // All patterns, each followed by end.
	start []int
	walks map[bool][][][]int // The sets of places met, by place in g.
}

const (
	end   rune = -1 // Of a pattern.
	other rune = -2 // Any character that no pattern has next.
)

func newCover(by []Glob, g Glob) *cover {
	c := &cover{g: []rune(string(g)), walks: map[bool][][][]int{}}
	for _, some := range []bool{false, true} {
		c.walks[some] = make([][][]int, len(c.g)+1)
	}
	var start []int
	for _, b := range by {
		if meets(string(b), string(g)) {
			start = append(start, len(c.by))
			c.by = append(append(c.by, []rune(string(b))...), end)
		}
	}
	c.start = c.close(start)
	return c
}

// meets tells whether two patterns can match the same name, as far as what they begin and end with tells.
func meets(a, b string) bool {
	const wild = "*?"
	i, j := strings.IndexAny(a, wild), strings.IndexAny(b, wild)
	if i < 0 || j < 0 {
		return i >= 0 || j >= 0 || a == b
	}
	n := min(i, j)
	if a[:n] != b[:n] {
		return false
	}
	a, b = a[strings.LastIndexAny(a, wild)+1:], b[strings.LastIndexAny(b, wild)+1:]
	n = min(len(a), len(b))
	return a[len(a)-n:] == b[len(b)-n:]
}

// close adds the places that are reached without a character. Of one pattern it leaves only what lies at its furthest
// star and after it: from there everything matches that matches from before it.
func (c *cover) close(in []int) []int {
	out := make([]int, 0, len(in)+2)
	for _, p := range in {
		out = append(out, p)
		for ; c.by[p] == '*'; p++ {
			out = append(out, p+1)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	kept := out[:0]
	for _, p := range out {
		if c.by[p] == '*' {
			for len(kept) > 0 && !slices.Contains(c.by[kept[len(kept)-1]:p], end) {
				kept = kept[:len(kept)-1]
			}
		}
		kept = append(kept, p)
	}
	return kept
}

// step returns the places after a character.
func (c *cover) step(in []int, symbol rune, steps *int) []int {
	*steps -= 4 * len(in)
	out := make([]int, 0, len(in)+1)
	for _, p := range in {
		switch c.by[p] {
		case '*':
			out = append(out, p)
		case '?', symbol:
			out = append(out, p+1)
		}
	}
	return c.close(out)
}

// symbols returns the characters that make a difference at these places, the one that stands for all others last.
func (c *cover) symbols(in []int) []rune {
	var symbols []rune
	for _, p := range in {
		if b := c.by[p]; b != '*' && b != '?' && b != end {
			symbols = append(symbols, b)
		}
	}
	slices.Sort(symbols)
	return append(slices.Compact(symbols), other)
}

// ends tells whether a pattern can end here.
func (c *cover) ends(in []int) bool {
	return slices.ContainsFunc(in, func(p int) bool { return c.by[p] == end })
}

// seen tells whether a walk came by here with no more places in the patterns, and so finds whatever this one would.
func (c *cover) seen(p place, steps *int) bool {
	met := c.walks[p.some][p.at]
	for _, in := range met {
		*steps -= 1 + len(in)/4
		if subset(in, p.in) {
			return true
		}
	}
	c.walks[p.some][p.at] = append(met, p.in)
	return false
}

// subset tells whether all of a, sorted, is in b, sorted.
func subset(a, b []int) bool {
	for _, v := range a {
		i, ok := slices.BinarySearch(b, v)
		if !ok {
			return false
		}
		b = b[i:]
	}
	return true
}
