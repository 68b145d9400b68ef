package naive

import "math/big"

// Step is one step of a policy test. At most one of Outcome, Claim, Release, Override and Policy is set; with none of
// them it is a look. Repeat 0 means once.
type Step struct {
	At       int64
	Circuit  string
	Outcome  *Outcome
	Claim    *Claim
	Release  *Release
	Override *Override
	Policy   *Policies
	Repeat   int64
	Every    int64
}

// Outcome has the fields of an outcome on the wire that decide something. Count 0 is 1; a nil Time is the step's.
type Outcome struct {
	ID, Kind, Severity, ReasonCode string
	Evaluator                      string // Its type; empty where there is none.
	Time                           *int64
	LatencyMS                      int64
	InputTokens, OutputTokens      int64
	CostMicros                     int64
	RetryAfterMS                   int64
	FallbackFrom                   string
	Lease                          string
	Epoch                          *int64
	Count                          int64
}

func (o Outcome) count() int64 { return max(o.Count, 1) }

// Claim asks for a probe.
type Claim struct {
	Holder, Lease string
	Epoch         *int64
}

// Release gives a lease back.
type Release struct {
	Lease  string
	Unused bool
}

// Override is an operator's word. A nil TTL has no end.
type Override struct {
	Mode, Actor, Reason string
	TTL                 *int64
}

// Seen is how the model sees a circuit after a step, at the clock's time: what `expect` can take, and more.
// What is nil or empty is not there, or not said by the specification.
type Seen struct {
	State      string
	Epoch      int64
	Attempt    int64
	RetryAt    *int64
	Rule       string // The rule of the cause in force, empty without one.
	Observed   *big.Rat
	Throughput *int64
	ByKind     map[string]int64
	Since      *int64 // When the bad stretch of the cause began.

	Counted *bool // For outcomes.
	Why     string
	Granted *bool // For claims.

	Degraded    string // The rule, empty where it is not degraded.
	Enforced    bool
	Override    string // The mode, empty without one.
	Until       *int64 // When the override ends.
	Transitions int    // How many the step published for its circuit.

	Leases              []Lease // The live ones, in the order of their grants.
	Successes, Failures int64   // Of the probes.
	Inconclusive        int64   // How many leases in a row ended without a verdict.
	ChangedAt           *int64  // The last change, nil before the first.
	StateOf             map[string]string
}

// Lease is a grant.
type Lease struct {
	ID, Holder string
	ExpiresAt  int64
}
