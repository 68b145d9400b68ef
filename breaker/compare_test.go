package breaker_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fusebox-project/fusebox/breaker"
)

type difference = breaker.Difference

const plainPolicy = `version: 1
policies:
- name: p
  match: ["a:*"]
  rules:
  - {name: r, type: ratio, threshold: 0.5}
  - {name: down, type: consecutive, threshold: 5}
`

// replaced returns the plain policies with a text of theirs replaced, which must be there.
func replaced(t *testing.T, old, with string) *breaker.Policies {
	t.Helper()
	if !strings.Contains(plainPolicy, old) {
		t.Fatalf("the policies do not contain %q", old)
	}
	return read(t, strings.Replace(plainPolicy, old, with, 1))
}

func TestCompare(t *testing.T) {
	ratio := "opens when, of at least 20 outcomes in the last minute, half or more were failures"
	tests := []struct {
		name, old, with string
		want            []difference
	}{
		{"defaults that are written out", "policies:",
			"defaults: {window: 60s, break: {backoff: 2.0}}\npolicies:", nil},
		{"a kind that is neutral by itself", "version: 1", "version: 1\nkinds: [odd]", nil},
		{"a severity of all", "type: ratio,", "type: ratio, minimum_throughput: 20,", nil},
		{"a threshold", "0.5", "0.4", []difference{{
			"rule r", ratio, "opens when, of at least 20 outcomes in the last minute, 40 % or more were failures"}}},
		{"all", "0.5", "1", []difference{{
			"rule r", ratio, "opens when, of at least 20 outcomes in the last minute, all were failures"}}},
		{"a name", "name: r,", "name: failures,", []difference{{"rule r", "named r", "named failures"}}},
		{"the order", "  - {name: r, type: ratio, threshold: 0.5}\n  - {name: down, type: consecutive, threshold: 5}",
			"  - {name: down, type: consecutive, threshold: 5}\n  - {name: r, type: ratio, threshold: 0.5}",
			[]difference{{"order of rules", "r, down", "down, r"}}},
		{"a rule less", "  - {name: down, type: consecutive, threshold: 5}\n", "",
			[]difference{{"rule down", "opens at 5 failures in a row, however far apart", ""}}},
		{"a rule more", "  rules:\n", "  rules:\n  - {name: spend, type: sum, of: tokens, threshold: 5}\n",
			[]difference{{"rule spend", "", "opens when the tokens of all outcomes in the last minute reach 5"}}},
		{"a role", "  rules:", "  kinds: {cancelled: success}\n  rules:",
			[]difference{{"kind cancelled", "neutral", "success"}}},
		{"off", "  rules:", "  enforce: false\n  rules:", []difference{{"effect", "enforced",
			"not enforced (enforce: false): states are published and no router obeys them"}}},
		{"no policy", `"a:*"`, `"b:*"`, []difference{
			{"policy", "p", "none matches: it is refused nothing, and its outcomes are not counted"},
			{"rule r", ratio, ""}, {"rule down", "opens at 5 failures in a row, however far apart", ""}}},
		{"a break", "  rules:", "  break: {duration: 1s, max: 1s, jitter: 0}\n  rules:", []difference{{"open",
			"for 30s, 2 times as long at each further trip, up to 10m, and again 30s after 10m of health; " +
				"give or take 10 %", "for 1s"}}},
		{"a shadow", "policies:\n",
			"policies:\n- {name: s, shadows: p, rules: [{name: r, type: count, threshold: 9}]}\n",
			[]difference{{"shadow", "", "s, which judges beside it and nobody obeys"},
				{"shadow's rule r", "", "opens at 9 failures in the last minute"}}},
		{"a route", "policies:", "routes: [{use_case: u, chain: [\"a:1\", b]}]\npolicies:",
			[]difference{{"refused in use case u for any cause", "", "b"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := breaker.Compare(read(t, plainPolicy), replaced(t, tt.old, tt.with), "a:1")
			if !slices.Equal(got, tt.want) {
				t.Errorf("Compare:\n got %q\nwant %q", got, tt.want)
			}
		})
	}
}

// TestCompareWeights sees a weight of any severity and judge.
func TestCompareWeights(t *testing.T) {
	is := replaced(t, "  rules:", "  severity_weights: {critical: 5}\n  evaluator_weights: {llm: 0.5}\n  rules:")
	got := breaker.Compare(read(t, plainPolicy), is, "a:1")
	i := slices.IndexFunc(got, func(c difference) bool { return c.About == "kind missing_evidence" })
	want := difference{About: "kind missing_evidence", Was: "failure weighing 1", Is: "failure weighing low 1, " +
		"normal 1, high 1, critical 5 judged by code or human; weighing low 0.5, normal 0.5, high 0.5, critical 2.5 " +
		"judged by llm"}
	if i < 0 || got[i] != want {
		t.Errorf("Compare = %q, want %q among them", got, want)
	}
}
