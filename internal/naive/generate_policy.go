package naive

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// dice are random choices, the same for the same seed.
type dice struct{ *rand.Rand }

// chance is true in so many of a hundred cases.
func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

// maybe returns one of the values, or nil in half of the cases.
func maybe[T any](d dice, from ...T) *T {
	if d.chance(50) {
		return nil
	}
	return new(pick(d, from...))
}

// some returns up to n different values, at least one, in their order in from.
func some(d dice, n int, from ...string) []string {
	var chosen []string
	for _, i := range slices.Sorted(slices.Values(d.Perm(len(from))[:1+d.IntN(n)])) {
		chosen = append(chosen, from[i])
	}
	return chosen
}

var declared = []string{"odd_tone", "tool_misuse"}

// policies returns a valid policy file. Its first policy is the one of the circuit that most steps are about.
func (d dice) policies() Policies {
	p := Policies{Defaults: d.knobs(true)}
	if d.chance(50) {
		p.Kinds = declared
	}
	matches := [][]string{pick(d, []string{"a:*"}, []string{"a:?:v1"}, []string{"a:x:*", "q:*"}), {"b:*", "a:*"}, {"*"}}
	for i := range pick(d, 1, 2, 3, 3) {
		p.Policies = append(p.Policies, d.policy(fmt.Sprintf("p%d", i+1), matches[i], p.Kinds))
	}
	p.repair()
	return p
}

func (d dice) knobs(whole bool) Knobs {
	k := Knobs{
		Window: maybe(d, int64(1_000), 5_000, 10_000, 60_000), MinimumThroughput: maybe(d, int64(1), 2, 3, 4, 6),
		Break: Break{
			Duration: maybe(d, int64(1_000), 2_000, 3_333, 10_000),
			Backoff:  maybe(d, int64(1_000), 1_500, 2_000, 1_001, 3_333),
			Max:      maybe(d, int64(10_000), 15_000, 60_000), HealthyAfter: maybe(d, int64(2_000), 10_000, 60_000),
		},
		HalfOpen: HalfOpen{
			Concurrency: maybe(d, int64(1), 2, 2, 3), Successes: maybe(d, int64(1), 2, 3),
			Failures: maybe(d, int64(1), 2, 3), Lease: maybe(d, int64(1_000), 2_000, 5_000),
			Implicit: maybe(d, true, false),
		},
		IdleAfter: maybe(d, int64(60_000), 120_000, 600_000),
	}
	if d.chance(10) {
		k.Ramp = []RampStep{{Share: 100, For: 1_000}, {Share: 500, For: 2_500}}
	}
	if !whole {
		return k
	}
	k.Break.Jitter = new(int64)
	k.Break.Duration = new(pick(d, int64(1_000), 2_000, 3_333, 10_000))
	k.MinimumThroughput = new(pick(d, int64(1), 2, 3, 4, 6))
	return k
}

func (d dice) policy(name string, match, kinds []string) Policy {
	p := Policy{Name: name, Match: match}
	if d.chance(30) {
		p.Knobs = d.knobs(false)
	}
	if d.chance(15) {
		p.Enforce = new(d.chance(20))
	}
	if d.chance(5) {
		p.Enabled = new(d.chance(50))
	}
	if d.chance(50) {
		p.Kinds = d.roles(kinds)
	}
	if d.chance(40) {
		p.SeverityWeights = d.weights(severities)
	}
	if d.chance(40) {
		p.EvaluatorWeights = d.weights(evaluators)
	}
	names := d.Perm(6)
	for i := range pick(d, 1, 1, 2, 2, 3, 4) {
		p.Rules = append(p.Rules, d.rule(fmt.Sprintf("r%d", names[i]), i == 0, kinds))
	}
	return p
}

// roles leaves at least two kinds to be failures of weight 1.
func (d dice) roles(kinds []string) map[string]Role {
	roles := map[string]Role{}
	for _, kind := range slices.Concat(some(d, 3, nine...), kinds) {
		switch role := pick(d, Failure, Failure, Success, Neutral); role {
		case Failure:
			roles[kind] = Role{role, pick(d, int64(0), 100, 200, 333, 500, 1_000, 2_000)}
		default:
			roles[kind] = Role{Name: role}
		}
	}
	return roles
}

func (d dice) weights(names []string) map[string]int64 {
	weights := map[string]int64{}
	for _, name := range some(d, 2, names...) {
		weights[name] = pick(d, int64(250), 333, 500, 1_500, 2_000, 5_000)
	}
	return weights
}

