package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/schemas"
)

// programPolicies is what the program below works under.
const programPolicies = `version: 1
defaults: {break: {duration: 30s, jitter: 0}, half_open: {lease: 20s}}
policies: [{name: quick, match: ["*"], rules: [{name: row, type: consecutive, threshold: 2}]}]
routes:
- {use_case: extraction, chain: ["extraction:gpt:v4", "extraction:claude:v4"], otherwise: human-review}
`

// program is a gateway in front of a model whose answers go bad and recover, under any Breaker.
func program(t *testing.T, b client.Breaker) {
	t.Helper()
	primary, asked := client.InvalidContract, 0
	stages := map[string]client.Stage[string]{
		first: {Call: func(context.Context) (string, error) {
			asked++
			return primary, nil
		}},
		second: {Call: answers(client.Accepted)},
	}
	ask := func() {
		t.Helper()
		if answer, err := client.Fallback(t.Context(), b, "extraction", stages, byText); err != nil {
			t.Errorf("Fallback = %q, %v, want an answer", answer, err)
		}
	}
	becomes := func(phase schemas.Phase) {
		t.Helper()
		for begin := time.Now(); b.State(first).State.State != phase; time.Sleep(time.Millisecond) {
			if time.Since(begin) > 10*time.Second {
				t.Fatalf("the circuit is %v, want %v within 10s", b.State(first).State.State, phase)
			}
		}
	}
	ask()
	ask()
	becomes(schemas.Open)
	for range 10 {
		ask()
	}
	if asked != 2 {
		t.Errorf("the primary was asked %d times, want twice, until the circuit opened", asked)
	}
	_, err := client.Guard(t.Context(), b, first, stages[first].Call, byText)
	var refused *client.RefusedError
	if !errors.As(err, &refused) || refused.Cause.Kind != client.InvalidContract {
		t.Errorf("Guard = %v, want a refusal for invalid_contract", err)
	}
	time.Sleep(b.State(first).RetryAfter)
	ask() // It probes, in vain.
	becomes(schemas.Open)
	if s := b.State(first); asked != 3 || s.Cause.Rule != schemas.ProbeFailed || s.Epoch != 2 {
		t.Errorf("after %d calls the circuit is at epoch %d for %+v, want a failed probe", asked, s.Epoch, s.Cause)
	}
	primary = client.Accepted
	time.Sleep(b.State(first).RetryAfter)
	ask()
	becomes(schemas.Closed)
	ask()
	if asked != 5 {
		t.Errorf("the primary was asked %d times, want 5: the second probe was good", asked)
	}
}

func TestProgramOnLocal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { program(t, newLocal(t, programPolicies)) })
}
