package schemas_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

func record(tb testing.TB, file string) []byte {
	tb.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// The promise: the specification's example in 3 µs and 6 allocations.
func BenchmarkDecodeOutcome(b *testing.B) {
	text := record(b, "outcome/full.json")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	var o schemas.Outcome
	for b.Loop() {
		if err := schemas.DecodeOutcome(nil, text, &o); err != nil {
			b.Fatal(err)
		}
	}
}

// What the standard library takes for the same members, unchecked.
func BenchmarkDecodeOutcomeByEncodingJSON(b *testing.B) {
	text := record(b, "outcome/full.json")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		var o struct {
			ID, Circuit, Kind, Severity, Reason, Provider, Model, Route, Version, Tenant, Stage, Lease, Source string

			ReasonCode   string      `json:"reason_code"`
			UseCase      string      `json:"use_case"`
			FallbackFrom string      `json:"fallback_from"`
			EvidenceRef  string      `json:"evidence_ref"`
			TraceID      string      `json:"trace_id"`
			Time         time.Time   `json:"time"`
			LatencyMS    int64       `json:"latency_ms"`
			InputTokens  int64       `json:"input_tokens"`
			OutputTokens int64       `json:"output_tokens"`
			Cost         json.Number `json:"cost_usd"`
			RetryAfterMS int64       `json:"retry_after_ms"`
			Epoch        *int64
			Count        int64
			Evaluator    struct{ Name, Version, Type string }
		}
		if err := json.Unmarshal(text, &o); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendOutcome(b *testing.B) {
	var o schemas.Outcome
	if err := schemas.DecodeOutcome(nil, record(b, "outcome/full.json"), &o); err != nil {
		b.Fatal(err)
	}
	var text []byte
	b.ReportAllocs()
	for b.Loop() {
		text = schemas.AppendOutcome(text[:0], &o)
	}
	b.SetBytes(int64(len(text)))
}

// bigState is an open circuit with all the evidence that a cause can hold.
func bigState(tb testing.TB) schemas.State {
	tb.Helper()
	s, err := schemas.DecodeState(record(tb, "state/open.json"))
	if err != nil {
		tb.Fatal(err)
	}
	for len(s.Cause.Evidence) < 10 {
		s.Cause.Evidence = append(s.Cause.Evidence, s.Cause.Evidence[0])
	}
	return s
}

func BenchmarkAppendState(b *testing.B) {
	s := bigState(b)
	var text []byte
	b.ReportAllocs()
	for b.Loop() {
		text = schemas.AppendState(text[:0], &s)
	}
	b.SetBytes(int64(len(text)))
}

func BenchmarkDecodeState(b *testing.B) {
	s := bigState(b)
	text := schemas.AppendState(nil, &s)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := schemas.DecodeState(text); err != nil {
			b.Fatal(err)
		}
	}
}
