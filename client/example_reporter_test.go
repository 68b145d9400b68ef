package client_test

import (
	"context"
	"fmt"
	"time"

	"github.com/fusebox-project/fusebox/client"
)

// A program that asks no gate reports what became of the answers all the same.
func ExampleNewReporter() {
	ctx := context.Background()
	reporter, err := client.NewReporter(ctx, client.Config{
		Brokers: []string{"127.0.0.1:9092"}, Router: "underwriting-7",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer reporter.Close() // Sends what waits to be sent.

	err = reporter.Report("submission-extraction:gpt-primary:v4", client.Outcome{
		Kind: client.MissingEvidence, ReasonCode: "no_citation", Stage: "retrieval",
		Latency: 1834 * time.Millisecond, InputTokens: 4808, OutputTokens: 212, CostUSD: 0.0153,
	})
	if err != nil {
		fmt.Println(err) // It is not fit to be sent, or too many wait for the brokers: it is lost.
	}
}
