package lint_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor/backtest"
	"github.com/fusebox-project/fusebox/processor/lint"
	"github.com/fusebox-project/fusebox/schemas"
)

var t0 = time.Date(2026, 9, 14, 12, 0, 0, 0, time.UTC)

// made returns outcomes of a circuit, so far apart, from words: a kind, or a kind and a number of repetitions.
func made(circuit string, every time.Duration, words string) []schemas.Outcome {
	var all []schemas.Outcome
	for word := range strings.FieldsSeq(words) {
		kind, repeat := word, 1
		if name, n, ok := strings.Cut(word, "*"); ok {
			kind = name
			_, _ = fmt.Sscan(n, &repeat)
		}
		for range repeat {
			at := t0.Add(time.Duration(len(all)) * every)
			all = append(all, schemas.Outcome{Circuit: circuit, Kind: kind, Count: 1, Time: at})
		}
	}
	return all
}

func read(t *testing.T, text string) *breaker.Policies {
	t.Helper()
	p, err := breaker.Read("policy.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

// found returns what is found, notes with their word before them.
func found(t *testing.T, policy string, outcomes []schemas.Outcome) []string {
	t.Helper()
	l := lint.New(read(t, policy), backtest.Options{})
	for i := range outcomes {
		l.Add(&outcomes[i])
	}
	findings, err := l.Findings()
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, f := range findings {
		word := ""
		if f.Note {
			word = "note: "
		}
		said = append(said, fmt.Sprintf("%d:%d: %s%s", f.Line, f.Column, word, f.Message))
	}
	return said
}

// one is a policy for circuits that begin with a:, on line 4, with rules from line 7 on.
func one(rules ...string) string {
	return "version: 1\nkinds: [tool_misuse, sarcasm]\npolicies:\n- name: p\n  match: ['a:*']\n  rules:\n  - " +
		strings.Join(rules, "\n  - ") + "\n"
}

// others are further policies, on lines 8 and 11, behind those of one rule.
const others = "- name: q\n  match: ['b:*']\n  rules: [{name: r, type: count, threshold: 9}]\n" +
	"- name: off\n  match: ['c:*']\n  enabled: false\n  rules: [{name: r, type: ratio, threshold: 0.5}]\n"

// well is ten minutes with one failure, an outcome every ten seconds.
var well = made("a:1", 10*time.Second, "accepted*30 missing_evidence accepted*29")

// finds is a recording and what is found in it: how each finding begins.
type finds struct {
	name     string
	policy   string
	outcomes []schemas.Outcome
	want     []string
}

func (tt finds) run(t *testing.T) {
	got := found(t, tt.policy, tt.outcomes)
	if !slices.EqualFunc(got, tt.want, strings.HasPrefix) {
		t.Errorf("Findings:\n got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(tt.want, "\n     "))
	}
}

const plain = "{name: r, type: ratio, threshold: 0.5, last: 10}"

// TestKinds tells kinds that did not happen from kinds that are called otherwise.
func TestKinds(t *testing.T) {
	count := func(kinds string) string { return "{name: r, type: count, kinds: [" + kinds + "], threshold: 3}" }
	and := func(kinds string) []schemas.Outcome { return slices.Concat(well, made("a:1", 0, kinds)) }
	elsewhere := slices.Concat(well, made("b:1", 0, "tool_misuse policy_rejection"))
	const missing = "7:5: rule r waits for tool_misuse in vain: the file declares that, and nobody produced it"
	tests := []finds{
		{"all fits", one(plain), well, nil},
		{"a built-in kind that did not happen", one(count("policy_rejection")), well, []string{
			"7:5: note: rule r could not be tried: no circuit of its policy produced policy_rejection while "}},
		{"two, of which one happened", one(count("policy_rejection, missing_evidence")), well, nil},
		{"two that did not happen", one(count("policy_rejection, cancelled")), well, []string{
			"7:5: note: rule r could not be tried: no circuit of its policy produced cancelled or policy_rejection "}},
		{"a declared kind that nobody produced", one(count("tool_misuse")), well, []string{missing}},
		{"one beside a kind that happened", one(count("tool_misuse, missing_evidence")), well, []string{missing}},
		{"one that somebody produced", one(count("tool_misuse")), and("tool_misuse"), nil},
		{"one as producers write it", one(count("tool_misuse")), and("ToolMisuse"), nil},
		{"a declared and a built-in kind of another policy's circuits",
			one(count("tool_misuse, policy_rejection")) + others, elsewhere, []string{
				"7:5: note: rule r could not be tried: no circuit of its policy produced policy_rejection or tool_m",
				"11:1: note: policy off "}},
		{"a declared kind that is misspelt", one(count("tool_misuse")), and("tool_missuse*2"), []string{
			`1:1: note: 2 outcomes are of kind "tool_missuse", which the file does not declare: that is neutral, `,
			`7:5: rule r waits for tool_misuse in vain: nobody produced that, but 2 outcomes are of kind "tool_m`}},
		{"a built-in kind that is misspelt", one(count("policy_rejection")), and("policy_rejected"), []string{
			`1:1: note: 1 outcome is of kind "policy_rejected", which the file does not declare: that is neutral, `,
			`7:5: rule r waits for policy_rejection in vain: nobody produced that, but 1 outcome is of kind "polic`}},
		{"one that is misspelt now and then", one(count("missing_evidence")), and("mising_evidence"), []string{
			`1:1: note: 1 outcome is of kind "mising_evidence", which the file does not declare: that is neutral, ` +
				"whatever it means; did you mean missing_evidence?"}},
		{"a kind like no other", one(plain), and("of_our_own"), []string{
			`1:1: note: 1 outcome is of kind "of_our_own"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, tt.run)
	}
}

// TestFirings finds rules that fired while all was well, whatever their type.
func TestFirings(t *testing.T) {
	tests := []finds{
		{"once", one("{name: r, type: ratio, threshold: 0.1, last: 10}"), well, []string{
			"7:5: rule r would have opened a:1 at 2026-09-14T12:05:00Z, with 0.1 at a threshold of 0.1; if all was " +
				"well then, write a higher threshold"}},
		{"just not", one("{name: r, type: ratio, threshold: 0.101, last: 10}"), well, nil},
		{"twice", one("{name: r, type: count, threshold: 2, window: 1m}"),
			made("a:1", time.Second, "missing_evidence*2 accepted*50 missing_evidence*2"), []string{
				"7:5: rule r would have opened a:1 at 2026-09-14T12:00:01Z, with 2 at a threshold of 2, the first "}},
		{"behind another that opened",
			one("{name: first, type: consecutive, threshold: 3}", "{name: second, type: count, threshold: 3}"),
			made("a:1", time.Second, "missing_evidence*3"), []string{
				"7:5: rule first would have opened a:1 at 2026-09-14T12:00:02Z, with 3 at a threshold of 3; ",
				"8:5: rule second would have opened a:1 at 2026-09-14T12:00:02Z; "}},
		{"at once", one("{name: r, type: immediate, kinds: [missing_evidence]}"), well, []string{
			"7:5: rule r would have opened a:1 at 2026-09-14T12:05:00Z; if all was well then, select less, "}},
		{"degrading", one("{name: r, type: immediate, kinds: [missing_evidence], action: degrade}",
			"{name: s, type: consecutive, threshold: 1, action: degrade}",
			"{name: t, type: ratio, threshold: 0.1, last: 10, action: degrade}"), well, []string{
			"7:5: rule r would have degraded a:1 at 2026-09-14T12:05:00Z; ",
			"8:5: rule s would have degraded a:1 at 2026-09-14T12:05:00Z, with 1 at a threshold of 1; ",
			"9:5: rule t would have degraded a:1 at 2026-09-14T12:05:00Z, with 0.1 at a threshold of 0.1; "}},
		{"a shadow, which has no circuits of its own", one(plain) +
			"- name: late\n  shadows: p\n  rules: [{name: r, type: ratio, threshold: 0.1, last: 10}]\n", well, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, tt.run)
	}
}

// TestTooFew finds rules that never had enough to judge, and policies that had nothing.
func TestTooFew(t *testing.T) {
	const nothing = "1:1: no policy matches any recorded circuit, so nothing was held against the rules: "
	tests := []finds{
		{"a window that never holds enough", one("{name: r, type: ratio, threshold: 0.5, window: 1m}"), well, []string{
			"7:5: rule r never judges at the recorded rate: its window of 1m held at most 7, and it waits for 20; "}},
		{"a window that just does",
			one("{name: r, type: slow_ratio, over: 1s, threshold: 0.5, window: 1m, minimum_throughput: 7}"), well, nil},
		{"a window longer than the recording",
			one("{name: r, type: ratio, threshold: 0.5, window: 1h, minimum_throughput: 61}"), well, []string{
				"7:5: note: rule r could not be tried: it waits for 61 outcomes in 1h, and saw at most 60, but no "}},
		{"a sparse circuit beside a dense one",
			one("{name: r, type: ratio, threshold: 0.9, window: 2m, minimum_throughput: 9}"),
			slices.Concat(well, made("a:2", time.Minute, "accepted*9")), []string{
				"4:1: no rule of policy p ever judges 1 of its 2 circuits at the recorded rate, as their windows " +
					"hold too few: a:2; "}},
		{"a sparse circuit that another rule judges",
			one("{name: r, type: ratio, threshold: 0.9, window: 2m, minimum_throughput: 9}",
				"{name: s, type: consecutive, threshold: 9}"),
			slices.Concat(well, made("a:2", time.Minute, "accepted*9")), nil},
		{"more outcomes than were recorded", one("{name: r, type: ratio, threshold: 0.5, last: 61}"), well, []string{
			"7:5: note: rule r could not be tried: it waits for 61 outcomes, and saw at most 60 of one circuit"}},
		{"one outcome where none was counted", one("{name: r, type: ratio, threshold: 0.5, last: 1}"),
			made("a:1", 0, "cancelled"), []string{
				"7:5: note: rule r could not be tried: it waits for 1 outcome, and saw at most 0 of one circuit"}},
		{"a circuit that no policy matches", one(plain), slices.Concat(well, made("x:1", 0, "accepted")), []string{
			"1:1: note: no policy matches 1 of the 2 recorded circuits, so they are refused nothing and their " +
				"outcomes are not counted: x:1"}},
		{"no circuit that a policy matches", one(plain), made("x:1", 0, "accepted"), []string{nothing + "x:1"}},
		{"no policy", "version: 1\npolicies: []\n", well, []string{nothing + "a:1"}},
		{"policies without circuits, or switched off", one(plain) + others,
			slices.Concat(well, made("c:1", 0, "accepted")), []string{
				"8:1: note: policy q matches no recorded circuit, so nothing was held against its rules",
				"11:1: note: policy off is switched off (enabled: false), so nothing was held against its rules"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, tt.run)
	}
}

// TestOutOfOrder says nothing of rules that saw little, as most outcomes were late.
func TestOutOfOrder(t *testing.T) {
	backwards := slices.Clone(well)
	slices.Reverse(backwards)
	rule := one("{name: r, type: ratio, threshold: 0.5, window: 1m}")
	finds{"backwards", rule, backwards, []string{
		"1:1: most outcomes of 1 of the 1 recorded circuits were late, so nothing can be said of the rules: a:1; ",
	}}.run(t)
}

// TestMany names some of what is many, and counts the rest.
func TestMany(t *testing.T) {
	outcomes := slices.Clone(well)
	for i := range 300 {
		outcomes = append(outcomes, made(fmt.Sprintf("x:%d", i), 0, fmt.Sprintf("made_up_%d", i))...)
	}
	l := lint.New(read(t, one("{name: r, type: ratio, threshold: 0.5, last: 10}")), backtest.Options{})
	for i := range outcomes {
		l.Add(&outcomes[i])
	}
	if l.Outcomes() != 360 || l.Circuits() != 301 {
		t.Errorf("%d outcomes of %d circuits, want 360 of 301", l.Outcomes(), l.Circuits())
	}
	findings, err := l.Findings()
	if err != nil || len(findings) != 6 {
		t.Fatalf("%d findings, want five kinds and the circuits: %v, %v", len(findings), findings, err)
	}
	const want = "no policy matches 300 of the 301 recorded circuits, so they are refused nothing and their outcomes " +
		"are not counted: x:0, x:1, x:2, x:3, x:4 and 295 others"
	if got := findings[5].Message; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}
