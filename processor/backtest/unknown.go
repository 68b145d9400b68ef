package backtest

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor/near"
	"github.com/fusebox-project/fusebox/schemas"
)

// mostUnknown is how many kinds are kept that a file does not know: anybody may make some up.
const mostUnknown = 100

// Unknown counts outcomes of kinds that a file of policies does not know, which are neutral, whatever they mean. The
// zero value has seen none.
type Unknown struct {
	Kinds map[string]int64 // As they are written. Nil where there is none.
}

// Note counts an outcome whose kind is unknown.
func (u *Unknown) Note(o *schemas.Outcome) {
	if u.Kinds == nil {
		u.Kinds = map[string]int64{}
	}
	if _, known := u.Kinds[o.Kind]; known || len(u.Kinds) < mostUnknown {
		u.Kinds[strings.Clone(o.Kind)] += o.Count
	}
}

// Common returns the kinds, most of them first.
func (u *Unknown) Common() []string {
	return slices.SortedFunc(maps.Keys(u.Kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(u.Kinds[b], u.Kinds[a]), cmp.Compare(a, b))
	})
}

// Meant returns the known kind that an unknown one may stand for, "" where none is near.
func Meant(kind string, policies *breaker.Policies) string {
	if found := near.Words(kind, policies.Kinds()); len(found) > 0 {
		return found[0]
	}
	return ""
}
