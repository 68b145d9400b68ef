package policytest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fusebox-project/fusebox/processor/policytest"
)

// head is a policy that opens at the third failure, and a test without its steps.
const head = `policy: |
  version: 1
  defaults: {break: {duration: 2m, jitter: 0}}
  policies:
  - name: p
    match: ["*"]
    rules:
    - {name: d, type: count, threshold: 2, action: degrade}
    - {name: r, type: count, threshold: 3}
tests:
- name: t
  circuit: c
  steps:
`

// trip is a step that opens the circuit.
const trip = "  - {at: 0s, outcome: {kind: missing_evidence}, repeat: 3}\n"

// steps is a file with a test of these steps, from line 14 on.
func steps(steps ...string) string { return head + "  - " + strings.Join(steps, "\n  - ") + "\n" }

// told returns what a file of tests comes to: its faults, or the expectations that were not met, one a line.
func told(text string) string {
	f, err := policytest.Read("t.yaml", []byte(text), noFiles)
	if err != nil {
		return err.Error()
	}
	var lines []string
	for i := range f.Tests {
		failures, _ := f.Tests[i].Run(f.Name)
		for _, e := range failures {
			lines = append(lines, fmt.Sprintf("%d:%d: %s is %s, want %s", e.Line, e.Column, e.Field, e.Got, e.Want))
		}
	}
	return strings.Join(lines, "\n")
}

// toldOf is a file of tests and what it comes to, "" where all is well.
type toldOf struct{ name, text, want string }

