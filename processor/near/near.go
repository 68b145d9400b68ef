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
	var found []candidate
	for _, word := range words {
		if edits := levenshtein.ComputeDistance(mistyped, word); edits <= max(2, len(mistyped)/4) && edits < len(word) {
			found = append(found, candidate{word, edits})
		}
	}
	slices.SortFunc(found, byEdits)
	return wordsOf(found)
}

// candidate is a word that may be meant.
type candidate struct {
	word  string
	edits int // How many it is away from what was written.
}

// byEdits puts the nearest first, and among those that are as near goes by the alphabet.
func byEdits(a, b candidate) int {
	return cmp.Or(cmp.Compare(a.edits, b.edits), cmp.Compare(a.word, b.word))
}

func wordsOf(found []candidate) []string {
	var words []string
	for _, c := range found {
		words = append(words, c.word)
	}
	return words
}

// Question asks whether one of these is meant, as the end of a sentence: "" where there is none.
func Question(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(words, " or ") + "?"
}
