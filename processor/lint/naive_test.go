package lint_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/internal/naive"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestAgainstAnotherReading holds random rules, one at a time, against random outcomes, and compares what is found with
// what the outcomes say by themselves: the trips of a second reading of the specification, the fullest window found by
// counting, and the kinds that came.
func TestAgainstAnotherReading(t *testing.T) {
	met := map[string]int{}
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 5))
		outcomes := random(rng)
		rule := randomRule(rng)
		policies := naive.Policies{
			Defaults: naive.Knobs{Break: naive.Break{Jitter: new(int64)}},
			Policies: []naive.Policy{{Name: "p", Match: []string{"*"}, Rules: []naive.Rule{rule}}},
		}
		got, want := found(t, policies.YAML(), outcomes), expected(policies, rule, outcomes)
		fits := len(got) == len(want)
		for i := range min(len(got), len(want)) {
			fits = fits && strings.Contains(got[i], want[i])
		}
		if !fits {
			t.Fatalf("seed %d: found %q, want %q\n%s", seed, got, want, policies.YAML())
		}
		for _, w := range append(want, fmt.Sprint(len(want), " findings")) {
			met[strings.Join(strings.Fields(w)[:2], " ")]++
		}
	}
	for _, what := range []string{"0 findings", "could not", "would have", "never judges"} {
		if met[what] < 10 {
			t.Errorf("%q was met %d times, want 10 or more: %v", what, met[what], met)
		}
	}
}

// random returns outcomes of one circuit, of some kinds, at any distance.
func random(rng *rand.Rand) []schemas.Outcome {
	kinds := slices.Clone(schemas.Kinds)
	rng.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	kinds = append(kinds[:1+rng.IntN(3)], slices.Repeat([]string{schemas.Accepted}, rng.IntN(12))...)
	at, apart := t0, 1+rng.IntN(20_000)
	outcomes := make([]schemas.Outcome, 10+rng.IntN(90))
	for i := range outcomes {
		outcomes[i] = schemas.Outcome{Circuit: "a:1", Kind: kinds[rng.IntN(len(kinds))], Count: 1, Time: at}
		at = at.Add(time.Duration(rng.IntN(apart)) * time.Millisecond)
	}
	return outcomes
}

func randomRule(rng *rand.Rand) naive.Rule {
	r := naive.Rule{Name: "r", Threshold: int64(1+rng.IntN(10)) * 100_000}
	if rng.IntN(3) == 0 {
		r.Kinds = []string{schemas.Kinds[rng.IntN(len(schemas.Kinds))]}
	}
	switch rng.IntN(4) {
	case 0:
		r.Type, r.Last = naive.Ratio, int64(5+rng.IntN(40))
	case 1:
		r.Type, r.Threshold = naive.Consecutive, int64(1+rng.IntN(5))*1_000_000
	default:
		r.Type, r.Window, r.MinimumThroughput = naive.Ratio, int64(1000+rng.IntN(200_000)), int64(2+rng.IntN(20))
	}
	return r
}

// expected returns what the messages should contain.
func expected(p naive.Policies, r naive.Rule, outcomes []schemas.Outcome) []string {
	var want []string
	came := func(kind string) bool {
		return slices.ContainsFunc(outcomes, func(o schemas.Outcome) bool { return o.Kind == kind })
	}
	if r.Kinds != nil && !came(r.Kinds[0]) {
		want = append(want, "could not be tried: no circuit of its policy produced "+r.Kinds[0])
	}
	var plain []naive.Outcome
	for _, o := range outcomes {
		plain = append(plain, naive.Outcome{Kind: o.Kind, Time: new(o.Time.UnixMilli()), Count: 1, Severity: "normal"})
	}
	trips := slices.DeleteFunc(p.Replay("a:1", plain).Trips, func(t naive.Trip) bool { return t.Rule != "r" })
	if n := len(trips); n > 0 {
		at := time.UnixMilli(trips[0].At).UTC().Format(time.RFC3339)
		want = append(want, "would have opened a:1 at "+at)
		if n > 1 {
			want[len(want)-1] += fmt.Sprintf(", with %s at a threshold of %s, the first of %d times",
				schemas.Decimal(trips[0].Observed, 3), schemas.Decimal(float64(r.Threshold)/1e6, 3), n)
		}
		return want
	}
	if r.Type != naive.Ratio {
		return want
	}
	most, span := fullest(r, outcomes), outcomes[len(outcomes)-1].Time.Sub(outcomes[0].Time)
	switch window := time.Duration(r.Window) * time.Millisecond; {
	case r.Last > 0 && most < r.Last:
		want = append(want, fmt.Sprintf("could not be tried: it waits for %d outcomes, and saw at most %d", r.Last,
			most))
	case r.Last > 0 || most >= r.MinimumThroughput:
	case span < window:
		want = append(want, fmt.Sprintf("saw at most %d, but no circuit was recorded for so long", most))
	default:
		want = append(want, fmt.Sprintf("never judges at the recorded rate: its window of %s held at most %d",
			schemas.Brief(window), most))
	}
	return want
}

// fullest returns how many outcomes the rule saw at most at a time.
func fullest(r naive.Rule, outcomes []schemas.Outcome) int64 {
	neutral := []string{schemas.PolicyRejection, schemas.EvaluatorError, schemas.Cancelled}
	var seen []time.Time
	most := int64(0)
	for _, o := range outcomes {
		if slices.Contains(neutral, o.Kind) && !slices.Contains(r.Kinds, o.Kind) {
			continue
		}
		seen = append(seen, o.Time)
		n := int64(0)
		for _, at := range seen {
			if r.Last > 0 || o.Time.Sub(at) <= time.Duration(r.Window)*time.Millisecond {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
