package suggest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

// TestOwnRecording runs what is proposed over what it was made from, as a backtest of it does, and wants no trip:
// whatever circuits are small, whatever records stand for several outcomes or are repeats.
func TestOwnRecording(t *testing.T) {
	small := made("a:b:v2", 10, func(int) string { return schemas.MissingEvidence })
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 11))
		counted := made("a:b:v1", 1000, failing(seed, 0.2, 0.3))
		repeated := made("a:b:v1", 400, failing(seed, 0.15, 0.3))
		for i := range counted {
			counted[i].Count = 1 + rng.Int64N(12)
		}
		var repeats []schemas.Outcome
		for i, o := range repeated {
			o.ID = fmt.Sprint(i)
			times := map[string]int{schemas.Accepted: 9}[o.Kind] + 1
			repeats = append(repeats, slices.Repeat([]schemas.Outcome{o}, times)...)
		}
		for name, outcomes := range map[string][]schemas.Outcome{
			"a small circuit": append(made("a:b:v1", 500, failing(seed, 0.02, 0)), small...), "counts": counted,
			"repeats": repeats,
		} {
			p := propose(t, outcomes, all, 1e-2)
			if found := trips(t, p.Policy, outcomes); len(found) > 0 {
				t.Errorf("seed %d, %s: what is proposed trips at %v of its own recording:\n%s",
					seed, name, found, p.Policy)
			}
			if !strings.Contains(p.Policy, "never trip") {
				t.Errorf("seed %d, %s: the proposal does not say that its rules never trip", seed, name)
			}
		}
	}
}

// TestNamesLikePatterns has names in which stands what means any text in a pattern.
func TestNamesLikePatterns(t *testing.T) {
	var outcomes []schemas.Outcome
	names := []string{"*", "?", "a*", "ab", "*:*:v1", "a:*:v1", "a:b:v1", "*:b:v1"}
	for _, circuit := range names {
		outcomes = append(outcomes, made(circuit, 100, failing(1, 0, 0))...)
	}
	p := propose(t, outcomes, all, 1e-5)
	policies, err := breaker.Read("proposal", []byte(p.Policy))
	if err != nil {
		t.Fatalf("%v:\n%s", err, p.Policy)
	}
	for _, circuit := range names {
		if policy := policies.For(circuit); len(policy.Rules) == 0 {
			t.Errorf("nothing is proposed for circuit %s:\n%s", circuit, p.Policy)
		}
	}
	if ab := policies.For("ab").Name; ab != "ab" {
		t.Errorf("the policy of ab is %s", ab)
	}
}
