package naive

import "slices"

// Policies is a policy file.
type Policies struct {
	Kinds    []string
	Defaults Knobs
	Policies []Policy
}

// Policy is one entry under `policies`. An absent Enforce or Enabled is true.
type Policy struct {
	Knobs
	Name             string
	Match            []string
	Shadows          string // In place of Match: the policy beside which it judges. The model does not.
	Enforce          *bool
	Enabled          *bool
	Kinds            map[string]Role
	SeverityWeights  map[string]int64
	EvaluatorWeights map[string]int64
	Rules            []Rule
}

// Knobs are the settings of `defaults`, which a policy can set too. What is nil is not set.
type Knobs struct {
	Window            *int64
	MinimumThroughput *int64
	Break             Break
	HalfOpen          HalfOpen
	Ramp              []RampStep
	IdleAfter         *int64
}

// Break says how long a circuit stays open. Backoff and Jitter are thousandths, the others milliseconds.
type Break struct {
	Duration, Backoff, Max, Jitter, HealthyAfter *int64
}

// HalfOpen says how a circuit is probed. Lease is in milliseconds.
type HalfOpen struct {
	Concurrency, Successes, Failures, Lease *int64
	Implicit                                *bool
}

// RampStep is a share of the calls, in thousandths, and for how many milliseconds it holds.
type RampStep struct {
	Share, For int64
}

// Role is what a kind is to a policy. Weight counts for a Failure alone.
type Role struct {
	Name   string
	Weight int64
}

// The names that a Role can have.
const (
	Failure = "failure"
	Success = "success"
	Neutral = "neutral"
)

// Rule is one rule of a policy. A zero field is not set; Threshold is in millionths whatever the type.
type Rule struct {
	Name, Type        string
	Kinds             []string
	Severity          string
	ReasonCodes       []string
	Evaluators        []string
	Over              int64
	Of, Only          string
	Window            int64
	Last              int64
	MinimumThroughput int64
	Threshold         int64
	Action            string
}

// The types of rules, as they are written.
const (
	Ratio       = "ratio"
	Count       = "count"
	Consecutive = "consecutive"
	Immediate   = "immediate"
	SlowRatio   = "slow_ratio"
	Sum         = "sum"
)

// BuiltIn returns the policies that hold without a policy file. Its jitter is not 0, so that no break of it is known.
func BuiltIn() Policies {
	rule := Rule{Name: "failure-ratio", Type: Ratio, Threshold: 500_000}
	return Policies{Policies: []Policy{{Name: "default", Match: []string{"*"}, Rules: []Rule{rule}}}}
}

// settings are the knobs in force for a circuit.
type settings struct {
	window, minimum                            int64
	duration, backoff, max, healthyAfter       int64
	concurrency, successes, failures, leaseFor int64
	implicit                                   bool
	idleAfter                                  int64
}

func standard() settings {
	return settings{
		window: 60_000, minimum: 20,
		duration: 30_000, backoff: 2_000, max: 600_000, healthyAfter: 600_000,
		concurrency: 1, successes: 1, failures: 1, leaseFor: 30_000, implicit: true,
		idleAfter: 24 * 3_600_000,
	}
}

// over returns the settings with what k sets put over them, field by field.
func (s settings) over(k Knobs) settings {
	set := func(to *int64, from *int64) {
		if from != nil {
			*to = *from
		}
	}
	set(&s.window, k.Window)
	set(&s.minimum, k.MinimumThroughput)
	set(&s.duration, k.Break.Duration)
	set(&s.backoff, k.Break.Backoff)
	set(&s.max, k.Break.Max)
	set(&s.healthyAfter, k.Break.HealthyAfter)
	set(&s.concurrency, k.HalfOpen.Concurrency)
	set(&s.successes, k.HalfOpen.Successes)
	set(&s.failures, k.HalfOpen.Failures)
	set(&s.leaseFor, k.HalfOpen.Lease)
	set(&s.idleAfter, k.IdleAfter)
	if k.HalfOpen.Implicit != nil {
		s.implicit = *k.HalfOpen.Implicit
	}
	return s
}

// find returns the policy of a circuit, nil if none matches, and the settings in force.
func (p Policies) find(circuit string) (*Policy, settings) {
	base := standard().over(p.Defaults)
	for i := range p.Policies {
		matching := func(glob string) bool { return matches(glob, circuit) }
		if slices.ContainsFunc(p.Policies[i].Match, matching) {
			return &p.Policies[i], base.over(p.Policies[i].Knobs)
		}
	}
	return nil, base
}

// matches says whether a glob matches the whole of s: `*` is any run of characters, `?` is one.
func matches(glob, s string) bool {
	g, r := []rune(glob), []rune(s)
	if len(g) == 0 {
		return len(r) == 0
	}
	if g[0] == '*' {
		return matches(string(g[1:]), s) || len(r) > 0 && matches(glob, string(r[1:]))
	}
	return len(r) > 0 && (g[0] == '?' || g[0] == r[0]) && matches(string(g[1:]), string(r[1:]))
}

func (p *Policy) live() bool { return p != nil && (p.Enabled == nil || *p.Enabled) }

func (p *Policy) enforced() bool { return p == nil || p.Enforce == nil || *p.Enforce }

func (p *Policy) rules() []Rule {
	if p == nil {
		return nil
	}
	return p.Rules
}
