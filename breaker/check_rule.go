package breaker

import (
	"slices"

	"github.com/fusebox-project/fusebox/schemas"
)

// reach is what the outcomes that a rule can see can do to it.
type reach struct {
	some        bool  // One can match.
	all         bool  // None can fail to match.
	least, most int64 // What one that matches can weigh, in thousandths.
}

// checkRule notes a rule that can never fire, and one that fires whatever the outcomes are.
func (r *parser) checkRule(p *Policy, rule *Rule, t table) {
	at := t.get("threshold")
	if at == nil {
		at = t.at
	}
	s := &rule.Selector
	x := r.reach(p, rule)
	switch {
	case rule.Type == Sum && s.Only == OnlyRejected && slices.Equal(s.Kinds, []string{schemas.Accepted}):
		r.fault(t.keys["only"], "the rule can never fire, as it selects accepted work and only what was rejected; "+
			"name other kinds, or take only out")
	case rule.Type == Sum || rule.Type == SlowRatio:
	case !x.some:
		r.fault(t.at, "the rule can never fire, as no kind is a failure in this policy; name kinds in the rule, "+
			"or make one a failure in the policy's kinds")
	case rule.Type == Ratio && x.most == 0:
		r.fault(at, "the rule can never fire, as all that it selects weighs 0; select kinds that weigh more, "+
			"or give these a weight")
	case rule.Type == Ratio && rule.Threshold > x.most:
		r.fault(at, "threshold is %s, and the greatest weight of what the rule selects is %s, so that it can never "+
			"fire; write at most that", at.Value, inThousandths(x.most))
	case x.all && enough(rule, x):
		r.fault(at, "the rule always fires, as no outcome that it sees can fail to match; select fewer kinds")
	}
}

// enough tells whether a rule fires at every outcome if all that it sees matches. It is strict only with a rule that
// names all those kinds: a policy that makes every kind a failure may mean it. A ratio may wait for its minimum first.
func enough(rule *Rule, x reach) bool {
	if rule.Selector.Kinds == nil {
		return false
	}
	switch rule.Type {
	case Ratio:
		return x.least >= rule.Threshold
	case Count, Consecutive:
		return rule.Threshold <= 1
	case Immediate:
		return len(rule.Selector.Evaluators) == evaluatorTypes
	}
	return false
}

// reach returns what can happen to a rule.
func (r *parser) reach(p *Policy, rule *Rule) reach {
	s := &rule.Selector
	x := reach{
		all: s.ReasonCodes == nil && (!s.HasSeverity || s.Severity == schemas.Low) &&
			(s.Evaluators == nil || len(s.Evaluators) == evaluatorTypes),
		least: mostWeight,
	}
	for kind, role := range p.roles {
		named := slices.Contains(s.Kinds, r.kinds.name(uint8(kind)))
		switch {
		case named || s.Kinds == nil && role == Failure:
			x.some = true
			x.weigh(s, role, &p.weights[kind])
		case role != Neutral:
			x.all = false
		}
	}
	return x
}

// weigh widens the bounds by the weights of a kind that the rule selects.
func (x *reach) weigh(s *Selector, role Role, weights *[severities][evaluatorTypes]int64) {
	for severity := range severities {
		if s.HasSeverity && schemas.Severity(severity).Rank() < s.Severity.Rank() {
			continue
		}
		for evaluator := range evaluatorTypes {
			if s.Evaluators != nil && !slices.Contains(s.Evaluators, schemas.EvaluatorType(evaluator)) {
				continue
			}
			weight := int64(1000)
			if role == Failure {
				weight = weights[severity][evaluator]
			}
			x.least, x.most = min(x.least, weight), max(x.most, weight)
		}
	}
}
