package breaker

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/fusebox-project/fusebox/schemas"
)

var policyKeys = append([]string{
	"name", "match", "enabled", "enforce", "kinds", "severity_weights", "evaluator_weights", "rules", "shadows",
}, settingKeys...)

// policyList reads the policies of the file.
func (r *parser) policyList(t table, base settings) []*Policy {
	n := t.get("policies")
	if isNull(n) {
		at := t.at
		if n != nil {
			at = n
		}
		r.fault(at, "policies are missing; write at least %s", minimal)
		return nil
	}
	var policies []*Policy
	var matches, shadows []*yaml.Node
	lines := map[string]int{}
	for _, entry := range r.list(n, "policies", mostPolicies) {
		p, keys := r.policy(entry, base)
		r.once(lines, entry, "policy", p.Name)
		policies = append(policies, p)
		matches, shadows = append(matches, keys.get("match")), append(shadows, keys.get("shadows"))
	}
	r.checkCover(policies, matches)
	r.bindShadows(policies, shadows)
	return policies
}

// policy reads one policy, and returns it and its keys.
func (r *parser) policy(entry *yaml.Node, base settings) (*Policy, table) {
	t := r.table(entry, "a policy", policyKeys)
	shadows := t.keys["shadows"] != nil
	if shadows {
		r.require(t, entry, "a policy", "name", "rules")
	} else {
		r.require(t, entry, "a policy", "name", "match", "rules")
	}
	s := r.settings(t, base)
	p := s.policy()
	p.Matched, p.Line = true, entry.Line
	if n := t.get("name"); n != nil {
		p.Name, _ = r.text(n, "name", mostName)
	}
	p.Enabled = r.flag(t.get("enabled"), "enabled", true)
	p.Enforce = r.flag(t.get("enforce"), "enforce", true)
	p.Match = r.globs(t.get("match"))
	if shadows {
		r.shadow(p, t)
	}
	r.weigh(p, t)
	p.Rules = r.rules(t.get("rules"), p, s)
	for i := range p.Rules {
		p.Longest = max(p.Longest, p.Rules[i].Window)
	}
	return p, t
}

// globs reads the patterns of a policy, none where one is wrong.
func (r *parser) globs(n *yaml.Node) []Glob {
	if n == nil {
		return nil
	}
	entries := r.list(n, "match", mostEntries)
	if len(entries) == 0 && (isNull(n) || n.Kind == yaml.SequenceNode) {
		r.fault(n, "match is empty; %s", examples["match"])
	}
	before := r.faulty
	var globs []Glob
	for _, entry := range entries {
		g, ok := r.text(entry, "a pattern of match", 2*mostName)
		if !ok {
			continue
		}
		if shortest(Glob(g)) > mostName {
			r.fault(entry, "the pattern matches no circuit, as names have at most %d bytes; write a shorter one",
				mostName)
			continue
		}
		globs = append(globs, Glob(g))
	}
	if r.faulty > before {
		return nil
	}
	return globs
}

// shortest returns the length of the shortest name that a pattern matches, in bytes.
func shortest(g Glob) int {
	n := 0
	for i := range len(g) {
		if g[i] != '*' {
			n++
		}
	}
	return n
}

// weigh reads the roles of the kinds and what a failure of each weighs. Where that is wrong there are no weights.
func (r *parser) weigh(p *Policy, t table) {
	before := r.faulty
	roles, kinds := r.roles(t.get("kinds"))
	bySeverity := r.factors(t.get("severity_weights"), "severity_weights", severityWords)
	byEvaluator := r.factors(t.get("evaluator_weights"), "evaluator_weights", evaluatorWords)
	p.roles = roles
	if r.faulty > before {
		return
	}
	p.weights = make([][severities][evaluatorTypes]int64, len(roles))
	for kind, role := range roles {
		if role != Failure {
			continue
		}
		for s, severity := range severityWords {
			for e, evaluator := range evaluatorWords {
				weight, ok := product(kinds[kind], bySeverity[severity], byEvaluator[evaluator])
				if !ok {
					p.weights = nil
					r.fault(t.at, "%s, %s, judged by %s weighs more than 1000000; write smaller weights",
						r.kinds.name(uint8(kind)), severity, evaluator)
					return
				}
				p.weights[kind][s][e] = weight
			}
		}
	}
}

// The words of severities and evaluator types, by their numbers.
var (
	severityWords = []string{
		schemas.Normal: "normal", schemas.Low: "low", schemas.High: "high", schemas.Critical: "critical",
	}
	evaluatorWords = []string{schemas.Code: "code", schemas.LLM: "llm", schemas.Human: "human"}
)

// product multiplies three numbers in thousandths and rounds once, halves up. It tells whether the result is a weight.
func product(a, b, c int64) (int64, bool) {
	if float64(a)*float64(b)*float64(c) > 1.1e6*mostWeight {
		return 0, false
	}
	weight := (a*b*c + 500_000) / 1_000_000
	return weight, weight <= mostWeight
}

// roles reads what each kind is evidence of and, in thousandths, what it weighs, both by kind.
func (r *parser) roles(n *yaml.Node) ([]Role, []int64) {
	roles, weights := make([]Role, r.kinds.len()), make([]int64, r.kinds.len())
	for i, name := range r.kinds.names {
		weights[i] = 1000
		switch name {
		case schemas.Accepted:
			roles[i] = Success
		case schemas.TransportFailure, schemas.InvalidContract, schemas.BusinessRuleFailure, schemas.MissingEvidence,
			schemas.ContradictoryEvidence:
			roles[i] = Failure
		}
	}
	r.kindPairs(n, "kinds", "kind", func(i uint8, value *yaml.Node) {
		roles[i], weights[i] = r.role(value, r.kinds.name(i))
	})
	return roles, weights
}

// role reads what one kind is evidence of.
func (r *parser) role(n *yaml.Node, kind string) (Role, int64) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		weight, _ := r.number(n, kind, limits{3, 0, mostWeight, aWeight + ", or success, neutral, failure"})
		return Failure, weight
	}
	switch n.Value {
	case "failure":
		return Failure, 1000
	case "success":
		return Success, 1000
	case "neutral":
		return Neutral, 1000
	}
	r.fault(n, "%s is %s; write success, neutral, failure or, without quotes, a weight such as 0.5", kind, describe(n))
	return Neutral, 1000
}

// factors reads weights by word. What is not set is 1.
func (r *parser) factors(n *yaml.Node, what string, words []string) map[string]int64 {
	factors := map[string]int64{}
	for _, word := range words {
		factors[word] = 1000
	}
	t := r.table(n, what, words)
	for _, word := range slices.Sorted(maps.Keys(factors)) {
		weight := factors[word]
		r.amount(t, word, limits{3, 0, mostWeight, aWeight}, &weight)
		factors[word] = weight
	}
	return factors
}
