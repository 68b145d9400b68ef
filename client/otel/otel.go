// Package otel says in attributes of an OpenTelemetry span through which circuit a call went and how its answer was
// judged. What the semantic conventions for generative AI name has their names, the rest begins with fusebox. None
// holds a prompt, an answer, or free text about one: an outcome's Reason is left out.
package otel

import (
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/fusebox-project/fusebox/client"
)

// The keys of attributes.
const (
	Circuit = attribute.Key("fusebox.circuit")
	Epoch   = attribute.Key("fusebox.epoch")
	Lease   = attribute.Key("fusebox.lease") // Of a probe alone.

	Kind         = attribute.Key("fusebox.outcome.kind")
	Severity     = attribute.Key("fusebox.outcome.severity")
	ReasonCode   = attribute.Key("fusebox.outcome.reason_code")
	Stage        = attribute.Key("fusebox.outcome.stage")
	ID           = attribute.Key("fusebox.outcome.id")
	CostUSD      = attribute.Key("fusebox.outcome.cost_usd")
	LatencyMS    = attribute.Key("fusebox.outcome.latency_ms")
	RetryAfterMS = attribute.Key("fusebox.outcome.retry_after_ms")
	FallbackFrom = attribute.Key("fusebox.outcome.fallback_from")
	EvidenceRef  = attribute.Key("fusebox.outcome.evidence_ref")
	Tenant       = attribute.Key("fusebox.outcome.tenant")

	EvaluatorName    = attribute.Key("fusebox.evaluator.name")
	EvaluatorVersion = attribute.Key("fusebox.evaluator.version")
	EvaluatorType    = attribute.Key("fusebox.evaluator.type")

	Provider     = attribute.Key("gen_ai.provider.name")
	Model        = attribute.Key("gen_ai.response.model")
	InputTokens  = attribute.Key("gen_ai.usage.input_tokens")
	OutputTokens = attribute.Key("gen_ai.usage.output_tokens")
)

// Attributes returns what a lease and the outcome reported on it tell. What has its default is left out.
func Attributes(l *client.Lease, o client.Outcome) []attribute.KeyValue {
	all := []attribute.KeyValue{
		Circuit.String(l.Circuit()), Epoch.Int64(l.Epoch()), Kind.String(o.Kind), Severity.String(o.Severity.String()),
	}
	text := func(key attribute.Key, value string) {
		if value != "" {
			all = append(all, key.String(value))
		}
	}
	number := func(key attribute.Key, value int64) {
		if value != 0 {
			all = append(all, key.Int64(value))
		}
	}
	text(Lease, l.ID())
	text(ReasonCode, o.ReasonCode)
	text(Stage, o.Stage)
	text(ID, o.ID)
	if o.CostUSD != 0 {
		all = append(all, CostUSD.Float64(o.CostUSD))
	}
	number(LatencyMS, o.Latency.Round(time.Millisecond).Milliseconds())
	number(RetryAfterMS, o.RetryAfter.Round(time.Millisecond).Milliseconds())
	text(FallbackFrom, o.FallbackFrom)
	text(EvidenceRef, o.EvidenceRef)
	text(Tenant, o.Tenant)
	if o.Evaluator != (client.Evaluator{}) {
		text(EvaluatorName, o.Evaluator.Name)
		text(EvaluatorVersion, o.Evaluator.Version)
		text(EvaluatorType, o.Evaluator.Type.String())
	}
	text(Provider, o.Provider)
	text(Model, o.Model)
	number(InputTokens, o.InputTokens)
	number(OutputTokens, o.OutputTokens)
	return all
}
