package client_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fusebox-project/fusebox/client"
)

// ask stands for a call to a model.
func ask(context.Context, string) (answer, error) {
	return answer{text: "It is 4711.", citations: 1}, nil
}

// A gateway asks its gate before each call, and lets it judge and report the answer.
func ExampleOpen() {
	ctx := context.Background()
	gate, err := client.Open(ctx, client.Config{Brokers: []string{"127.0.0.1:9092"}, Router: "gateway-1"})
	if err != nil {
		fmt.Println(err) // It says what it waited for, where the context ended.
		return
	}
	defer func() {
		if err := gate.Close(); err != nil { // It says how many outcomes are lost.
			fmt.Println(err)
		}
	}()

	call := func(ctx context.Context) (answer, error) { return ask(ctx, "What is the policy number?") }
	a, err := client.Guard(ctx, gate, "submission-extraction:gpt-primary:v4", call, cited)
	var refused *client.RefusedError
	var rejected *client.RejectedError
	switch {
	case errors.As(err, &refused):
		fmt.Println("not called:", refused, "- back in", refused.RetryAfter)
	case errors.As(err, &rejected):
		fmt.Println("not usable:", rejected.Outcome.Kind)
	case err != nil:
		fmt.Println("failed:", err)
	default:
		fmt.Println(a.text)
	}
}

// By hand: every lease wants one Report or Release. Of a probe the context ends when its lease does.
func ExampleGate_Enter() {
	ctx := context.Background()
	gate, err := client.Open(ctx, client.Config{Brokers: []string{"127.0.0.1:9092"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer gate.Close()

	lease, err := gate.Enter(ctx, "submission-extraction:gpt-primary:v4")
	if err != nil {
		fmt.Println(err) // A *RefusedError, unless ctx ended while the gate asked for a probe.
		return
	}
	ctx, cancel := lease.Context(ctx)
	defer cancel()
	began := time.Now()
	a, err := ask(ctx, "What is the policy number?")
	outcome := client.Outcome{Kind: client.Accepted, Latency: time.Since(began)}
	switch {
	case errors.Is(err, context.Canceled):
		_ = lease.Release() // No evidence about the route.
		return
	case err != nil:
		outcome.Kind = client.TransportFailure
	case a.citations == 0:
		outcome.Kind, outcome.ReasonCode = client.MissingEvidence, "no_citation"
	}
	if err := lease.Report(outcome); err != nil {
		fmt.Println(err) // The outcome is lost: too many wait for the brokers.
	}
}

// A workflow stores a ticket with its work, and asks when it goes on hours later, perhaps in another process.
func ExampleGate_Resume() {
	ctx := context.Background()
	gate, err := client.Open(ctx, client.Config{Brokers: []string{"127.0.0.1:9092"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer gate.Close()
	lease, err := gate.Enter(ctx, "submission-extraction:gpt-primary:v4")
	if err != nil {
		fmt.Println(err)
		return
	}
	ticket := lease.Ticket() // Store it.

	if err := gate.Resume(ctx, ticket); err != nil {
		fmt.Println("begin anew:", err) // The route went bad since, or recovered since.
		return
	}
	late, err := gate.Lease(ticket)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := late.Report(client.Outcome{Kind: client.Accepted}); err != nil { // Counted once, however often.
		fmt.Println(err)
	}
}
