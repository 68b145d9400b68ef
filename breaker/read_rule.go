package breaker

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/fusebox-project/fusebox/schemas"
)

// What rules take: all of them, and each type beside that.
var (
	ruleKeys = []string{"name", "type", "kinds", "severity", "reason_codes", "evaluators", "action"}
	typeKeys = map[RuleType][]string{
		Ratio:       {"threshold", "minimum_throughput", "window", "last"},
		Count:       {"threshold", "window", "last"},
		Consecutive: {"threshold"},
		Immediate:   {},
		SlowRatio:   {"over", "threshold", "minimum_throughput", "window", "last"},
		Sum:         {"of", "only", "threshold", "window"},
	}
	allRuleKeys = append([]string{
		"threshold", "minimum_throughput", "window", "last", "over", "of", "only",
	}, ruleKeys...)
)

var (
	ruleTypes = []string{"ratio", "count", "consecutive", "immediate", "slow_ratio", "sum"}
	sums      = []string{"cost_usd", "input_tokens", "output_tokens", "tokens"}
	onlys     = []string{"rejected", "fallback"}
	actions   = []string{"open", "degrade"}
)

// thresholds say what the threshold of each type may be.
var thresholds = map[RuleType]limits{
	Ratio:       {3, 1, mostWeight, "a number above 0 with at most three decimals, such as 0.5"},
	SlowRatio:   {3, 1, 1000, "a number above 0 and at most 1 with at most three decimals, such as 0.5"},
	Count:       {0, 1, most, aWhole},
	Consecutive: {0, 1, most, aWhole},
	Sum:         {6, 1, most * 1_000_000, "a number above 0 with at most six decimals, such as 25"},
}

// rules reads the rules of a policy.
func (r *parser) rules(n *yaml.Node, p *Policy, s settings) []Rule {
	if n == nil {
		return nil
	}
	entries := r.list(n, "rules", mostRules)
	if len(entries) == 0 && (isNull(n) || n.Kind == yaml.SequenceNode) {
		r.fault(n, "rules are empty; %s", examples["rules"])
	}
	var rules []Rule
	lines := map[string]int{}
	for _, entry := range entries {
		rule := r.rule(entry, p, s)
		r.once(lines, entry, "rule", rule.Name)
		rules = append(rules, rule)
	}
	return rules
}

// rule reads one rule, whose policy has its weights by now.
func (r *parser) rule(entry *yaml.Node, p *Policy, s settings) Rule {
	before := r.faulty
	t := r.table(entry, "a rule", allRuleKeys)
	r.require(t, entry, "a rule", "name", "type")
	rule := Rule{Line: entry.Line, Column: entry.Column}
	if n := t.get("name"); n != nil {
		rule.Name, _ = r.text(n, "name", mostName)
	}
	if n := t.get("type"); n != nil {
		if word, ok := r.word(n, "type", ruleTypes); ok {
			rule.Type = RuleType(slices.Index(ruleTypes, word) + 1)
		}
	}
	if n := t.get("action"); n != nil {
		word, _ := r.word(n, "action", actions)
		rule.Degrade = word == "degrade"
	}
	rule.Selector = r.selector(t)
	if rule.Type > 0 {
		r.foreign(t, rule.Type)
		r.compared(t, entry, &rule, s)
	}
	if r.faulty == before && p.weights != nil {
		r.checkRule(p, &rule, t)
	}
	return rule
}

// foreign notes keys that belong to other types of rule.
func (r *parser) foreign(t table, kind RuleType) {
	for _, name := range allRuleKeys {
		n := t.keys[name]
		if n == nil || slices.Contains(ruleKeys, name) || slices.Contains(typeKeys[kind], name) {
			continue
		}
		var owners []string
		for i, word := range ruleTypes {
			if slices.Contains(typeKeys[RuleType(i+1)], name) {
				owners = append(owners, word)
			}
		}
		r.fault(n, "%s does not belong to a rule of type %s but to %s; take it out or write another type", name, kind,
			strings.Join(owners, ", "))
	}
}

