package breaker_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fusebox-project/fusebox/breaker"
)

func TestGlobMatches(t *testing.T) {
	tests := []struct {
		glob, name string
		want       bool
	}{
		{"*", "a", true},
		{"*", "a:b/c:v1", true},
		{"a", "a", true},
		{"a", "A", false},
		{"a", "ab", false},
		{"ab", "a", false},
		{"extraction:*", "extraction:gpt:v1", true},
		{"extraction:*", "extraction:", true},
		{"extraction:*", "extraction", false},
		{"*:v1", "a:b:v1", true},
		{"*:v1", "a:v1:v2", false},
		{"a*b*c", "abbbc", true},
		{"a*b*c", "acb", false},
		{"a**c", "abc", true},
		{"?", "é", true},
		{"?", "日", true},
		{"?", "😀", true},
		{"??", "é", false},
		{"*?", "é", true},
		{"a?c", "a:c", true},
		{"a?c", "ac", false},
		{"*é*", "café:v1", true},
		{"*日", "一日", true},
		{"[ab]", "a", false},
		{"[ab]", "[ab]", true},
		{`a\*`, `a\b`, true},
		{"a.c", "abc", false},
		{"?*", "a", true},
		{"*a?", "aab", true},
	}
	for _, tt := range tests {
		if got := breaker.Glob(tt.glob).Matches(tt.name); got != tt.want {
			t.Errorf("Glob(%q).Matches(%q) = %v, want %v", tt.glob, tt.name, got, tt.want)
		}
	}
}

// matches is the meaning of a glob, too simple to be wrong.
func matches(glob, name []rune) bool {
	switch {
	case len(glob) == 0:
		return len(name) == 0
	case glob[0] == '*':
		return matches(glob[1:], name) || len(name) > 0 && matches(glob, name[1:])
	case len(name) == 0:
		return false
	}
	return (glob[0] == '?' || glob[0] == name[0]) && matches(glob[1:], name[1:])
}

func FuzzGlobMatches(f *testing.F) {
	f.Add("a*b?c", "aéb:c")
	f.Add("**?é", "日é")
	f.Add("*ab*ab", "abababab")
	f.Fuzz(func(t *testing.T, glob, name string) {
		if !utf8.ValidString(glob) || !utf8.ValidString(name) || strings.Count(glob, "*") > 4 || len(name) > 40 {
			t.Skip()
		}
		if got, want := breaker.Glob(glob).Matches(name), matches([]rune(glob), []rune(name)); got != want {
			t.Errorf("Glob(%q).Matches(%q) = %v, want %v", glob, name, got, want)
		}
	})
}

// matching returns a file of policies, each with its globs.
func matching(policies ...[]string) string {
	var b strings.Builder
	b.WriteString("version: 1\npolicies:\n")
	for i, globs := range policies {
		fmt.Fprintf(&b, "- {name: p%d, rules: [{name: r, type: count, threshold: 1}], match: [", i)
		for _, g := range globs {
			fmt.Fprintf(&b, "%q,", g)
		}
		b.WriteString("]}\n")
	}
	return b.String()
}

func TestCover(t *testing.T) {
	tests := []struct {
		name     string
		policies [][]string
		want     string // The policy that is left without a circuit, and by which other.
	}{
		{"a star covers all", [][]string{{"*"}, {"a:*"}},
			`f:4:68: no circuit is left for this policy, as policy "p0" in line 3`},
		{"the same", [][]string{{"a:*"}, {"a:*"}}, `"p0"`},
		{"the general after the particular", [][]string{{"a:*"}, {"*"}}, ""},
		{"a part of a pattern", [][]string{{"a:*"}, {"a:b:*"}}, `"p0"`},
		{"one of two is not covered", [][]string{{"a:*"}, {"a:b:*", "b:*"}}, ""},
		{"each by another pattern", [][]string{{"a:*", "b:*"}, {"b:x", "a:y"}}, `"p0"`},
		{"each by another policy", [][]string{{"a:*"}, {"b:*"}, {"b:x", "a:y"}}, "the policies before it"},
		{"names are not empty", [][]string{{"?*"}, {"*"}}, `"p0"`},
		{"of two characters and more", [][]string{{"??*"}, {"*"}}, ""},
		{"by length, together", [][]string{{"?", "??*"}, {"*"}}, `"p0"`},
		{"a character is no run", [][]string{{"a?"}, {"a*"}}, ""},
		{"a run of one", [][]string{{"a*"}, {"a?"}}, `"p0"`},
		{"stars in another order", [][]string{{"*?a"}, {"?*a"}}, `"p0"`},
		{"any with a in it", [][]string{{"*a*"}, {"*a*a*"}}, `"p0"`},
		{"with a twice is less than once", [][]string{{"*a*a*"}, {"*a*"}}, ""},
		{"case counts", [][]string{{"A*"}, {"a*"}}, ""},
		{"characters, not bytes", [][]string{{"?"}, {"é"}}, `"p0"`},
		{"by begin and end, which overlap", [][]string{{"*ab"}, {"ab*ab"}}, `"p0"`},
		{"overlapping begin and end", [][]string{{"ab*ab"}, {"ab*"}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := breaker.Read("f", []byte(matching(tt.policies...)))
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("Read of %q: %v, want a fault with %q", tt.policies, err, tt.want)
			}
		})
	}
}

// TestCoverAgainstNames compares the check with all short names over three letters.
func TestCoverAgainstNames(t *testing.T) {
	names := []string{""}
	for i := 0; len(names[i]) < 6; i++ {
		for _, c := range "abz" {
			names = append(names, names[i]+string(c))
		}
	}
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 0))
		pattern := func() string {
			var b strings.Builder
			for range 1 + rng.IntN(3) {
				b.WriteByte("ab?**"[rng.IntN(5)])
			}
			return b.String()
		}
		by := []string{pattern(), pattern(), pattern()}[:1+rng.IntN(3)]
		glob := pattern()
		left := ""
		for _, name := range names[1:] {
			if matches([]rune(glob), []rune(name)) && !anyMatches(by, name) {
				left = name
				break
			}
		}
		_, err := breaker.Read("f", []byte(matching(by, []string{glob})))
		if (err != nil) != (left == "") {
			t.Fatalf("seed %d: Read with %q after %q: %v, and %q is left", seed, glob, by, err, left)
		}
	}
}

func anyMatches(globs []string, name string) bool {
	for _, g := range globs {
		if matches([]rune(g), []rune(name)) {
			return true
		}
	}
	return false
}

// TestCoverOfHardPatterns has patterns that naive searches take for ever with. Where the work is bounded a policy
// passes for reachable.
func TestCoverOfHardPatterns(t *testing.T) {
	hard := "*a" + strings.Repeat("?", 90)
	var many [][]string
	for i := range 500 {
		many = append(many, []string{"*" + string(rune('a'+i%26)) + strings.Repeat("?", 1+i/3)})
	}
	tests := []struct {
		policies [][]string
		covered  bool
	}{
		{[][]string{{hard}, {hard + "*"}}, false},
		{[][]string{{hard + "*"}, {hard}}, true},
		{[][]string{{hard, "*b" + hard}, {"*" + hard}}, true},
		{[][]string{{hard, "?"}, {"*"}}, false},
		{many, false},
	}
	for _, tt := range tests {
		_, err := breaker.Read("f", []byte(matching(tt.policies...)))
		if (err != nil) != tt.covered {
			t.Errorf("Read with %.200q: %v, want a fault: %v", tt.policies, err, tt.covered)
		}
	}
}
