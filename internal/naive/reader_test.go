package naive_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/fusebox-project/fusebox/internal/naive"
)

// tree is a YAML mapping. The reader takes what it knows and fails on the rest, so that nothing goes by unread.
type tree map[string]any

// reader reads policy files and policy tests leniently: it checks nothing but that it knows every key.
type reader struct{ t *testing.T }

func (r reader) policies(text string) naive.Policies {
	r.t.Helper()
	var doc tree
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		r.t.Fatalf("read policy: %v\n%s", err, text)
	}
	r.known(doc, "version", "kinds", "defaults", "policies", "routes")
	p := naive.Policies{Kinds: r.texts(doc["kinds"]), Defaults: r.knobs(r.tree(doc["defaults"]))}
	for _, item := range r.items(doc["policies"]) {
		p.Policies = append(p.Policies, r.policy(item))
	}
	return p
}

func (r reader) policy(m tree) naive.Policy {
	r.known(m, "name", "match", "enforce", "enabled", "kinds", "severity_weights", "evaluator_weights", "rules",
		"window", "minimum_throughput", "break", "half_open", "ramp", "idle_after")
	p := naive.Policy{
		Knobs: r.knobs(m), Name: r.text(m["name"]), Match: r.texts(m["match"]),
		Enforce: r.flag(m["enforce"]), Enabled: r.flag(m["enabled"]),
		SeverityWeights:  r.weights(m["severity_weights"]),
		EvaluatorWeights: r.weights(m["evaluator_weights"]),
	}
	for kind, value := range r.tree(m["kinds"]) {
		if p.Kinds == nil {
			p.Kinds = map[string]naive.Role{}
		}
		role := naive.Role{Name: naive.Failure}
		if name, ok := value.(string); ok {
			role.Name = name
		} else {
			role.Weight = *r.scaled(value, 1_000)
		}
		p.Kinds[kind] = role
	}
	for _, item := range r.items(m["rules"]) {
		p.Rules = append(p.Rules, r.rule(item))
	}
	return p
}

func (r reader) knobs(m tree) naive.Knobs {
	brk, half := r.tree(m["break"]), r.tree(m["half_open"])
	r.known(brk, "duration", "backoff", "max", "jitter", "healthy_after")
	r.known(half, "concurrency", "successes", "failures", "lease", "implicit")
	k := naive.Knobs{
		Window: r.duration(m["window"]), MinimumThroughput: r.scaled(m["minimum_throughput"], 1),
		Break: naive.Break{
			Duration: r.duration(brk["duration"]), Backoff: r.scaled(brk["backoff"], 1_000),
			Max: r.duration(brk["max"]), Jitter: r.scaled(brk["jitter"], 1_000),
			HealthyAfter: r.duration(brk["healthy_after"]),
		},
		HalfOpen: naive.HalfOpen{
			Concurrency: r.scaled(half["concurrency"], 1), Successes: r.scaled(half["successes"], 1),
			Failures: r.scaled(half["failures"], 1), Lease: r.duration(half["lease"]),
			Implicit: r.flag(half["implicit"]),
		},
		IdleAfter: r.duration(m["idle_after"]),
	}
	for _, step := range r.items(m["ramp"]) {
		share, lasts := *r.scaled(step["share"], 1_000), *r.duration(step["for"])
		k.Ramp = append(k.Ramp, naive.RampStep{Share: share, For: lasts})
	}
	return k
}

func (r reader) rule(m tree) naive.Rule {
	r.known(m, "name", "type", "kinds", "severity", "reason_codes", "evaluators", "over", "of", "only", "window",
		"last", "minimum_throughput", "threshold", "action")
	return naive.Rule{
		Name: r.text(m["name"]), Type: r.text(m["type"]), Kinds: r.texts(m["kinds"]), Severity: r.text(m["severity"]),
		ReasonCodes: r.texts(m["reason_codes"]), Evaluators: r.texts(m["evaluators"]),
		Over: value(r.duration(m["over"])),
		Of:   r.text(m["of"]), Only: r.text(m["only"]), Window: value(r.duration(m["window"])),
		Last: value(r.scaled(m["last"], 1)), MinimumThroughput: value(r.scaled(m["minimum_throughput"], 1)),
		Threshold: value(r.scaled(m["threshold"], 1_000_000)), Action: r.text(m["action"]),
	}
}

