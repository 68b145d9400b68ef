package breaker_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fusebox-project/fusebox/breaker"
)

// TestReadFaults reads a file in which everything is wrong. Its faults stand in faults.txt, in the file's order.
func TestReadFaults(t *testing.T) {
	text, err := os.ReadFile("testdata/faults.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, err = breaker.Read("faults.yaml", text)
	golden(t, "testdata/faults.txt", fmt.Sprintln(err))
}

// golden compares with a file, which UPDATE_GOLDEN=1 writes anew.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant, as in %s,\n%s", got, file, want)
	}
}

// policies is a file with one policy that has these lines beside its name.
func policies(lines string) string { return "version: 1\npolicies:\n- name: p\n  " + lines + "\n" }

// rule is a file with one rule.
func rule(rule string) string { return policies("match: [\"*\"]\n  rules: [" + rule + "]") }

// badFile is a text that is no policy file, and what is told of it first.
type badFile struct{ name, text, want string }

func checkFaults(t *testing.T, tests []badFile) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := breaker.Read("p.yaml", []byte(tt.text))
			if got := fmt.Sprint(err); got != "p.yaml:"+tt.want && !strings.HasPrefix(got, "p.yaml:"+tt.want+"\n") {
				t.Errorf("Read: %s\nwant p.yaml:%s", got, tt.want)
			}
		})
	}
}

func TestReadFault(t *testing.T) {
	minimal := `version: 1 and policies: [{name: all, match: ["*"], ` +
		`rules: [{name: failures, type: ratio, threshold: 0.5}]}]`
	checkFaults(t, []badFile{
		{"nothing", "", "1:1: the file is empty; write at least " + minimal},
		{"a comment alone", "# to come\n", "1:1: the file is empty; write at least " + minimal},
		{"a null", "---\n~\n", "2:1: the file is empty; write at least " + minimal},
		{"a list", "- a\n", `1:1: the file is a list; write a mapping, one "key: value" a line`},
		{"a text", "policies", `1:1: the file is the text "policies"; write a mapping, one "key: value" a line`},
		{"no version", "policies: []\n", "1:1: version is missing; write version: 1"},
		{"a version in quotes", "version: '1'\npolicies: []\n",
			`1:10: version is the text "1"; write version: 1, the only one that this Fusebox reads`},
		{"no policies", "version: 1\n", "1:1: policies are missing; write at least " + minimal},
		{"policies that are all comments", "version: 1\npolicies:\n# - name: a\n",
			"2:10: policies are missing; write at least " + minimal},
		{"a second document", "version: 1\npolicies: []\n---\nversion: 1\n",
			"3:1: a second document begins; write one document a file"},
		{"a tab", "version: 1\npolicies:\n\t- name: p\n", "3:1: a tab: indent with spaces"},
		{"a tab behind spaces", "version: 1\npolicies:\n- name: p\n  \tmatch: [a]\n", "4:3: a tab: indent with spaces"},
		{"a bracket left open", "version: 1\npolicies: [\n", "3:1: the file is not YAML: did not find expected " +
			"node content while parsing a flow node; mend the YAML here"},
		{"a star without quotes", policies("match: [*]"),
			"4:12: the file is not YAML: did not find expected alphabetic or numeric character while scanning " +
				`an alias; a text that begins with * must stand in quotes, such as "*"`},
		{"an alias of nothing", "version: *v\n",
			"1:10: the file is not YAML: unknown anchor 'v' referenced; mend the YAML here"},
		{"a byte that is not UTF-8", "version: 1\nna\xffme: 2", "2:3: a byte is not UTF-8; write text in UTF-8"},
		{"a control character", "é: \x01", "1:4: a control character stands here; write text in UTF-8"},
		{"too long a file", "#" + strings.Repeat("a", 1<<20), "1:1: the file has 1048577 bytes; write at most 1048576"},
		{"an alias in itself", "version: 1\npolicies: &p [*p]\n",
			"1:1: the file has more than 300000 values with its " +
				"aliases written out; use fewer, and none inside what it names"},
		{"a merge key", rule("{name: r, <<: {}, type: count, threshold: 1}"), "5:21: a merge key (<<) in a rule " +
			"is not read; write the keys out, or use an alias as a whole value"},
		{"a key that is a list", rule("{[a]: b, name: r, type: count, threshold: 1}"),
			"5:12: a key in a rule is a list; write a name"},
		{"a rule with no threshold", rule("{name: r, type: count}"), "5:11: a rule of type count has no threshold; " +
			"write one above 0, such as threshold: 0.5 for a ratio or threshold: 5 for a count"},
	})
}

