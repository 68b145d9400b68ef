package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// nearWords returns the words that a mistyped one may stand for: those that are few edits away, the nearest first.
func nearWords(mistyped string, words []string) []string {
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

// didYouMean names the word that was meant, as the end of a sentence: "" where none is near.
func didYouMean(mistyped string, words []string) string {
	if near := nearWords(mistyped, words); len(near) > 0 {
		return "; did you mean " + near[0] + "?"
	}
	return ""
}

// orMeant names several words that may have been meant, as the end of a sentence: "" where there is none.
func orMeant(near []string) string {
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}