// rule returns a rule. A plain one opens and has no selectors, so that a policy has a rule that trips with ease.
func (d dice) rule(name string, plain bool, kinds []string) Rule {
	types := []string{Ratio, Ratio, Count, Consecutive, Immediate, SlowRatio, Sum}
	if plain {
		types = []string{Ratio, Ratio, Ratio, Ratio, Count, Count, Consecutive, Consecutive, SlowRatio, Sum}
	}
	r := Rule{Name: name, Type: pick(d, types...)}
	if !plain || d.chance(10) {
		d.selectors(&r, kinds)
	}
	switch r.Type {
	case Ratio:
		r.Threshold = pick(d, int64(100_000), 250_000, 333_000, 500_000, 500_000, 750_000, 1_000_000, 1_500_000)
	case Count:
		r.Threshold = pick(d, int64(1), 2, 3, 5) * 1_000_000
	case Consecutive:
		r.Threshold = pick(d, int64(2), 2, 3, 5) * 1_000_000
	case SlowRatio:
		r.Over, r.Threshold = pick(d, int64(100), 1_000), pick(d, int64(250_000), 500_000, 1_000_000)
	case Sum:
		r.Of = pick(d, "cost_usd", "cost_usd", "input_tokens", "output_tokens", "tokens")
		r.Threshold = pick(d, int64(100), 200, 1_000) * 1_000_000
		if r.Of == "cost_usd" {
			r.Threshold = pick(d, int64(500_000), 1_000_000, 999_999, 2_500_000)
		}
		r.Only = pick(d, "", "", "rejected", "fallback")
	}
	d.extent(&r)
	return r
}

func (d dice) selectors(r *Rule, kinds []string) {
	if d.chance(50) {
		r.Kinds = some(d, 3, slices.Concat(nine[1:], kinds)...)
		if d.chance(10) {
			r.Kinds = append(r.Kinds, "accepted")
		}
	}
	if d.chance(20) {
		r.Severity = pick(d, "low", "normal", "high", "critical")
	}
	if d.chance(12) {
		r.ReasonCodes = some(d, 2, "rc1", "rc2")
	}
	if d.chance(20) {
		r.Evaluators = some(d, 2, evaluators...)
	}
	if d.chance(45) {
		r.Action = pick(d, "degrade", "degrade", "degrade", "open")
	}
}

// extent gives the rule a window or a last, and a minimum of its own.
func (d dice) extent(r *Rule) {
	r.Window, r.Last, r.MinimumThroughput = 0, 0, 0
	minimum := r.Type == Ratio || r.Type == SlowRatio
	switch {
	case !r.windowed():
		return
	case r.Type != Sum && d.chance(25):
		r.Last = max(pick(d, int64(1), 2, 3, 4, 5, 10), min(r.Threshold/1_000_000, 10))
		if minimum && d.chance(25) {
			r.MinimumThroughput = 1 + d.Int64N(r.Last)
		}
	case d.chance(40):
		r.Window = pick(d, int64(1_000), 5_000, 10_000, 60_000)
	}
	if minimum && r.Last == 0 && d.chance(25) {
		r.MinimumThroughput = pick(d, int64(1), 2, 3, 5)
	}
}

// repair lowers the thresholds that no outcome can reach, and drops selectors with which nothing weighs anything.
func (p *Policies) repair() {
	for i := range p.Policies {
		for j := range p.Policies[i].Rules {
			p.repairRule(&p.Policies[i], &p.Policies[i].Rules[j])
		}
	}
}

func (p *Policies) repairRule(policy *Policy, r *Rule) {
	if r.Type != Ratio {
		return
	}
	if policy.greatest(*p, *r) == 0 {
		r.Kinds, r.Severity, r.Evaluators = nil, "", nil
	}
	r.Threshold = min(r.Threshold, policy.greatest(*p, *r)*1_000)
}

// greatest returns the greatest weight that an outcome can have for the rule, in thousandths.
func (p *Policy) greatest(all Policies, r Rule) int64 {
	var greatest int64
	r.ReasonCodes = nil
	for _, kind := range slices.Concat(nine, all.Kinds) {
		for i := range len(severities) * len(evaluators) {
			o := seenOutcome{kind: kind, role: p.role(kind)}
			o.severity, o.evaluator = severities[i%len(severities)], evaluators[i/len(severities)]
			greatest = max(greatest, r.tally(p, o).weight)
		}
	}
	return greatest
}

// clone returns a copy that shares nothing which a reload of the generator's changes.
func (p Policies) clone() Policies {
	p.Policies = slices.Clone(p.Policies)
	for i := range p.Policies {
		p.Policies[i].Rules = slices.Clone(p.Policies[i].Rules)
		p.Policies[i].Kinds = maps.Clone(p.Policies[i].Kinds)
		p.Policies[i].Match = slices.Clone(p.Policies[i].Match)
	}
	return p
}
