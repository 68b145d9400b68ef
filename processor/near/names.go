package near

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// lettersCompared is how many pairs of letters are compared: tenths of a second, and 50,000 names of 30 letters.
const lettersCompared = 45_000_000

// Names returns at most so many names that contain a mistyped one or are few edits away, the nearest first. Of very
// many names it looks at the first alone that are about as long.
func Names(mistyped string, names iter.Seq[string], most int) []string {
	var found []candidate
	letters, compared := utf8.RuneCountInString(mistyped), 0
	allowed := max(2, len(mistyped)/3)
	for name := range names {
		longer := utf8.RuneCountInString(name) - letters
		within := mistyped != "" && strings.Contains(name, mistyped)
		if !within && max(longer, -longer) > allowed {
			continue
		}
		if compared += letters * (letters + longer); compared > lettersCompared {
			break
		}
		if edits := levenshtein.ComputeDistance(mistyped, name); within || edits <= allowed {
			found = append(found, candidate{name, edits})
		}
	}
	slices.SortFunc(found, byEdits)
	return wordsOf(found[:min(most, len(found))])
}
