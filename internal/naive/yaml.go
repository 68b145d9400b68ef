package naive

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// fields collects the pairs of a YAML flow mapping.
type fields []string

func (f *fields) add(key, value string) { *f = append(*f, key+": "+value) }

func (f *fields) text(key, value string) {
	if value != "" {
		f.add(key, strconv.Quote(value))
	}
}

func (f *fields) names(key string, values []string) {
	if len(values) > 0 {
		f.add(key, list(values))
	}
}

func (f *fields) flag(key string, value *bool) {
	if value != nil {
		f.add(key, strconv.FormatBool(*value))
	}
}

// number adds a number, given in units of which one is 10^decimals.
func (f *fields) number(key string, value *int64, decimals int) {
	if value != nil {
		f.add(key, decimal(*value, decimals))
	}
}

func (f *fields) duration(key string, ms *int64) {
	if ms != nil {
		f.add(key, duration(*ms))
	}
}

// positive adds a number that is set if it is not 0.
func (f *fields) positive(key string, value int64, decimals int) {
	if value != 0 {
		f.number(key, &value, decimals)
	}
}

func (f *fields) weights(key string, weights map[string]int64) {
	var inner fields
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		w := weights[name]
		inner.number(name, &w, 3)
	}
	f.mapping(key, inner)
}

func (f *fields) mapping(key string, inner fields) {
	if len(inner) > 0 {
		f.add(key, inner.String())
	}
}

// String returns the flow mapping.
func (f fields) String() string { return "{" + strings.Join(f, ", ") + "}" }

func list(values []string) string {
	var quoted []string
	for _, v := range values {
		quoted = append(quoted, strconv.Quote(v))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func duration(ms int64) string {
	if ms%1_000 == 0 {
		return fmt.Sprintf("%ds", ms/1_000)
	}
	return fmt.Sprintf("%dms", ms)
}

// decimal writes n / 10^decimals without needless zeros.
func decimal(n int64, decimals int) string {
	if decimals == 0 {
		return strconv.FormatInt(n, 10)
	}
	digits := fmt.Sprintf("%0*d", decimals+1, n)
	whole, part := digits[:len(digits)-decimals], strings.TrimRight(digits[len(digits)-decimals:], "0")
	if part == "" {
		return whole
	}
	return whole + "." + part
}

// YAML writes the policy file.
func (p Policies) YAML() string {
	var b strings.Builder
	b.WriteString("version: 1\n")
	if len(p.Kinds) > 0 {
		fmt.Fprintf(&b, "kinds: %s\n", list(p.Kinds))
	}
	if defaults := p.Defaults.fields(); len(defaults) > 0 {
		fmt.Fprintf(&b, "defaults: %s\n", defaults)
	}
	b.WriteString("policies:\n")
	for i := range p.Policies {
		p.Policies[i].yaml(&b)
	}
	return b.String()
}

func (p *Policy) yaml(b *strings.Builder) {
	fmt.Fprintf(b, "- name: %s\n", strconv.Quote(p.Name))
	if p.Shadows != "" {
		fmt.Fprintf(b, "  shadows: %s\n", strconv.Quote(p.Shadows))
	} else {
		fmt.Fprintf(b, "  match: %s\n", list(p.Match))
	}
	var kinds, other fields
	for _, name := range slices.Sorted(maps.Keys(p.Kinds)) {
		role := p.Kinds[name]
		if role.Name == Failure {
			kinds.number(name, &role.Weight, 3)
		} else {
			kinds.add(name, role.Name)
		}
	}
	other.flag("enforce", p.Enforce)
	other.flag("enabled", p.Enabled)
	other.mapping("kinds", kinds)
	other.weights("severity_weights", p.SeverityWeights)
	other.weights("evaluator_weights", p.EvaluatorWeights)
	for _, line := range append(other, p.Knobs.fields()...) {
		fmt.Fprintf(b, "  %s\n", line)
	}
	b.WriteString("  rules:\n")
	for _, r := range p.Rules {
		fmt.Fprintf(b, "  - %s\n", r.fields())
	}
}

func (k Knobs) fields() fields {
	var f, brk, half fields
	f.duration("window", k.Window)
	f.number("minimum_throughput", k.MinimumThroughput, 0)
	brk.duration("duration", k.Break.Duration)
	brk.number("backoff", k.Break.Backoff, 3)
	brk.duration("max", k.Break.Max)
	brk.number("jitter", k.Break.Jitter, 3)
	brk.duration("healthy_after", k.Break.HealthyAfter)
	f.mapping("break", brk)
	half.number("concurrency", k.HalfOpen.Concurrency, 0)
	half.number("successes", k.HalfOpen.Successes, 0)
	half.number("failures", k.HalfOpen.Failures, 0)
	half.duration("lease", k.HalfOpen.Lease)
	half.flag("implicit", k.HalfOpen.Implicit)
	f.mapping("half_open", half)
	var steps []string
	for _, step := range k.Ramp {
		steps = append(steps, fmt.Sprintf("{share: %s, for: %s}", decimal(step.Share, 3), duration(step.For)))
	}
	if len(steps) > 0 {
		f.add("ramp", "["+strings.Join(steps, ", ")+"]")
	}
	f.duration("idle_after", k.IdleAfter)
	return f
}

func (r Rule) fields() fields {
	var f fields
	f.text("name", r.Name)
	f.add("type", r.Type)
	f.names("kinds", r.Kinds)
	f.text("severity", r.Severity)
	f.names("reason_codes", r.ReasonCodes)
	f.names("evaluators", r.Evaluators)
	if r.Over > 0 {
		f.duration("over", &r.Over)
	}
	f.text("of", r.Of)
	f.text("only", r.Only)
	f.positive("threshold", r.Threshold, 6)
	f.positive("minimum_throughput", r.MinimumThroughput, 0)
	if r.Window > 0 {
		f.duration("window", &r.Window)
	}
	f.positive("last", r.Last, 0)
	f.text("action", r.Action)
	return f
}
