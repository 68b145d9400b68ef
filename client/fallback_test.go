package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/schemas"
)

const (
	first  = "extraction:gpt:v4"
	second = "extraction:claude:v4"
	third  = "extraction:local:v4"
	older  = "extraction:gpt:v3"
)

const withRoutes = once + `
routes:
- use_case: extraction
  chain: ["` + first + `", "` + second + `", "` + third + `"]
  otherwise: human-review
  by_cause:
    missing_evidence: ["` + older + `", "` + first + `"]
    invalid_contract: []
    evaluator_error: ["` + third + `"]
- {use_case: summary, chain: ["summary:gpt:v1"]}
`

// TestFallback lets each circuit answer with a kind, "" for one that the program does not know and an operator's name
// for one that he keeps open. It tells who was asked, in this order.
func TestFallback(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers map[string]string
		asked   string // Letters: first, second, third, older.
		err     bool
	}{
		{"the first is good", map[string]string{first: "accepted"}, "f", false},
		{"the next takes over", map[string]string{first: "transport_failure", second: "accepted"}, "fs", false},
		{
			"the cause of a rejection chooses",
			map[string]string{first: "MissingEvidence", second: "accepted", older: "accepted"}, "fo", false,
		},
		{
			"what the cause chose takes the place of the rest",
			map[string]string{first: "missing_evidence", second: "accepted", older: "transport_failure"}, "fo", true,
		},
		{
			"nobody is tried twice",
			map[string]string{first: "missing_evidence", second: "accepted", older: "missing_evidence"}, "fo", true,
		},
		{
			"a cause may end it",
			map[string]string{first: "transport_failure", second: "invalid_contract", third: "accepted"}, "fs", true,
		},
		{"an operator's word has no cause", map[string]string{first: "ann", second: "accepted"}, "s", false},
		{
			"what cannot be judged has a cause, too",
			map[string]string{first: "?", second: "accepted", third: "accepted"}, "ft", false,
		},
		{"one is unknown here", map[string]string{first: "", second: "accepted"}, "s", false},
		{
			"all fail",
			map[string]string{first: "transport_failure", second: "policy_rejection", third: "transport_failure"},
			"fst", true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newLocal(t, withRoutes)
			asked := ""
			stages := map[string]client.Stage[string]{}
			for name, answer := range tt.answers {
				switch answer {
				case "":
					continue
				case "ann":
					if err := g.Override(name, schemas.ForceOpen, "ann", "drill", 0); err != nil {
						t.Fatal(err)
					}
				}
				letter := map[string]string{first: "f", second: "s", third: "t", older: "o"}[name]
				stages[name] = client.Stage[string]{Call: func(context.Context) (string, error) {
					asked += letter
					return answer, nil
				}}
			}
			answer, err := client.Fallback(t.Context(), g, "extraction", stages,
				func(ctx context.Context, answer string) (client.Outcome, error) {
					if answer == "?" {
						return client.Outcome{}, errBoom
					}
					return byText(ctx, answer)
				})
			if asked != tt.asked || (err != nil) != tt.err || !tt.err && answer != "accepted" {
				t.Errorf("Fallback = %q, %v, having asked %q, want %q and an error: %v",
					answer, err, asked, tt.asked, tt.err)
			}
		})
	}
}

// TestFallbackByTheCauseOfARefusal opens the first circuit for a cause: while it refuses, that chooses.
func TestFallbackByTheCauseOfARefusal(t *testing.T) {
	g := newLocal(t, withRoutes)
	report(t, g, first, client.MissingEvidence)
	stages := map[string]client.Stage[string]{
		first: {Call: answers("accepted")}, second: {Call: answers("accepted")},
		older: {
			Call: answers("old but good"),
			Evaluate: func(context.Context, string) (client.Outcome, error) {
				return client.Outcome{Kind: client.Accepted}, nil
			},
		},
	}
	answer, err := client.Fallback(t.Context(), g, "extraction", stages, byText)
	if answer != "old but good" || err != nil {
		t.Errorf("Fallback = %q, %v, want the circuit that by_cause names, by its own evaluator", answer, err)
	}
}

