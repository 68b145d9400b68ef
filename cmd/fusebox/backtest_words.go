package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/processor/backtest"
	"github.com/fusebox-project/fusebox/schemas"
)

// stamp writes a recorded time, in UTC.
func stamp(at time.Time) string { return at.UTC().Format(time.DateTime) }

// brief writes seconds in at most two units.
func brief(seconds float64) string {
	var zero time.Time
	return schemas.Until(zero, zero.Add(time.Duration(seconds*float64(time.Second))))
}

// delay writes how long something took, in outcomes and in time.
func delay(outcomes int64, seconds float64) string {
	return fmt.Sprintf("%s, %s", count(int(outcomes), "outcome", "outcomes"), brief(seconds))
}

// passed says how many bad answers there were from the first of the bad stretch to the trip.
func passed(t *backtest.Trip) string {
	if t.Rule == schemas.ProbeFailed || t.Bad < 2 {
		return ""
	}
	return fmt.Sprintf("%d bad answers by then, in %s", t.Bad, brief(t.DelaySeconds))
}

// share writes a part of a whole as a percentage.
func share(part, whole int64) string {
	if whole == 0 {
		return "-"
	}
	return points(float64(part) / float64(whole))
}

// points writes a share to a tenth of a percent.
func points(share float64) string { return schemas.Decimal(share*100, 1) + "%" }

// of writes a part beside its whole.
func of(part, whole int64) string { return fmt.Sprintf("%d of %d", part, whole) }

// dollars writes an amount of money, to the cent or, where it is little, to three digits that say something.
func dollars(usd float64) string {
	switch {
	case usd == 0:
		return "$0"
	case usd < 0:
		return "-" + dollars(-usd)
	case usd < 1:
		return fmt.Sprintf("$%.3g", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

// kindCounts writes counts by kind, the greatest first.
func kindCounts(byKind map[string]int64) string {
	kinds := slices.SortedFunc(maps.Keys(byKind), func(a, b string) int {
		return cmp.Or(cmp.Compare(byKind[b], byKind[a]), cmp.Compare(a, b))
	})
	var words []string
	for _, kind := range kinds {
		words = append(words, fmt.Sprintf("%d %s", byKind[kind], kind))
	}
	return strings.Join(words, ", ")
}
