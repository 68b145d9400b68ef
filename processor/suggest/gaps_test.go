package suggest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor/backtest"
	"github.com/fusebox-project/fusebox/processor/lint"
	"github.com/fusebox-project/fusebox/processor/suggest"
	"github.com/fusebox-project/fusebox/schemas"
)

// passes holds what is proposed against what it was made from, as its user will: no problem may be found.
func passes(t *testing.T, p *suggest.Proposal, healthy []schemas.Outcome) {
	t.Helper()
	policies, err := breaker.Read("proposal", []byte(p.Policy))
	if err != nil {
		t.Fatalf("%v in\n%s", err, p.Policy)
	}
	if p.Rules() == 0 {
		return
	}
	l := lint.New(policies, backtest.Options{})
	for i := range healthy {
		l.Add(&healthy[i])
	}
	findings, err := l.Findings()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		if !f.Note {
			t.Errorf("what is proposed does not pass its own check: %s in\n%s", f.Message, p.Policy)
		}
	}
}

// TestGaps tells what gets no rule, and what counted for nothing.
func TestGaps(t *testing.T) {
	often := func(kind string, of int) func(int) string {
		return func(i int) string {
			if i%of == 0 {
				return schemas.Accepted
			}
			return kind
		}
	}
	outcomes := slices.Concat(
		made("well:gpt:v1", 400, failing(1, 0.05, 0)),
		made("weak:gpt:v1", 80, often(schemas.MissingEvidence, 20)),
		made("silent:gpt:v1", 80, often(schemas.PolicyRejection, 10)),
		made("few:gpt:v1", 29, failing(1, 0, 0)),
		made("well:gpt:v1", 3, func(int) string { return "tool_misuse" }),
		made("well:gpt:v1", 2, func(int) string { return "mising_evidence" }),
	)
	want := []string{
		"few:gpt: no rule for failures: too few outcomes are good or failures: 29, and it takes 30 of one circuit",
		"few:gpt: no rule for rejections: too few outcomes are good, failures or rejections: 29, and it takes 30 " +
			"of one circuit",
		"few:gpt: no rule at all, and so no policy",
		"silent:gpt: no rule for failures: too few outcomes are good or failures: 8, and it takes 30 of one circuit",
		"silent:gpt: no rule for rejections: with 72 rejections in 80 outcomes while all was well, a bad time cannot " +
			"be told from chance; record more, or allow a greater --false-trips",
		"silent:gpt: no rule at all, and so no policy",
		"weak:gpt: no rule for failures: with 76 failures in 80 outcomes while all was well, a bad time cannot be " +
			"told from chance; record more, or allow a greater --false-trips",
		`kind "tool_misuse", of 3 outcomes, is none of the nine: it was taken for neutral; where it is a failure, ` +
			"declare it and give it a rule",
		`kind "mising_evidence", of 2 outcomes, is none of the nine: it was taken for neutral; did you mean ` +
			"missing_evidence?",
	}
	p := propose(t, outcomes, all, 1e-5)
	if got := p.Gaps(); !slices.Equal(got, want) {
		t.Errorf("Gaps:\n got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}
