package breaker

import "slices"

// Keys are what the reader takes, by the mapping that takes it.
var Keys = map[string][]string{
	"file": fileKeys, "policy": policyKeys, "defaults": settingKeys, "break": breakKeys, "half_open": halfOpenKeys,
	"ramp": rampKeys, "rule": allRuleKeys, "route": routeKeys,
	"severity_weights": severityWords, "evaluator_weights": evaluatorWords,
}

// RuleTypes are the words for the types of rules.
var RuleTypes = ruleTypes

// OfType are the keys that rules of some types take.
var OfType = slices.DeleteFunc(slices.Clone(allRuleKeys), func(key string) bool {
	return slices.Contains(ruleKeys, key)
})
