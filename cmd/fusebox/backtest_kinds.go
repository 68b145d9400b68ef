package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fusebox-project/fusebox/processor/backtest"
)

// namedKinds is how many kinds are named one by one that no policy knows.
const namedKinds = 10

// tellUnknownKinds says of each kind that was recorded and that policies do not know how often it came, by whose
// policies, and what may have been meant.
func (b *backtester) tellUnknownKinds(w io.Writer) {
	outcomes := map[string]int64{}
	for _, s := range b.sides {
		for kind, n := range s.unknown.Kinds {
			outcomes[kind] = n
		}
	}
	all := backtest.Unknown{Kinds: outcomes}
	kinds := all.Common()
	for _, kind := range kinds[:min(len(kinds), namedKinds)] {
		var files []string
		meant := ""
		for _, s := range b.sides {
			if _, unknown := s.unknown.Kinds[kind]; unknown {
				files = append(files, s.title())
				meant = cmp.Or(meant, backtest.Meant(kind, s.policies))
			}
		}
		verb := "do"
		if files = slices.Compact(files); len(files) == 1 {
			verb = "does"
		}
		if meant != "" {
			meant = "; did you mean " + meant + "?"
		}
		fmt.Fprintf(w, "kind %q, of %s, is none of the nine, and %s %s not declare it: so it is neutral%s\n", kind,
			count(int(outcomes[kind]), "outcome", "outcomes"), strings.Join(files, " and "), verb, meant)
	}
	if more := len(kinds) - namedKinds; more > 0 {
		fmt.Fprintf(w, "and %s that no policy declares\n", count(more, "more kind", "more kinds"))
	}
}