func checkTold(t *testing.T, tests []toldOf) {
	t.Helper()
	for _, tt := range tests {
		if got := told(tt.text); got != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestTruthsOfAStep(t *testing.T) {
	lease := func(unused string) string {
		text := head + trip
		for _, id := range []string{"A", "B", "C"} {
			text += fmt.Sprintf("  - {at: 2m, claim: {lease: %s}}\n  - {at: 2m, release: {lease: %s, unused: %s}}\n",
				id, id, unused)
		}
		return text + "  - {at: 2m, expect: {state: half_open, epoch: 1}}\n"
	}
	checkTold(t, []toldOf{
		{"unused leases", lease("True"), ""},
		{"used leases", lease("FALSE"), "21:30: state is open, want half_open\n21:48: epoch is 2, want 1"},
		{"unused is a number", steps("{at: 0s, release: {lease: A, unused: 1}}"),
			"t.yaml:14:42: unused is 1; write true or false, without quotes"},
		{"unused is a text", steps(`{at: 0s, release: {lease: A, unused: "true"}}`),
			`t.yaml:14:42: unused is "true"; write true or false, without quotes`},
		{"counted in other words", steps("{at: 0s, outcome: {kind: accepted}, " +
			"expect: {counted: TRUE, enforced: True}}"), ""},
		{"granted in other words", head + trip + "  - {at: 2m, claim: {lease: L}, expect: {granted: True}}\n", ""},
		{"not counted", steps("{at: 0s, outcome: {kind: accepted}, expect: {counted: False}}"),
			"14:59: counted is true, want false"},
		{"counted is yes", steps("{at: 0s, outcome: {kind: accepted}, expect: {counted: yes}}"),
			"t.yaml:14:59: counted is \"yes\"; write true or false, without quotes"},
		{"enforced is nothing", steps("{at: 0s, expect: {enforced: }}"),
			"t.yaml:14:33: enforced is empty; write true or false, without quotes"},
		{"degraded", steps("{at: 0s, outcome: {kind: missing_evidence}, repeat: 2, expect: {degraded: True}}",
			"{at: 0s, expect: {degraded: d}}"), ""},
		{"not degraded", steps("{at: 0s, expect: {degraded: FALSE}}", "{at: 0s, expect: {degraded: null}}"), ""},
		{"degraded by a rule named true", steps("{at: 0s, outcome: {kind: missing_evidence}, repeat: 2, " +
			"expect: {degraded: \"true\"}}"), `14:79: degraded is d, want "true"`},
	})
}

func TestCircuitOfAStep(t *testing.T) {
	without := strings.Replace(head, "  circuit: c\n", "", 1)
	const none = "the step has no circuit; name one in it or in the test"
	checkTold(t, []toldOf{
		{"an outcome", without + "  - {at: 0s, outcome: {kind: accepted}}\n", "t.yaml:13:5: " + none},
		{"a claim", without + "  - {at: 0s, claim: {lease: L}}\n", "t.yaml:13:5: " + none},
		{"a look at a state", without + "  - {at: 0s, expect: {state: closed}}\n", "t.yaml:13:5: " + none},
		{"an outcome that names its own", without + "  - {at: 0s, outcome: {kind: accepted, circuit: x}, " +
			"expect: {state: closed}}\n", ""},
		{"a look at several", without + "  - {at: 0s, expect: {state_of: {x: closed}}}\n", ""},
		{"too long a name", without + "  - {at: 0s, circuit: " + strings.Repeat("c", 201) + "}\n",
			"t.yaml:13:23: circuit: has 201 bytes, must have at most 200"},
	})
}

func TestSignalsOfAStep(t *testing.T) {
	checkTold(t, []toldOf{
		{"no holder", head + trip + "  - {at: 2m, claim: {lease: L}, expect: {granted: true}}\n", ""},
		{"no lease", steps("{at: 0s, claim: {holder: h}}"), "t.yaml:14:21: signal: lease: is missing"},
		{"too long a lease", steps("{at: 0s, claim: {holder: h, lease: " + strings.Repeat("L", 300) + "}}"),
			"t.yaml:14:40: signal: lease: has 300 bytes, must have at most 200"},
		{"a holder with a line break", steps(`{at: 0s, claim: {holder: "a\nb", lease: L}}`),
			"t.yaml:14:30: signal: holder: has control characters"},
		{"no actor and no reason", steps("{at: 0s, override: {mode: force_open}, expect: {override: force_open}}"), ""},
		{"an empty actor", steps(`{at: 0s, override: {mode: force_open, actor: ""}}`),
			"t.yaml:14:50: signal: actor: is missing"},
		{"no mode", steps("{at: 0s, override: {actor: a}}"), "t.yaml:14:24: signal: mode: is missing"},
		{"another mode", steps("{at: 0s, override: {mode: force_opn}}"),
			`t.yaml:14:31: mode is "force_opn"; did you mean "force_open"?`},
		{"a ttl that is none", steps("{at: 0s, override: {mode: disable, ttl: 100us}}"),
			"t.yaml:14:45: signal: ttl: is a string of 6 bytes, must be 0, for without end, or at least 1ms"},
	})
}

// TestVacuousExpectations has expectations that no step of their kind could miss.
func TestVacuousExpectations(t *testing.T) {
	const granted = "granted is what became of a claim, and the step makes none; take it out"
	checkTold(t, []toldOf{
		{"granted of an outcome", steps("{at: 0s, outcome: {kind: accepted}, expect: {granted: false}}"),
			"t.yaml:14:59: " + granted},
		{"granted of a look", steps("{at: 0s, expect: {granted: false}}"), "t.yaml:14:32: " + granted},
		{"counted of a look", steps("{at: 0s, expect: {counted: false}}"),
			"t.yaml:14:32: counted is what became of an outcome, and the step has none; take it out"},
		{"why of a claim", steps("{at: 0s, claim: {lease: L}, expect: {why: late}}"),
			"t.yaml:14:47: why is what became of an outcome, and the step has none; take it out"},
		{"nothing of a look", steps("{at: 0s, expect: {granted: null, counted: ~, why: null}}"), ""},
		{"nothing of a circuit without cause", steps("{at: 0s, expect: {rule: null, retry_at: null, observed: null, " +
			"throughput: null, by_kind: null, override: null}}"), ""},
		{"no states", steps("{at: 0s, expect: {state_of: }}"),
			"t.yaml:14:33: state_of is empty; write states by circuit, such as {a: open}"},
		{"an empty mapping of states", steps("{at: 0s, expect: {state_of: {}}}"),
			"t.yaml:14:33: state_of is empty; write states by circuit, such as {a: open}"},
		{"a circuit twice", steps("{at: 0s, expect: {state_of: {c: closed, c: open}}}"),
			`t.yaml:14:45: state_of has "c" twice`},
		{"a list of states", steps("{at: 0s, expect: {state_of: [a]}}"),
			"t.yaml:14:33: state_of has to be a mapping, such as {a: b}"},
		{"what a cause has not", steps("{at: 0s, policy: \"{version: 1, policies: [{name: p, match: ['*'], "+
			"rules: [{name: r, type: consecutive, threshold: 3}]}]}\"}",
			"{at: 0s, outcome: {kind: missing_evidence}, repeat: 3, expect: {rule: r, throughput: null}}"), ""},
		{"a name for nothing", steps(`{at: 0s, expect: {rule: "null"}}`), `14:29: rule is null, want "null"`},
	})
}

func TestAliases(t *testing.T) {
	checkTold(t, []toldOf{
		{"counts", steps("{at: 0s, outcome: {kind: accepted, count: &three 3}}",
			"{at: 0s, outcome: {kind: &k missing_evidence}, repeat: 3, "+
				"expect: {by_kind: {accepted: *three, *k : *three}}}"), ""},
		{"states", steps("{at: 0s, expect: {state: &s closed, state_of: {a: *s, c: *s}}}"), ""},
		{"a circuit", steps("{at: 0s, circuit: &c x, expect: {state_of: {*c : open}}}"),
			"14:48: state_of is {x: closed}, want {x: open}"},
	})
}

func TestRepetition(t *testing.T) {
	checkTold(t, []toldOf{
		{"a look", head + trip + "  - {at: 0s, repeat: 3, every: 1m}\n" +
			"  - {at: 0s, claim: {lease: L}, expect: {granted: true}}\n", ""},
		{"a look that is too short", head + trip + "  - {at: 0s, repeat: 2, every: 1m}\n" +
			"  - {at: 0s, claim: {lease: L}, expect: {granted: false}}\n", ""},
		{"a reload", head + trip + "  - {at: 0s, repeat: 3, every: 1m, policy: \"{version: 1, policies: [{name: p, " +
			"match: ['*'], rules: [{name: s, type: count, threshold: 4}]}]}\"}\n" +
			"  - {at: 0s, claim: {lease: L}, expect: {granted: true}}\n", ""},
		{"back in time", steps("{at: 10s, repeat: 3, every: -1s}"),
			"t.yaml:14:33: every is -1s; write a duration of 0s or more"},
		{"beyond all time", steps("{at: 0s, repeat: 1000000, every: 2000000h}"),
			"t.yaml:14:38: every is 2000000h0m0s, and 1000000 times that is beyond what a clock shows; write less"},
	})
}

func TestFieldsOfAnOutcome(t *testing.T) {
	checkTold(t, []toldOf{
		{"a typo", steps("{at: 0s, outcome: {kind: accepted, latncy_ms: 3}}"),
			`t.yaml:14:40: an outcome has no "latncy_ms"; did you mean "latency_ms"?`},
		{"a typo in the evaluator", steps("{at: 0s, outcome: {kind: accepted, evaluator: {tpye: llm}}}"),
			`t.yaml:14:52: an evaluator has no "tpye"; did you mean "type"?`},
		{"all of them", steps("{at: 0s, outcome: {id: a, circuit: c, kind: accepted, severity: high, reason_code: a, " +
			"reason: b, time: 0s, latency_ms: 1, input_tokens: 1, output_tokens: 1, cost_usd: 0.1, " +
			"retry_after_ms: 1, use_case: u, route: r, version: v, tenant: t, provider: p, model: m, " +
			"fallback_from: f, evaluator: {name: e, version: v, type: llm}, stage: s, epoch: 0, lease: l, " +
			"source: s, count: 1, evidence_ref: e, trace_id: t}}"), ""},
		{"a wrong value", steps("{at: 0s, outcome: {kind: accepted, latency_ms: -1}}"),
			"t.yaml:14:52: outcome: latency_ms: is -1, must not be negative"},
		{"a text", steps("{at: 0s, outcome: accepted}"),
			"t.yaml:14:23: an outcome has to be a mapping, such as {kind: accepted}"},
		{"no kind", steps("{at: 0s, outcome: {knd: accepted}}"),
			`t.yaml:14:24: an outcome has no "knd"; did you mean "kind"?`},
	})
}

func TestDocuments(t *testing.T) {
	one := steps("{at: 0s}")
	checkTold(t, []toldOf{
		{"a trailing mark", one + "---\n", ""},
		{"a comment between", one + "---\n# none\n---\n" + one, ""},
		{"an end mark", one + "...\n", ""},
		{"nothing", "---\n", "t.yaml:1:1: no tests in it; write tests: with a list"},
		{"no tests", one + "---\ntests: []\n", "t.yaml:16:8: tests is empty; write a list of {name, steps}"},
		{"tests of nothing", "tests:\n", "t.yaml:1:7: tests is empty; write a list of {name, steps}"},
		{"a typo", steps("{at: 0s, exepct: {state: open}}"),
			`t.yaml:14:14: a step has no "exepct"; did you mean "expect"?`},
		{"faults out of order", steps("{at: 0s, outcome: {kind: accepted, idd: b}, claim: {}, expct: {}}"),
			"t.yaml:14:5: the step has both outcome and claim; make two steps of it\n" +
				"t.yaml:14:40: an outcome has no \"idd\"; did you mean \"id\"?\n" +
				"t.yaml:14:60: a step has no \"expct\"; did you mean \"expect\"?"},
		{"a tab", "tests:\n\t- name: a\n", "t.yaml:2:1: a tab: indent with spaces"},
		{"no YAML", one + "---\na: [", "t.yaml:17:1: the file is not YAML: did not find expected node content " +
			"while parsing a flow node; mend the YAML here"},
		{"a directive", "%YAML 1.2\n---\n" + one,
			"t.yaml:1:1: the file is not YAML: found incompatible YAML document; take this line out"},
	})
}

// TestFaultsOfAPolicyInside finds faults of policies where they stand in the file of tests.
func TestFaultsOfAPolicyInside(t *testing.T) {
	const body = "version: 1\npolicies:\n- {name: p, match: [a], rules: [{name: r, type: cout, threshold: 3}]}\n" +
		"- {name: p, match: [b], rules: [{name: r, type: count, threshold: 3}]}\n"
	indented := func(by string) string {
		return strings.ReplaceAll(by+strings.TrimSuffix(body, "\n"), "\n", "\n"+by) + "\n"
	}
	const cout = `type is "cout", which is unknown; did you mean "count"?`
	twice := func(line int) string {
		return fmt.Sprintf(`policy "p" is there twice, first in line %d; `+
			"leave one of them, or give this one another name", line)
	}
	checkTold(t, []toldOf{
		{"a block", "policy: |\n" + indented("  ") + "tests: [{name: t, steps: [{at: 0s}]}]\n",
			"t.yaml:4:51: " + cout + "\nt.yaml:5:5: " + twice(4)},
		{"a block with lines before it", "policy: |4\n\n\n" + indented("    ") +
			"tests: [{name: t, steps: [{at: 0s}]}]\n",
			"t.yaml:6:53: " + cout + "\nt.yaml:7:7: " + twice(6)},
		{"a block in a step of a second document", steps("{at: 0s}") +
			"---\ntests:\n- name: t\n  steps:\n  - at: 0s\n    policy: |-\n" + indented("      ") + "    repeat: 1\n",
			"t.yaml:23:55: " + cout + "\nt.yaml:24:9: " + twice(23)},
		{"a block that says what is missing", "policy: |\n  version: 1\ntests: [{name: t, steps: [{at: 0s}]}]\n",
			"t.yaml:2:3: policies are missing; write at least version: 1 and policies: [{name: all, match: [\"*\"], " +
				"rules: [{name: failures, type: ratio, threshold: 0.5}]}]"},
		{"quotes", "policy: \"version: 1\\npolicies: 3\"\ntests: [{name: t, steps: [{at: 0s}]}]\n",
			"t.yaml:1:9: in line 2 of the text, column 11: policies is the number 3; write a list, such as [a, b]"},
		{"a folded block", "policy: >\n  {version: 1,\n  policies: 3}\ntests: [{name: t, steps: [{at: 0s}]}]\n",
			"t.yaml:1:9: in line 1 of the text, column 24: policies is the number 3; write a list, such as [a, b]"},
		{"nothing", "policy: |\ntests: [{name: t, steps: [{at: 0s}]}]\n",
			"t.yaml:1:9: in line 1 of the text, column 1: the file is empty; write at least version: 1 and " +
				"policies: [{name: all, match: [\"*\"], rules: [{name: failures, type: ratio, threshold: 0.5}]}]"},
	})
}