// TestFallbackError wants what was tried and why, in words, the least time to wait, and what to do instead.
func TestFallbackError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newLocal(t, withRoutes)
		if err := g.Override(first, schemas.ForceOpen, "ann", "drill", time.Minute); err != nil {
			t.Fatal(err)
		}
		report(t, g, second, client.TransportFailure)
		stages := map[string]client.Stage[string]{
			first: {Call: answers("accepted")}, second: {Call: answers("accepted")}, third: {Call: fails(errBoom)},
		}
		_, err := client.Fallback(t.Context(), g, "extraction", stages, byText)
		var failure *client.FallbackError
		if !errors.As(err, &failure) || failure.RetryAfter != 30*time.Second || failure.Otherwise != "human-review" ||
			len(failure.Tried) != 3 || !errors.Is(err, errBoom) || !errors.Is(err, client.ErrRefused) {
			t.Fatalf("Fallback = %+v, want three that were tried, 30s, and human-review", err)
		}
		const want = "no route of extraction gave an accepted answer:" +
			" (1) " + first + " refuses: ann keeps it open: drill; try again in 1m" +
			" (2) " + second + " refuses: one: 1 outcome in a row failed (threshold 1), all transport_failure (1);" +
			" try again in 30s (3) " + third + ": boom; otherwise human-review"
		if err.Error() != want {
			t.Errorf("Error() = %q\nwant %q", err.Error(), want)
		}
		if err := g.Override(third, schemas.ForceOpen, "ann", "drill", 45*time.Second); err != nil {
			t.Fatal(err)
		}
		_, err = client.Fallback(t.Context(), g, "extraction", stages, byText)
		if !errors.As(err, &failure) || failure.RetryAfter != 30*time.Second {
			t.Errorf("when all refuse, for 1m, 30s and 45s, Fallback = %+v, want the least", err)
		}
		_, err = client.Fallback(t.Context(), g, "summary", stages, byText)
		if !errors.Is(err, client.ErrNoStage) || !strings.Contains(err.Error(), "summary:gpt:v1") {
			t.Errorf("Fallback = %v, want that the program has no call for summary:gpt:v1", err)
		}
		for useCase, want := range map[string]string{
			"translation": "for use case translation, and 2 for others",
			"extractoin":  "for use case extractoin; did you mean extraction?",
		} {
			_, err = client.Fallback(t.Context(), g, useCase, stages, byText)
			if !errors.Is(err, client.ErrNoRoute) || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("Fallback = %v, want it to end with %q", err, want)
			}
		}
	})
}

// TestFallbackStopsWithItsContext goes to no other route for a caller that has left.
func TestFallbackStopsWithItsContext(t *testing.T) {
	g := newLocal(t, withRoutes)
	ctx, cancel := context.WithCancel(t.Context())
	stages := map[string]client.Stage[string]{
		first: {Call: func(ctx context.Context) (string, error) { cancel(); return "", ctx.Err() }},
		second: {Call: func(context.Context) (string, error) {
			t.Error("the second was asked, for nobody")
			return "accepted", nil
		}},
	}
	_, err := client.Fallback(ctx, g, "extraction", stages, byText)
	var failure *client.FallbackError
	if !errors.As(err, &failure) || len(failure.Tried) != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("Fallback = %v, want that the first was cancelled, and no more", err)
	}
}

// TestFallbackFrom wants the head of the chain in the outcomes of those that take over its work: a rule that adds up
// such work alone opens them.
func TestFallbackFrom(t *testing.T) {
	g := newLocal(t, strings.Replace(withRoutes, "rules: [",
		"rules: [{name: rescue, type: sum, of: cost_usd, only: fallback, threshold: 1}, ", 1))
	costly := func(context.Context, string) (client.Outcome, error) {
		return client.Outcome{Kind: client.Accepted, CostUSD: 1}, nil
	}
	stages := map[string]client.Stage[string]{first: {Call: answers("x")}, second: {Call: answers("x")}}
	if _, err := client.Fallback(t.Context(), g, "extraction", stages, costly); err != nil {
		t.Fatal(err)
	}
	if s := g.State(first); s.State.State != schemas.Closed {
		t.Errorf("the head of the chain did another's work: %+v", s.Cause)
	}
	report(t, g, first, client.TransportFailure)
	if _, err := client.Fallback(t.Context(), g, "extraction", stages, costly); err != nil {
		t.Fatal(err)
	}
	if s := g.State(second); s.Cause == nil || s.Cause.Rule != "rescue" {
		t.Errorf("the second is %v for %+v, want its work known as that of the first", s.State.State, s.Cause)
	}
}
