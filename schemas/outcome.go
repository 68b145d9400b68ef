package schemas

import "time"

// Outcome is one evaluated answer, as read from the wire: names in canonical form, numbers exact, optional parts at
// their defaults. Its strings may lie in the buffer they were decoded from: whoever keeps one clones it.
type Outcome struct {
	ID         string
	Circuit    string
	Kind       string // Canonical for the nine kinds; as it came for any other, see breaker.Policies.
	Severity   Severity
	ReasonCode string
	Reason     string

	Time         time.Time // To the millisecond, UTC; the zero time where unset.
	LatencyMS    int64
	InputTokens  int64
	OutputTokens int64
	CostMicros   int64 // Millionths of a US dollar.
	RetryAfterMS int64

	UseCase      string
	Route        string
	Version      string
	Tenant       string
	Provider     string
	Model        string
	FallbackFrom string

	Evaluator Evaluator
	Stage     string

	Epoch    int64 // Meaningful only where HasEpoch.
	HasEpoch bool
	Lease    string
	Source   string
	Count    int64 // 1 where unset.

	EvidenceRef string
	TraceID     string

	reader reader // Of DecodeOutcome, which then needs no memory of its own. Empty otherwise.
}

// Evaluator names who judged the answer.
type Evaluator struct {
	Name    string
	Version string
	Type    EvaluatorType
}
