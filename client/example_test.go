package client_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/schemas"
)

// answer is what the examples' models say.
type answer struct {
	text      string
	citations int
}

// cited accepts answers that cite something.
func cited(_ context.Context, a answer) (client.Outcome, error) {
	if a.citations == 0 {
		return client.Outcome{Kind: client.MissingEvidence, ReasonCode: "no_citation"}, nil
	}
	return client.Outcome{Kind: client.Accepted}, nil
}

func examplePolicies(text string) *breaker.Policies {
	policies, err := breaker.Read("policies.yaml", []byte(text))
	if err != nil {
		panic(err)
	}
	return policies
}

// A program begins with Local, and moves to Kafka by another line that makes the gate.
func ExampleLocal() {
	gate := client.Local(nil)
	defer gate.Close()
	const circuit = "submission-extraction:gpt-primary:v4"
	for range 20 {
		lease, err := gate.Enter(context.Background(), circuit)
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := lease.Report(client.Outcome{Kind: client.MissingEvidence}); err != nil {
			fmt.Println(err)
			return
		}
	}
	_, err := gate.Enter(context.Background(), circuit)
	var refused *client.RefusedError
	if errors.As(err, &refused) {
		fmt.Println(refused.State, "for", refused.Cause.Words())
	}
	// Output: open for failure-ratio: 20 of 20 outcomes in 1m failed (1, threshold 0.5), all missing_evidence (20)
}

// An operator's word acts at once.
func ExampleLocalGate_Override() {
	gate := client.Local(nil)
	defer gate.Close()
	const circuit = "submission-extraction:gpt-primary:v4"
	if err := gate.Override(circuit, schemas.ForceOpen, "ann", "provider incident", 0); err != nil {
		fmt.Println(err)
		return
	}
	_, err := gate.Enter(context.Background(), circuit)
	fmt.Println(err)
	// Output: submission-extraction:gpt-primary:v4 refuses: ann keeps it open: provider incident
}

func ExampleGuard() {
	gate := client.Local(examplePolicies(`
version: 1
policies: [{name: strict, match: ["*"], rules: [{name: two-in-a-row, type: consecutive, threshold: 2}]}]
`))
	defer gate.Close()
	ask := func(context.Context) (answer, error) { return answer{text: "I am sure of it."}, nil }
	for range 3 {
		_, err := client.Guard(context.Background(), gate, "submission-extraction:gpt-primary:v4", ask, cited)
		var rejected *client.RejectedError
		switch {
		case errors.As(err, &rejected):
			fmt.Println("rejected:", rejected.Outcome.Kind, rejected.Outcome.ReasonCode)
		case errors.Is(err, client.ErrRefused):
			fmt.Println("refused, without a call")
		}
	}
	// Output:
	// rejected: missing_evidence no_citation
	// rejected: missing_evidence no_citation
	// refused, without a call
}

func ExampleWrap() {
	gate := client.Local(nil)
	defer gate.Close()
	model := func(_ context.Context, prompt string) (answer, error) { // Such as a client's method.
		return answer{text: strings.ToUpper(prompt), citations: 1}, nil
	}
	chat := client.Wrap(gate, "submission-extraction:gpt-primary:v4", model, cited)
	a, err := chat(context.Background(), "who insures whom?")
	fmt.Println(a.text, err)
	// Output: WHO INSURES WHOM? <nil>
}

// A stream is judged at its end. Whoever breaks off the range blames nobody.
func ExampleGuardStream() {
	gate := client.Local(nil)
	defer gate.Close()
	open := func(context.Context) (iter.Seq2[string, error], error) { // Such as a chat completion's parts.
		return func(yield func(string, error) bool) {
			for _, part := range []string{"The insurer ", "is Acme", "."} {
				if !yield(part, nil) {
					return
				}
			}
		}, nil
	}
	citedAtLast := func(ctx context.Context, parts []string) (client.Outcome, error) {
		return cited(ctx, answer{citations: strings.Count(strings.Join(parts, ""), "[")})
	}
	stream, err := client.GuardStream(
		context.Background(), gate, "submission-extraction:gpt-primary:v4", open, citedAtLast)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stream.Close()
	for part, err := range stream.All() {
		if err != nil {
			fmt.Println()
			fmt.Println(err)
			return
		}
		fmt.Print(part)
	}
	// Output:
	// The insurer is Acme.
	// submission-extraction:gpt-primary:v4 gave no accepted answer: missing_evidence, no_citation
}

// The policies say where to go when a circuit refuses, or its answer is not accepted.
func ExampleFallback() {
	gate := client.Local(examplePolicies(`
version: 1
policies: [{name: all, match: ["*"], rules: [{name: failures, type: ratio, threshold: 0.5}]}]
routes:
- use_case: submission-extraction
  chain: ["submission-extraction:gpt-primary:v4", "submission-extraction:gpt-secondary:v4"]
  otherwise: human-review
  by_cause: {missing_evidence: ["submission-extraction:gpt-primary:v3"]}
`))
	defer gate.Close()
	stage := func(a answer) client.Stage[answer] {
		return client.Stage[answer]{Call: func(context.Context) (answer, error) { return a, nil }}
	}
	stages := map[string]client.Stage[answer]{
		"submission-extraction:gpt-primary:v4":   stage(answer{text: "the new prompt cites nothing"}),
		"submission-extraction:gpt-secondary:v4": stage(answer{text: "another model", citations: 1}),
		"submission-extraction:gpt-primary:v3":   stage(answer{text: "the old prompt", citations: 2}),
	}
	a, err := client.Fallback(context.Background(), gate, "submission-extraction", stages, cited)
	fmt.Println(a.text, err)
	// Output: the old prompt <nil>
}
