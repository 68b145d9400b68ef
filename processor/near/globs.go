package near

import (
	"cmp"
	"slices"
	"strings"
)

// Globs returns the patterns that do not match a mistyped name and would after few edits, one for each four of their
// letters, the nearest first. In them * is any run of characters and ? any one.
func Globs(mistyped string, patterns []string) []string {
	var found []candidate
	for _, pattern := range patterns {
		letters := len(pattern) - strings.Count(pattern, "*") - strings.Count(pattern, "?")
		if edits := edits([]rune(pattern), []rune(mistyped)); edits > 0 && 4*edits <= letters {
			found = append(found, candidate{pattern, edits})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.edits, b.edits) })
	return wordsOf(found)
}

// edits returns how many characters of a name have to be changed, added or left out until a pattern matches it.
func edits(pattern, name []rune) int {
	row := make([]int, len(name)+1) // By how much of the name is matched: by nothing of the pattern at first.
	for i := range row {
		row[i] = i
	}
	for _, p := range pattern {
		before := row[0] // Of the row before, one to the left.
		if p != '*' {
			row[0]++
		}
		for i, c := range name {
			above := row[i+1]
			switch {
			case p == '*':
				row[i+1] = min(above, row[i])
			case p == '?' || p == c:
				row[i+1] = before
			default:
				row[i+1] = 1 + min(before, above, row[i])
			}
			before = above
		}
	}
	return row[len(name)]
}
