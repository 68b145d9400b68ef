package naive

import (
	"math/big"
	"slices"
	"strings"
)

// nine are the kinds that need no declaration.
var nine = []string{
	"accepted", "transport_failure", "invalid_contract", "business_rule_failure", "missing_evidence",
	"contradictory_evidence", "policy_rejection", "evaluator_error", "cancelled",
}

// failing are the kinds that are failures by default, each of weight 1.
var failing = []string{
	"transport_failure", "invalid_contract", "business_rule_failure", "missing_evidence", "contradictory_evidence",
}

var severities = []string{"low", "normal", "high", "critical"}

var evaluators = []string{"code", "llm", "human"}

// unknown is the bucket of the kinds that nobody declared.
const unknown = "unknown"

func bare(kind string) string { return strings.ToLower(strings.ReplaceAll(kind, "_", "")) }

// canonical returns the declared kind that a name stands for, or unknown.
func (p Policies) canonical(name string) string {
	for _, kind := range slices.Concat(nine, p.Kinds) {
		if bare(kind) == bare(name) {
			return kind
		}
	}
	return unknown
}

// role returns what a canonical kind is to the policy.
func (p *Policy) role(kind string) Role {
	for name, role := range p.Kinds {
		if bare(name) == bare(kind) {
			return role
		}
	}
	switch {
	case kind == "accepted":
		return Role{Name: Success}
	case slices.Contains(failing, kind):
		return Role{Name: Failure, Weight: 1_000}
	}
	return Role{Name: Neutral}
}

func severityOf(name string) string {
	if slices.Contains(severities, name) {
		return name
	}
	return "normal"
}

func evaluatorOf(name string) string {
	switch {
	case name == "":
		return "code"
	case slices.Contains(evaluators, name):
		return name
	}
	return "llm"
}

// weight returns the thousandths that one failure weighs: kind x severity x evaluator, rounded once, halves up.
func (p *Policy) weight(kind int64, severity, evaluator string) int64 {
	factor := func(weights map[string]int64, name string) *big.Rat {
		if w, ok := weights[name]; ok {
			return big.NewRat(w, 1_000)
		}
		return big.NewRat(1, 1)
	}
	w := big.NewRat(kind, 1)
	w.Mul(w, factor(p.SeverityWeights, severity))
	w.Mul(w, factor(p.EvaluatorWeights, evaluator))
	return nearest(w)
}

// nearest rounds to the nearest integer, halves up. The value is not negative.
func nearest(r *big.Rat) int64 {
	twice := new(big.Int).Mul(r.Num(), big.NewInt(2))
	twice.Add(twice, r.Denom())
	return twice.Quo(twice, new(big.Int).Mul(r.Denom(), big.NewInt(2))).Int64()
}
