package main

import (
	"strings"

	"github.com/fusebox-project/fusebox/processor/near"
)

// didYouMean names the word that was meant, as the end of a sentence: "" where none is near.
func didYouMean(mistyped string, words []string) string {
	if found := near.Words(mistyped, words); len(found) > 0 {
		return "; did you mean " + found[0] + "?"
	}
	return ""
}

// orMeant names several words that may have been meant, as the end of a sentence: "" where there is none.
func orMeant(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(words, " or ") + "?"
}
