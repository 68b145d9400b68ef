package breaker

import (
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

// Policies are the policies of one file, ready to judge by. They never change once read.
type Policies struct {
	Version string // 16 hexadecimal digits of a hash of Text.
	Text    string
	Routes  []schemas.Route

	kinds    kindTable
	policies []*Policy
	none     *Policy // For circuits that no policy matches: the file's defaults and no rules.
}

// For returns the first policy whose globs match the circuit. Where none does it returns one with Matched false, which
// has the file's defaults. It is never nil.
func (p *Policies) For(circuit string) *Policy {
	for _, policy := range p.policies {
		for _, g := range policy.Match {
			if g.Matches(circuit) {
				return policy
			}
		}
	}
	return p.none
}

// All returns the policies in the order of the file. Callers must not change them.
func (p *Policies) All() []*Policy { return p.policies }

// Policy is what circuits of one policy are judged by, every default filled in.
type Policy struct {
	Name    string
	Matched bool // False only for the policy of circuits that no policy matches.
	Enabled bool // False also where Matched is.
	Enforce bool
	Match   []Glob // None where it shadows.
	Rules   []Rule // At most 64.

	Break     Break
	HalfOpen  HalfOpen
	Ramp      []RampStep
	IdleAfter time.Duration

	Shadows string  // Name of the policy beside which it judges; empty where it judges by itself.
	Shadow  *Policy // The policy that judges beside this one; nil where none does or that is off.

	Longest time.Duration // Longest window of a rule; 0 where no rule has one.
	Line    int           // Where the policy begins in the file.

	lines    map[string][]int                    // By key, where the file sets it; nothing where it is built in.
	roles    []Role                              // By kind.
	weights  [][severities][evaluatorTypes]int64 // By kind, in thousandths; of failures alone.
	counters []counter                           // What the rules count, each once however many rules share it.
	slots    int                                 // Counters that keep something.
}

const (
	severities     = 4
	evaluatorTypes = 3
)

// Break is how long an open circuit stays so.
type Break struct {
	Duration     time.Duration
	BackoffMilli int64
	Max          time.Duration
	JitterMilli  int64
	HealthyAfter time.Duration
}

// HalfOpen is how a circuit is probed.
type HalfOpen struct {
	Concurrency, Successes, Failures int
	Lease                            time.Duration
	Implicit                         bool
}

// RampStep is a share of traffic admitted for a while after recovery.
type RampStep struct {
	ShareMilli int64
	For        time.Duration
}

// Role is what a kind is evidence of.
type Role uint8

// Roles. The zero value is Neutral: no evidence about the route.
const (
	Neutral Role = iota
	Success
	Failure
)

// String returns the role's name.
func (r Role) String() string { return [...]string{"neutral", "success", "failure"}[r] }

// RuleType tells what a rule compares.
type RuleType uint8

// The six types of rule.
const (
	Ratio RuleType = iota + 1
	Count
	Consecutive
	Immediate
	SlowRatio
	Sum
)

// String returns the name in the policy file.
func (t RuleType) String() string {
	return [...]string{"", "ratio", "count", "consecutive", "immediate", "slow_ratio", "sum"}[t]
}

// SumOf is what a sum rule adds up.
type SumOf uint8

// What a sum rule can add up.
const (
	CostUSD SumOf = iota + 1
	InputTokens
	OutputTokens
	Tokens
)

// String returns the name in the policy file.
func (s SumOf) String() string {
	return [...]string{"", "cost_usd", "input_tokens", "output_tokens", "tokens"}[s]
}

// Only restricts a sum rule.
type Only uint8

// What a sum rule can be restricted to. The zero value is no restriction.
const (
	OnlyRejected Only = iota + 1
	OnlyFallback
)

// String returns the name in the policy file.
func (o Only) String() string { return [...]string{"", "rejected", "fallback"}[o] }

// Selector is what a rule selects of the outcomes that it sees. The zero value selects the failures, or for a sum or a
// slow ratio everything.
type Selector struct {
	Kinds       []string         // Canonical names, sorted; nil selects by role.
	Severity    schemas.Severity // The least; meaningful only where HasSeverity.
	HasSeverity bool
	ReasonCodes []string                // Sorted; nil selects any.
	Evaluators  []schemas.EvaluatorType // Sorted; nil selects any.
	Over        time.Duration           // Slow ratio.
	Of          SumOf                   // Sum.
	Only        Only                    // Sum.
}

// Rule is one rule of a policy, every default filled in.
type Rule struct {
	Name     string
	Type     RuleType
	Selector Selector
	Degrade  bool // The action is degrade, not open.

	Window time.Duration // 0 where Last is set, and for consecutive and immediate.
	Last   int64         // 0 where there is none.

	MinimumThroughput int64 // Ratio and slow ratio.
	// Threshold is in thousandths for ratio and slow ratio, whole for count and consecutive, in millionths for sum (of
	// dollars or of tokens), and 1 for immediate.
	Threshold    int64
	Line, Column int // Where the rule stands in the file.

	counter int // Index in the policy's counters.
}