func (r reader) step(m tree, circuit string) naive.Step {
	r.known(m, "at", "circuit", "outcome", "claim", "release", "override", "policy", "repeat", "every", "expect")
	s := naive.Step{
		At: *r.duration(m["at"]), Circuit: circuit,
		Repeat: value(r.scaled(m["repeat"], 1)), Every: value(r.duration(m["every"])),
	}
	if name, ok := m["circuit"]; ok {
		s.Circuit = r.text(name)
	}
	if text, ok := m["policy"]; ok {
		p := r.policies(r.text(text))
		s.Policy = &p
	}
	if o, c := r.tree(m["outcome"]), r.tree(m["claim"]); o != nil {
		s.Outcome = r.outcome(o)
	} else if c != nil {
		r.known(c, "holder", "lease", "epoch")
		s.Claim = &naive.Claim{Holder: r.text(c["holder"]), Lease: r.text(c["lease"]), Epoch: r.scaled(c["epoch"], 1)}
	}
	if l, o := r.tree(m["release"]), r.tree(m["override"]); l != nil {
		r.known(l, "lease", "unused")
		s.Release = &naive.Release{Lease: r.text(l["lease"]), Unused: l["unused"] == true}
	} else if o != nil {
		r.known(o, "mode", "actor", "reason", "ttl")
		s.Override = &naive.Override{
			Mode: r.text(o["mode"]), Actor: r.text(o["actor"]), Reason: r.text(o["reason"]), TTL: r.duration(o["ttl"]),
		}
	}
	return s
}

func (r reader) outcome(m tree) *naive.Outcome {
	r.known(m, "id", "kind", "severity", "reason_code", "evaluator", "time", "latency_ms", "input_tokens",
		"output_tokens", "cost_usd", "retry_after_ms", "fallback_from", "lease", "epoch", "count")
	return &naive.Outcome{
		ID: r.text(m["id"]), Kind: r.text(m["kind"]), Severity: r.text(m["severity"]),
		ReasonCode: r.text(m["reason_code"]), Evaluator: r.text(r.tree(m["evaluator"])["type"]),
		Time: r.duration(m["time"]), LatencyMS: value(r.scaled(m["latency_ms"], 1)),
		InputTokens:  value(r.scaled(m["input_tokens"], 1)),
		OutputTokens: value(r.scaled(m["output_tokens"], 1)), CostMicros: value(r.scaled(m["cost_usd"], 1_000_000)),
		RetryAfterMS: value(r.scaled(m["retry_after_ms"], 1)), FallbackFrom: r.text(m["fallback_from"]),
		Lease: r.text(m["lease"]), Epoch: r.scaled(m["epoch"], 1), Count: value(r.scaled(m["count"], 1)),
	}
}

func (r reader) known(m tree, keys ...string) {
	r.t.Helper()
	for key := range m {
		if !slices.Contains(keys, key) {
			r.t.Fatalf("key %q is not one of %q", key, keys)
		}
	}
}

func (r reader) tree(v any) tree {
	switch m := v.(type) {
	case nil:
		return nil
	case tree:
		return m
	case map[string]any:
		return m
	}
	r.t.Fatalf("%v (%T) is not a mapping", v, v)
	return nil
}

func (r reader) items(v any) []tree {
	var items []tree
	list, _ := v.([]any)
	for _, item := range list {
		items = append(items, r.tree(item))
	}
	return items
}

func (r reader) texts(v any) []string {
	var texts []string
	list, _ := v.([]any)
	for _, item := range list {
		texts = append(texts, r.text(item))
	}
	return texts
}

func (r reader) text(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

func (r reader) flag(v any) *bool {
	if b, ok := v.(bool); ok {
		return &b
	}
	return nil
}

// scaled returns a number in units of which one is the given many, nil if there is none.
func (r reader) scaled(v any, units float64) *int64 {
	var f float64
	switch n := v.(type) {
	case nil:
		return nil
	case int:
		f = float64(n)
	case float64:
		f = n
	default:
		r.t.Fatalf("%v (%T) is not a number", v, v)
	}
	i := int64(math.Round(f * units))
	return &i
}

func (r reader) weights(v any) map[string]int64 {
	weights := map[string]int64{}
	for name, w := range r.tree(v) {
		weights[name] = *r.scaled(w, 1_000)
	}
	return weights
}

// duration returns milliseconds, nil if there is nothing.
func (r reader) duration(v any) *int64 {
	if v == nil {
		return nil
	}
	d, err := time.ParseDuration(r.text(v))
	if err != nil {
		r.t.Fatalf("read duration: %v", err)
	}
	ms := d.Milliseconds()
	return &ms
}

func value(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