func TestReadFaultOfAValue(t *testing.T) {
	checkFaults(t, []badFile{
		{"a threshold that is empty", rule("{name: r, type: count, threshold: }"),
			"5:45: threshold is empty; write a whole number of at least 1"},
		{"a threshold that is not finite", rule("{name: r, type: ratio, threshold: .inf}"),
			"5:45: threshold is .inf; write a number above 0 with at most three decimals, such as 0.5, " +
				"in decimal digits"},
		{"a threshold without end", rule("{name: r, type: ratio, threshold: 1e999999999}"),
			"5:45: threshold is the text " +
				`"1e999999999"; write a number above 0 with at most three decimals, such as 0.5`},
		{"a threshold beyond all numbers", rule("{name: r, type: sum, of: tokens, threshold: 1e99}"),
			"5:55: threshold is 1e99; write a number above 0 with at most six decimals, such as 25"},
		{"a hexadecimal threshold", rule("{name: r, type: count, threshold: 0x10}"),
			"5:45: threshold is 0x10; write a whole number of at least 1, in decimal digits"},
		{"an octal threshold", rule("{name: r, type: count, threshold: 010}"),
			"5:45: threshold is 010; write a whole number of at least 1, in decimal digits"},
		{"a name that is a number", rule("{name: 7, type: count, threshold: 1}"),
			`5:18: name is the number 7; write a text, in quotes: "7"`},
		{"a window in days", rule("{name: r, type: count, threshold: 1, window: 7d}"),
			"5:56: window is 7d, and h is the longest unit; write 168h"},
		{"a window in microseconds", rule("{name: r, type: count, threshold: 1, window: 1500us}"),
			"5:56: window is 1500us; write whole milliseconds, such as 2ms"},
		{"a window of nothing", rule("{name: r, type: count, threshold: 1, window: 0}"),
			"5:56: window is 0; write a duration of at least 1ms and at most 8784h, such as 30s"},
		{"a negative window", rule("{name: r, type: count, threshold: 1, window: -5}"),
			"5:56: window is the number -5; write a duration of at least 1ms and at most 8784h, such as 30s"},
		{"a threshold above what severity selects", policies("match: [\"*\"]\n" +
			"  severity_weights: {low: 0.5, critical: 5}\n" +
			"  rules: [{name: r, type: ratio, threshold: 5.001}, {name: s, type: ratio, threshold: 5}]"),
			"6:45: threshold is 5.001, and the greatest weight of what the rule selects is 5, so that it can never " +
				"fire; write at most that"},
		{"a threshold above what evaluators select", policies("match: [\"*\"]\n  evaluator_weights: {llm: 0.333}\n" +
			"  kinds: {missing_evidence: 0.5}\n" +
			"  rules: [{name: r, type: ratio, threshold: 0.168, kinds: [missing_evidence], evaluators: [llm]}]"),
			"7:45: threshold is 0.168, and the greatest weight of what the rule selects is 0.167, so that it can " +
				"never fire; write at most that"},
		{"a rule that selects all", rule("{name: r, type: immediate, evaluators: [llm, code, human], " +
			"kinds: [accepted, transport_failure, invalid_contract, business_rule_failure, missing_evidence, " +
			"contradictory_evidence]}"),
			"5:11: the rule always fires, as no outcome that it sees can fail to match; select fewer kinds"},
		{"too many rules", rule(strings.Repeat("{},", 65)), "5:10: rules has 65 entries; write at most 64"},
		{"too many kinds", "version: 1\nkinds: [" + strings.Repeat("accepted,", 201) + "]\npolicies: []",
			"2:8: kinds has 201 entries; write at most 200"},
		{"a pattern that is too long", policies("match: [\"" + strings.Repeat("?", 201) + "*\"]\n  rules: []"),
			"4:11: the pattern matches no circuit, as names have at most 200 bytes; write a shorter one"},
		{"a max of the defaults below a duration", "version: 1\ndefaults: {break: {max: 1m}}\npolicies:\n" +
			"- {name: p, match: [\"*\"], break: {duration: 2m}, rules: [{name: r, type: count, threshold: 1}]}",
			"4:45: max is 1m here, below duration, which is 2m; write a max of at least 2m"},
		{"a max below duration", "version: 1\ndefaults: {break: {max: 1m, duration: 2m}}\npolicies: []",
			"2:25: max is 1m here, below duration, which is 2m; write a max of at least 2m"},
		{"a fault that two aliases share", "version: 1\npolicies:\n" +
			"- {name: a, match: [\"a\"], rules: &r [{name: r, type: count, threshold: 0}]}\n" +
			"- {name: b, match: [b], rules: *r}",
			"3:72: threshold is 0; write a whole number of at least 1"},
	})
}