// compared reads what a rule compares, and over what.
func (r *parser) compared(t table, entry *yaml.Node, rule *Rule, s settings) {
	takes := func(key string) bool { return slices.Contains(typeKeys[rule.Type], key) }
	for _, key := range []string{"of", "over", "threshold"} {
		if takes(key) {
			r.require(t, entry, "a rule of type "+rule.Type.String(), key)
		}
	}
	rule.Threshold = 1
	if takes("threshold") {
		r.amount(t, "threshold", thresholds[rule.Type], &rule.Threshold)
	}
	if takes("window") {
		rule.Window = s.window
		r.time(t, "window", time.Millisecond, longestWindow, &rule.Window)
	}
	minimum := s.minimum
	if n := t.get("last"); n != nil && takes("last") {
		r.amount(t, "last", limits{0, 1, 1000, "a whole number from 1 to 1000"}, &rule.Last)
		rule.Window, minimum = 0, rule.Last
		if t.get("window") != nil {
			r.fault(t.keys["last"], "last stands beside window; leave one of them, as a rule counts either the last "+
				"outcomes or those of a time")
		}
	}
	if takes("minimum_throughput") {
		rule.MinimumThroughput = minimum
		r.amount(t, "minimum_throughput", limits{0, 1, most, aWhole}, &rule.MinimumThroughput)
	}
	if n := t.get("over"); n != nil && takes("over") {
		r.time(t, "over", time.Millisecond, longestTime, &rule.Selector.Over)
	}
	if n := t.get("of"); n != nil && takes("of") {
		word, _ := r.word(n, "of", sums)
		rule.Selector.Of = SumOf(slices.Index(sums, word) + 1)
	}
	if n := t.get("only"); n != nil && takes("only") {
		word, _ := r.word(n, "only", onlys)
		rule.Selector.Only = Only(slices.Index(onlys, word) + 1)
	}
}

// selector reads which outcomes a rule selects.
func (r *parser) selector(t table) Selector {
	var s Selector
	if n := t.get("kinds"); n != nil {
		s.Kinds = r.kindList(n, "kinds")
		r.someOf(n, "kinds", "a kind, such as [missing_evidence]")
	}
	if n := t.get("severity"); n != nil {
		word, ok := r.word(n, "severity", []string{"low", "normal", "high", "critical"})
		s.Severity, _ = schemas.SeverityOf(word)
		s.HasSeverity = ok
	}
	if n := t.get("reason_codes"); n != nil {
		for _, entry := range r.list(n, "reason_codes", mostEntries) {
			if code, ok := r.text(entry, "a reason code", schemas.MaxText); ok {
				s.ReasonCodes = append(s.ReasonCodes, code)
			}
		}
		s.ReasonCodes = sortedOnce(s.ReasonCodes)
		r.someOf(n, "reason_codes", "a code, such as [no_citation]")
	}
	if n := t.get("evaluators"); n != nil {
		for _, entry := range r.list(n, "evaluators", mostEntries) {
			if word, ok := r.word(entry, "an evaluator", evaluatorWords); ok {
				e, _ := schemas.EvaluatorTypeOf(word)
				s.Evaluators = append(s.Evaluators, e)
			}
		}
		s.Evaluators = sortedOnce(s.Evaluators)
		r.someOf(n, "evaluators", "one of code, llm, human, such as [code]")
	}
	return s
}

// someOf notes a list of a selector in which nothing stands.
func (r *parser) someOf(n *yaml.Node, what, example string) {
	if isNull(n) || n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		r.fault(n, "%s is empty, so that the rule selects nothing; name %s, or leave it out to select any", what,
			example)
	}
}

// sortedOnce sorts values and leaves each once.
func sortedOnce[T cmp.Ordered](values []T) []T {
	slices.Sort(values)
	return slices.Compact(values)
}
