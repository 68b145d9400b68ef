package client

import (
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

// The kinds of outcome that every policy knows. A policy may declare more.
const (
	Accepted              = schemas.Accepted
	TransportFailure      = schemas.TransportFailure
	InvalidContract       = schemas.InvalidContract
	BusinessRuleFailure   = schemas.BusinessRuleFailure
	MissingEvidence       = schemas.MissingEvidence
	ContradictoryEvidence = schemas.ContradictoryEvidence
	PolicyRejection       = schemas.PolicyRejection
	EvaluatorError        = schemas.EvaluatorError
	Cancelled             = schemas.Cancelled
)

// Severity tells how bad an outcome is. The zero value is Normal.
type Severity = schemas.Severity

// Severities.
const (
	Normal   = schemas.Normal
	Low      = schemas.Low
	High     = schemas.High
	Critical = schemas.Critical
)

// Evaluator names who judged the answer. Its zero Type is Code.
type Evaluator = schemas.Evaluator

// Who judged an answer.
const (
	Code  = schemas.Code
	LLM   = schemas.LLM
	Human = schemas.Human
)

// Outcome is what became of one call, as the application judges it. Kind alone is required. There is no field for a
// prompt or an answer: Reason, ReasonCode and Stage are for operators to read, and cut at 256 bytes.
type Outcome struct {
	Kind       string
	Severity   Severity
	ReasonCode string
	Reason     string
	Stage      string // Where it went wrong: retrieval, prompt, model, parse, validate, or a word of one's own.
	Evaluator  Evaluator

	ID      string        // Chosen where empty. A second outcome of the same id is not counted.
	Time    time.Time     // When the answer was judged; now where it is zero.
	Latency time.Duration // Of the call. Guard measures it where it is 0.

	InputTokens  int64
	OutputTokens int64
	CostUSD      float64
	RetryAfter   time.Duration // What the provider asked for: a break is at least that long.

	Provider     string
	Model        string
	Tenant       string
	FallbackFrom string // The circuit whose work this is. Fallback fills it in.
	EvidenceRef  string
	TraceID      string
}