// TestReadBomb has aliases that make a million values of a few, and faults without number.
func TestReadBomb(t *testing.T) {
	bomb := "version: 1\nkinds: &a [x, x, x, x, x, x, x, x, x, x]\n" +
		"defaults: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
	for i := range 6 {
		bomb += fmt.Sprintf("k%d: &%c [%s]\n", i, 'c'+i, strings.Repeat(fmt.Sprintf("*%c, ", 'b'+i), 10))
	}
	_, err := breaker.Read("p.yaml", []byte(bomb))
	if faults, _ := err.(breaker.Faults); len(faults) != 1 || faults[0].Line != 1 {
		t.Errorf("Read of a bomb: %v, want one fault in line 1", err)
	}
	_, err = breaker.Read("p.yaml", []byte("version: 1\n"+strings.Repeat("x: 1\n", 50_000)))
	if faults, _ := err.(breaker.Faults); len(faults) != 1000 || faults[0].Line != 2 || faults[999].Line != 1001 {
		t.Errorf("Read of 50,000 faults: %d of them, want the first 1000", len(faults))
	}
}

// TestShadowFaults says where shadows are wrong, and what to write.
func TestShadowFaults(t *testing.T) {
	const text = `version: 1
policies:
- {name: main, match: ["*"], rules: [{name: r, type: count, threshold: 3}]}
- {name: one, shadows: main, enforce: false, rules: [{name: r, type: count, threshold: 2}]}
- {name: two, shadows: main, rules: [{name: r, type: count, threshold: 2}]}
- {name: three, shadows: one, rules: [{name: r, type: count, threshold: 2}]}
- {name: four, shadows: mian, rules: [{name: r, type: count, threshold: 2}]}
- {name: five, shadows: nobody, rules: [{name: r, type: count, threshold: 2}]}
- {name: six, shadows: six, rules: [{name: r, type: count, threshold: 2}]}
- {name: seven, shadows: , rules: [{name: r, type: count, threshold: 2}]}
- {name: eight, shadows: [main], enforce: true, match: ["a"]}
`
	_, err := breaker.Read("p.yaml", []byte(text))
	want := `p.yaml:5:24: policy "main" has a shadow already, "one" in line 4; leave one of them
p.yaml:6:26: policy "one" in line 4 shadows another one itself; write the name of a policy with match
p.yaml:7:25: no policy is named "mian"; did you mean "main"?
p.yaml:8:25: no policy is named "nobody"; write the name of a policy with match
p.yaml:9:24: policy "six" in line 9 shadows another one itself; write the name of a policy with match
p.yaml:10:17: shadows is empty; write the name of the policy beside which this one judges
p.yaml:11:3: a policy has no rules; write at least one, such as {name: failure-ratio, type: ratio, threshold: 0.5}
p.yaml:11:26: shadows is a list; write a text
p.yaml:11:43: nobody obeys a policy with shadows; leave out enforce
p.yaml:11:49: a policy with shadows judges the circuits of the policy that it names; leave out match, or shadows`
	if fmt.Sprint(err) != want {
		t.Errorf("Read = %v\nwant %s", err, want)
	}
}

// TestShadows hands each policy its shadow, which matches no circuit itself.
func TestShadows(t *testing.T) {
	p, err := breaker.Read("p.yaml", []byte(`version: 1
policies:
- {name: late, shadows: main, rules: [{name: r, type: count, threshold: 2}]}
- {name: main, match: ["a*"], enabled: false, rules: [{name: r, type: count, threshold: 3}]}
- {name: rest, match: ["*"], rules: [{name: r, type: count, threshold: 3}]}
- {name: off, shadows: rest, enabled: false, rules: [{name: r, type: count, threshold: 2}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	a, b := p.For("a"), p.For("b")
	if a.Name != "main" || a.Shadow == nil || a.Shadow.Name != "late" ||
		a.Shadow.Enforce || a.Shadow.Shadows != "main" {
		t.Errorf("For(a) = %+v, shadow %+v, want main and late", a, a.Shadow)
	}
	if b.Name != "rest" || b.Shadow != nil {
		t.Errorf("For(b) = %+v, shadow %+v, want rest, whose shadow is off", b, b.Shadow)
	}
	if text := p.Explain("a"); !strings.Contains(text, "Policy late (line 3) judges beside it") {
		t.Errorf("Explain(a) = %s", text)
	}
}
