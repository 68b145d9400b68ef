package naive

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// TestYAML writes a policy test of one test, which expects of each step what was seen after it.
func TestYAML(p Policies, steps []Step, seen []Seen) string {
	var b strings.Builder
	fmt.Fprintf(&b, "policy: |\n%s", indent(p.YAML(), "  "))
	b.WriteString("tests:\n- name: as the model saw it\n  steps:\n")
	for i, s := range steps {
		fmt.Fprintf(&b, "  - at: %s\n    circuit: %q\n", duration(s.At), s.Circuit)
		for _, line := range s.fields() {
			fmt.Fprintf(&b, "    %s\n", line)
		}
		if s.Policy != nil {
			fmt.Fprintf(&b, "    policy: |\n%s", indent(s.Policy.YAML(), "      "))
		}
		fmt.Fprintf(&b, "    expect: %s\n", seen[i].fields())
	}
	return b.String()
}

func indent(text, by string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(by + line)
	}
	return b.String()
}

// fields returns what the step does and how often, but for a reload.
func (s Step) fields() fields {
	var f, inner fields
	switch {
	case s.Outcome != nil:
		f.add("outcome", s.Outcome.fields().String())
	case s.Claim != nil:
		inner.text("holder", s.Claim.Holder)
		inner.text("lease", s.Claim.Lease)
		inner.number("epoch", s.Claim.Epoch, 0)
		f.mapping("claim", inner)
	case s.Release != nil:
		inner.text("lease", s.Release.Lease)
		if s.Release.Unused {
			inner.flag("unused", &s.Release.Unused)
		}
		f.mapping("release", inner)
	case s.Override != nil:
		inner.text("mode", s.Override.Mode)
		inner.text("actor", s.Override.Actor)
		inner.text("reason", s.Override.Reason)
		inner.duration("ttl", s.Override.TTL)
		f.mapping("override", inner)
	}
	f.positive("repeat", s.Repeat, 0)
	if s.Every > 0 {
		f.duration("every", &s.Every)
	}
	return f
}

func (o Outcome) fields() fields {
	var f fields
	f.text("id", o.ID)
	f.text("kind", o.Kind)
	f.text("severity", o.Severity)
	f.text("reason_code", o.ReasonCode)
	if o.Evaluator != "" {
		f.add("evaluator", fmt.Sprintf("{name: judge, type: %s}", o.Evaluator))
	}
	f.duration("time", o.Time)
	f.positive("latency_ms", o.LatencyMS, 0)
	f.positive("input_tokens", o.InputTokens, 0)
	f.positive("output_tokens", o.OutputTokens, 0)
	f.positive("cost_usd", o.CostMicros, 6)
	f.positive("retry_after_ms", o.RetryAfterMS, 0)
	f.text("fallback_from", o.FallbackFrom)
	f.text("lease", o.Lease)
	f.number("epoch", o.Epoch, 0)
	f.positive("count", o.Count, 0)
	return f
}

// fields returns what `expect` can say of what was seen.
func (s Seen) fields() fields {
	var f, kinds, others fields
	f.add("state", s.State)
	f.number("epoch", &s.Epoch, 0)
	f.number("attempt", &s.Attempt, 0)
	f.duration("retry_at", s.RetryAt)
	f.text("rule", s.Rule)
	if text, ok := exact(s.Observed); ok {
		f.add("observed", text)
	}
	f.number("throughput", s.Throughput, 0)
	for _, kind := range slices.Sorted(maps.Keys(s.ByKind)) {
		n := s.ByKind[kind]
		kinds.number(kind, &n, 0)
	}
	f.mapping("by_kind", kinds)
	f.flag("counted", s.Counted)
	f.text("why", s.Why)
	f.flag("granted", s.Granted)
	if s.Degraded == "" {
		f.add("degraded", "false")
	}
	f.text("degraded", s.Degraded)
	f.flag("enforced", &s.Enforced)
	if s.Override == "" {
		f.add("override", "null")
	}
	f.text("override", s.Override)
	transitions := int64(s.Transitions)
	f.number("transitions", &transitions, 0)
	for _, circuit := range slices.Sorted(maps.Keys(s.StateOf)) {
		others.add(strconv.Quote(circuit), s.StateOf[circuit])
	}
	f.mapping("state_of", others)
	return f
}

// exact writes a number that needs at most three decimals; any other would be a rounding that nobody laid down.
func exact(r *big.Rat) (string, bool) {
	if r == nil {
		return "", false
	}
	thousandths := new(big.Rat).Mul(r, big.NewRat(1_000, 1))
	if !thousandths.IsInt() || !thousandths.Num().IsInt64() {
		return "", false
	}
	return decimal(thousandths.Num().Int64(), 3), true
}
