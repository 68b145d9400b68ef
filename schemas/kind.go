package schemas

// The kinds of outcome that every policy knows. A policy may declare more.
const (
	Accepted              = "accepted"
	TransportFailure      = "transport_failure"
	InvalidContract       = "invalid_contract"
	BusinessRuleFailure   = "business_rule_failure"
	MissingEvidence       = "missing_evidence"
	ContradictoryEvidence = "contradictory_evidence"
	PolicyRejection       = "policy_rejection"
	EvaluatorError        = "evaluator_error"
	Cancelled             = "cancelled"
)

// UnknownKind is the bucket in which kinds that nobody declared are counted together.
const UnknownKind = "unknown"

// Kinds are the nine kinds that every policy knows, in the order of the specification. Callers must not change it.
var Kinds = []string{
	Accepted, TransportFailure, InvalidContract, BusinessRuleFailure, MissingEvidence, ContradictoryEvidence,
	PolicyRejection, EvaluatorError, Cancelled,
}

// Severity tells how bad an outcome is. The zero value is Normal, which is what an absent severity means.
type Severity uint8

// Severities, least first when compared by Rank.
const (
	Normal Severity = iota
	Low
	High
	Critical
)

var severityNames = [...]string{Normal: "normal", Low: "low", High: "high", Critical: "critical"}

// String returns the name on the wire.
func (s Severity) String() string { return severityNames[s] }

// Rank orders severities: low 0, normal 1, high 2, critical 3.
func (s Severity) Rank() int { return [...]int{Normal: 1, Low: 0, High: 2, Critical: 3}[s] }

// SeverityOf returns the severity of that name, and whether there is one. An empty name is Normal.
func SeverityOf(name string) (Severity, bool) {
	switch name {
	case "", "normal":
		return Normal, true
	case "low":
		return Low, true
	case "high":
		return High, true
	case "critical":
		return Critical, true
	}
	return Normal, false
}

// EvaluatorType tells who judged an answer. The zero value is Code, which is what an absent type means.
type EvaluatorType uint8

// Evaluator types. LLM is the one trusted least.
const (
	Code EvaluatorType = iota
	LLM
	Human
)

var evaluatorNames = [...]string{Code: "code", LLM: "llm", Human: "human"}

// String returns the name on the wire.
func (e EvaluatorType) String() string { return evaluatorNames[e] }

// EvaluatorTypeOf returns the evaluator type of that name, and whether there is one. An empty name is Code.
func EvaluatorTypeOf(name string) (EvaluatorType, bool) {
	switch name {
	case "", "code":
		return Code, true
	case "llm":
		return LLM, true
	case "human":
		return Human, true
	}
	return LLM, false
}
