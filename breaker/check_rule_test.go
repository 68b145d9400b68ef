package breaker_test

import (
	"strings"
	"testing"

	"github.com/fusebox-project/fusebox/breaker"
)

// everyKind names every kind that is not neutral by default.
const everyKind = "kinds: [accepted, transport_failure, invalid_contract, business_rule_failure, missing_evidence, " +
	"contradictory_evidence]"

func TestReadFaultOfARuleThatAlwaysFires(t *testing.T) {
	const fires = ": the rule always fires, as no outcome that it sees can fail to match; select fewer kinds"
	checkFaults(t, []badFile{
		{"a count of 1", rule("{name: r, type: count, threshold: 1, " + everyKind + "}"), "5:45" + fires},
		{"one in a row", rule("{name: r, type: consecutive, threshold: 1, " + everyKind + "}"), "5:51" + fires},
		{"a ratio", rule("{name: r, type: ratio, threshold: 1, minimum_throughput: 1, " + everyKind + "}"),
			"5:45" + fires},
		{"a count of 1 with the least severity", rule("{name: r, type: count, threshold: 1, severity: low, last: 5, " +
			everyKind + "}"), "5:45" + fires},
	})
}

// TestReadRuleThatMayNotFire reads rules that only look as if they always fired.
func TestReadRuleThatMayNotFire(t *testing.T) {
	allFail := "match: [\"*\"]\n  kinds: {accepted: failure}\n  rules: ["
	for name, text := range map[string]string{
		"a count of 2":           rule("{name: r, type: count, threshold: 2, " + everyKind + "}"),
		"two in a row":           rule("{name: r, type: consecutive, threshold: 2, " + everyKind + "}"),
		"some severities":        rule("{name: r, type: count, threshold: 1, severity: high, " + everyKind + "}"),
		"some reasons":           rule("{name: r, type: count, threshold: 1, reason_codes: [a], " + everyKind + "}"),
		"some evaluators":        rule("{name: r, type: count, threshold: 1, evaluators: [llm], " + everyKind + "}"),
		"one kind left out":      rule("{name: r, type: count, threshold: 1, kinds: [missing_evidence]}"),
		"all fail, a count":      policies(allFail + "{name: r, type: count, threshold: 1}]"),
		"all fail, in a row":     policies(allFail + "{name: r, type: consecutive, threshold: 1}]"),
		"all fail, a ratio":      policies(allFail + "{name: r, type: ratio, threshold: 1}]"),
		"all fail, immediate":    policies(allFail + "{name: r, type: immediate, evaluators: [code, llm, human]}]"),
		"immediate without llm":  rule("{name: r, type: immediate, " + everyKind + "}"),
		"more than last":         rule("{name: r, type: count, threshold: 9, last: 3}"),
		"a minimum beyond last":  rule("{name: r, type: ratio, threshold: 1, last: 3, minimum_throughput: 9}"),
		"a weight below a ratio": strings.Replace(allLight, "THRESHOLD", "0.6", 1),
		"a kind that is declared": "kinds: [own]\n" + policies("match: [a]\n  kinds: {own: success}\n  rules: ["+
			"{name: r, type: count, threshold: 1, "+everyKind+"}]"),
	} {
		if _, err := breaker.Read("p.yaml", []byte(text)); err != nil {
			t.Errorf("%s: Read: %v", name, err)
		}
	}
}

// allLight has a rule that selects everything, of which some weighs a half.
const allLight = "version: 1\npolicies:\n- name: p\n  match: [a]\n  kinds: {missing_evidence: 0.5}\n" +
	"  rules: [{name: r, type: ratio, minimum_throughput: 1, threshold: THRESHOLD, " + everyKind + "}]\n"
