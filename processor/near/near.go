// Package near finds what a mistyped word may stand for.
package near

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Words returns the words that a mistyped one may stand for: those that are few edits away, the nearest first.
func Words(mistyped string, words []string) []string {
	type candidate struct {
		word  string
		edits int
	}
	var found []candidate
	for _, word := range words {
		if edits := levenshtein.ComputeDistance(mistyped, word); edits <= max(2, len(mistyped)/4) && edits < len(word) {
			found = append(found, candidate{word, edits})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.edits, b.edits), cmp.Compare(a.word, b.word))
	})
	var near []string
	for _, c := range found {
		near = append(near, c.word)
	}
	return near
}

// Question asks whether one of these is meant, as the end of a sentence: "" where there is none.
func Question(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(words, " or ") + "?"
}
