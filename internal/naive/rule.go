package naive

import (
	"fmt"
	"math/big"
	"slices"
)

// seenOutcome is an outcome in the words of the policy that handles it.
type seenOutcome struct {
	Outcome
	kind, severity, evaluator string
	role                      Role
	t, started                int64
}

// windowed says whether the rule counts in a window of time.
func (r Rule) windowed() bool {
	return r.Type != Consecutive && r.Type != Immediate && r.Last == 0
}

// length returns the window of a windowed rule, else 0.
func (r Rule) length(s settings) int64 {
	switch {
	case !r.windowed():
		return 0
	case r.Window > 0:
		return r.Window
	}
	return s.window
}

// key tells which rules share a window, and which window a rule keeps at a reload.
func (r Rule) key(p Policies, s settings) string {
	var kinds []string
	for _, k := range r.Kinds {
		kinds = append(kinds, p.canonical(k))
	}
	return fmt.Sprint(r.Type, sorted(kinds), r.Severity, sorted(r.ReasonCodes), sorted(r.Evaluators),
		r.Over, r.Of, r.Only, r.length(s), r.Last)
}

func sorted(names []string) string { return fmt.Sprintf("%q", slices.Sorted(slices.Values(names))) }

func (r Rule) names(kind string) bool {
	return slices.ContainsFunc(r.Kinds, func(name string) bool { return bare(name) == bare(kind) })
}

// sees says whether the rule looks at the outcome at all.
func (r Rule) sees(o seenOutcome) bool {
	return o.role.Name != Neutral || r.names(o.kind) || r.Type == Sum
}

// selects says whether an outcome that the rule sees passes its selectors.
func (r Rule) selects(o seenOutcome) bool {
	switch {
	case len(r.Kinds) > 0 && !r.names(o.kind):
		return false
	case len(r.Kinds) == 0 && r.Type != Sum && r.Type != SlowRatio && o.role.Name != Failure:
		return false
	case r.Severity != "" && slices.Index(severities, o.severity) < slices.Index(severities, r.Severity):
		return false
	case len(r.ReasonCodes) > 0 && !slices.Contains(r.ReasonCodes, o.ReasonCode):
		return false
	case len(r.Evaluators) > 0 && !slices.Contains(r.Evaluators, o.evaluator):
		return false
	case r.Only == "rejected" && o.kind == "accepted":
		return false
	case r.Only == "fallback" && o.FallbackFrom == "":
		return false
	}
	return true
}

// matches says whether the outcome is one that the rule is there for.
func (r Rule) matches(o seenOutcome) bool {
	switch r.Type {
	case Immediate:
		return r.selects(o) && (o.evaluator != "llm" || slices.Contains(r.Evaluators, "llm"))
	case SlowRatio:
		return r.selects(o) && o.LatencyMS > r.Over
	}
	return r.selects(o)
}

// tally returns what the rule keeps of an outcome that it sees.
func (r Rule) tally(p *Policy, o seenOutcome) entry {
	e := entry{t: o.t, kind: o.kind, count: o.count(), matched: r.matches(o)}
	if !e.matched {
		return e
	}
	e.slow = r.Type == SlowRatio
	e.weight = 1_000 * e.count
	if o.role.Name == Failure {
		e.weight = p.weight(o.role.Weight, o.severity, o.evaluator) * e.count
	}
	switch r.Of {
	case "cost_usd":
		e.amount = o.CostMicros
	case "input_tokens":
		e.amount = o.InputTokens * 1_000_000
	case "output_tokens":
		e.amount = o.OutputTokens * 1_000_000
	case "tokens":
		e.amount = (o.InputTokens + o.OutputTokens) * 1_000_000
	}
	return e
}

// judgement is what a rule says after an outcome that it saw.
type judgement struct {
	fires      bool
	observed   *big.Rat
	throughput *int64
}

// judge judges the rule by its window, to which the outcome e has been added.
func (r Rule) judge(w *window, e entry, s settings) judgement {
	threshold := big.NewRat(r.Threshold, 1_000_000)
	n := total(w.entries)
	var weight, matching, slow, amount int64
	for _, e := range w.entries {
		weight += e.weight
		amount += e.amount
		if e.matched {
			matching += e.count
		}
		if e.slow {
			slow += e.count
		}
	}
	j := judgement{throughput: &n}
	switch r.Type {
	case Ratio:
		j.observed = share(weight, 1_000*n)
		j.fires = n >= r.minimum(s) && j.observed.Cmp(threshold) >= 0
	case SlowRatio:
		j.observed = share(slow, n)
		j.fires = n >= r.minimum(s) && j.observed.Cmp(threshold) >= 0
	case Count:
		j.observed = big.NewRat(matching, 1)
		j.fires = j.observed.Cmp(threshold) >= 0
	case Sum:
		j.observed = big.NewRat(amount, 1_000_000)
		j.fires = j.observed.Cmp(threshold) >= 0
	case Consecutive:
		j.observed = big.NewRat(matching, 1)
		j.fires = j.observed.Cmp(threshold) >= 0
		j.throughput = nil
	case Immediate:
		j = judgement{fires: e.matched, observed: big.NewRat(1, 1)}
	}
	return j
}

func share(part, whole int64) *big.Rat {
	if whole == 0 {
		return new(big.Rat)
	}
	return big.NewRat(part, whole)
}

func (r Rule) minimum(s settings) int64 {
	switch {
	case r.MinimumThroughput > 0:
		return r.MinimumThroughput
	case r.Last > 0:
		return r.Last
	}
	return s.minimum
}
