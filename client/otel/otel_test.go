package otel_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/client/otel"
)

// full is an outcome with every field.
func full() client.Outcome {
	return client.Outcome{
		Kind: client.MissingEvidence, Severity: client.High, ReasonCode: "no_citation", Stage: "retrieval",
		Reason:    "the policy number 4711",
		Evaluator: client.Evaluator{Name: "verifier", Version: "1.4.0", Type: client.LLM},
		ID:        "01J7ZK3V9E", Time: time.Unix(1, 0), Latency: 1834 * time.Millisecond,
		InputTokens: 4808, OutputTokens: 212, CostUSD: 0.0153, RetryAfter: 2 * time.Second,
		Provider: "azure.ai.openai", Model: "gpt-4o-2024-08-06", Tenant: "acme",
		FallbackFrom: "extraction:gpt:v4", EvidenceRef: "s3://evidence/1", TraceID: "4bf92f35",
	}
}

func attributes(t *testing.T, o client.Outcome) string {
	t.Helper()
	gate := client.Local(nil)
	lease, err := gate.Enter(context.Background(), "extraction:claude:v1")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, a := range otel.Attributes(&lease, o) {
		lines = append(lines, fmt.Sprintf("%s=%v", a.Key, a.Value.AsInterface()))
	}
	return strings.Join(lines, " ")
}

func TestAttributes(t *testing.T) {
	const want = "fusebox.circuit=extraction:claude:v1 fusebox.epoch=0 fusebox.outcome.kind=missing_evidence " +
		"fusebox.outcome.severity=high fusebox.outcome.reason_code=no_citation fusebox.outcome.stage=retrieval " +
		"fusebox.outcome.id=01J7ZK3V9E fusebox.outcome.cost_usd=0.0153 fusebox.outcome.latency_ms=1834 " +
		"fusebox.outcome.retry_after_ms=2000 fusebox.outcome.fallback_from=extraction:gpt:v4 " +
		"fusebox.outcome.evidence_ref=s3://evidence/1 fusebox.outcome.tenant=acme fusebox.evaluator.name=verifier " +
		"fusebox.evaluator.version=1.4.0 fusebox.evaluator.type=llm gen_ai.provider.name=azure.ai.openai " +
		"gen_ai.response.model=gpt-4o-2024-08-06 gen_ai.usage.input_tokens=4808 gen_ai.usage.output_tokens=212"
	if got := attributes(t, full()); got != want {
		t.Errorf("Attributes = %s\nwant %s", got, want)
	}
	const least = "fusebox.circuit=extraction:claude:v1 fusebox.epoch=0 fusebox.outcome.kind=accepted " +
		"fusebox.outcome.severity=normal"
	if got := attributes(t, client.Outcome{Kind: client.Accepted}); got != least {
		t.Errorf("Attributes = %s\nwant %s", got, least)
	}
}

// TestPitfall38Attributes fills every field of an outcome that a person may read with a secret: no attribute has it. A
// field that is new has to be thought of here.
func TestPitfall38Attributes(t *testing.T) {
	o := full()
	if n := reflect.ValueOf(o).NumField(); n != 19 {
		t.Errorf("an outcome has %d fields, of which 19 were thought of", n)
	}
	o.Reason = "sk-live-0123456789"
	if got := attributes(t, o); strings.Contains(got, o.Reason) {
		t.Errorf("Attributes = %s, with free text", got)
	}
}
