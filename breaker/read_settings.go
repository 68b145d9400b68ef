package breaker

import (
	"maps"
	"slices"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/fusebox-project/fusebox/schemas"
)

// settings are what a policy takes from the file's defaults unless it says otherwise.
type settings struct {
	window    time.Duration
	minimum   int64
	open      Break
	half      HalfOpen
	ramp      []RampStep
	idleAfter time.Duration
	lines     map[string][]int // By key, where it is set: of break and half_open in each mapping that says something.
}

// What each mapping of settings takes.
var (
	settingKeys  = []string{"window", "minimum_throughput", "break", "half_open", "ramp", "idle_after"}
	breakKeys    = []string{"duration", "backoff", "max", "jitter", "healthy_after"}
	halfOpenKeys = []string{"concurrency", "successes", "failures", "lease", "implicit"}
	rampKeys     = []string{"share", "for"}
)

const (
	most          = 1_000_000_000_000 // The greatest count that can be asked for.
	mostWeight    = 1_000_000_000     // In thousandths: a million.
	mostAtOnce    = 1000              // Leases, successes and failures of probes.
	aWhole        = "a whole number of at least 1"
	aWeight       = "a number from 0 to 1000000 with at most three decimals, such as 0.5"
	aFactor       = "a number from 1 to 1000 with at most three decimals, such as 2"
	aJitter       = "a number from 0 to below 1 with at most three decimals, such as 0.1"
	aShare        = "a number above 0 and below 1 with at most three decimals, such as 0.1"
	aProbeSetting = "a whole number from 1 to 1000"
)

// builtinSettings are what a file's defaults are unless it says otherwise.
func builtinSettings() settings {
	return settings{
		window: time.Minute, minimum: 20,
		open: Break{
			Duration: 30 * time.Second, BackoffMilli: 2000, Max: 10 * time.Minute, JitterMilli: 100,
			HealthyAfter: 10 * time.Minute,
		},
		half:      HalfOpen{Concurrency: 1, Successes: 1, Failures: 1, Lease: 30 * time.Second, Implicit: true},
		idleAfter: 24 * time.Hour,
	}
}

// policy returns a policy that has these settings and nothing else.
func (s settings) policy() *Policy {
	return &Policy{Enforce: true, Break: s.open, HalfOpen: s.half, Ramp: s.ramp, IdleAfter: s.idleAfter, lines: s.lines}
}

// settings reads what a mapping sets; what it does not set stays as it is.
func (r *parser) settings(t table, s settings) settings {
	r.time(t, "window", time.Millisecond, longestWindow, &s.window)
	r.amount(t, "minimum_throughput", limits{0, 1, most, aWhole}, &s.minimum)
	s.open = r.breaks(t.get("break"), s.open)
	s.half = r.halfOpen(t.get("half_open"), s.half)
	if n := t.get("ramp"); n != nil {
		s.ramp = r.ramp(n)
	}
	r.time(t, "idle_after", time.Millisecond, longestTime, &s.idleAfter)
	s.lines = t.lines(s.lines)
	return s
}

// lines returns where the settings stand, given where those stand that the mapping takes over.
func (t table) lines(base map[string][]int) map[string][]int {
	lines := maps.Clone(base)
	if lines == nil {
		lines = map[string][]int{}
	}
	for _, key := range settingKeys {
		at := t.keys[key]
		switch {
		case at == nil:
		case key == "break" || key == "half_open":
			lines[key] = append(slices.Clip(lines[key]), at.Line)
		default:
			lines[key] = []int{at.Line}
		}
	}
	return lines
}

// time reads a duration into where it belongs, if it is set and right.
func (r *parser) time(t table, key string, least, most time.Duration, into *time.Duration) {
	if n := t.get(key); n != nil {
		if d, ok := r.duration(n, key, least, most); ok {
			*into = d
		}
	}
}

// amount reads a number into where it belongs, if it is set and right.
func (r *parser) amount(t table, key string, l limits, into *int64) {
	if n := t.get(key); n != nil {
		if v, ok := r.number(n, key, l); ok {
			*into = v
		}
	}
}

// breaks reads how long circuits stay open. Where that is wrong it stays as it was.
func (r *parser) breaks(n *yaml.Node, was Break) Break {
	before, b := r.faulty, was
	t := r.table(n, "break", breakKeys)
	r.time(t, "duration", time.Millisecond, longestTime, &b.Duration)
	r.amount(t, "backoff", limits{3, 1000, 1_000_000, aFactor}, &b.BackoffMilli)
	r.time(t, "max", time.Millisecond, longestTime, &b.Max)
	r.amount(t, "jitter", limits{3, 0, 999, aJitter}, &b.JitterMilli)
	r.time(t, "healthy_after", 0, longestTime, &b.HealthyAfter)
	if at := t.get("max"); b.Max < b.Duration && r.faulty == before {
		if at == nil {
			at = t.get("duration")
		}
		r.fault(at, "max is %s here, below duration, which is %s; write a max of at least %s", schemas.Brief(b.Max),
			schemas.Brief(b.Duration), schemas.Brief(b.Duration))
	}
	if r.faulty > before {
		return was
	}
	return b
}

func (r *parser) halfOpen(n *yaml.Node, h HalfOpen) HalfOpen {
	t := r.table(n, "half_open", halfOpenKeys)
	r.small(t, "concurrency", &h.Concurrency)
	r.small(t, "successes", &h.Successes)
	r.small(t, "failures", &h.Failures)
	r.time(t, "lease", time.Millisecond, longestTime, &h.Lease)
	h.Implicit = r.flag(t.get("implicit"), "implicit", h.Implicit)
	return h
}

// small reads a number of probes into where it belongs, if it is set and right.
func (r *parser) small(t table, key string, into *int) {
	v := int64(*into)
	r.amount(t, key, limits{0, 1, mostAtOnce, aProbeSetting}, &v)
	*into = int(v)
}

// ramp reads the steps of a recovery: shares that rise, each for a while.
func (r *parser) ramp(n *yaml.Node) []RampStep {
	steps := []RampStep{}
	last := int64(0)
	for _, entry := range r.list(n, "ramp", mostAtOnce) {
		t := r.table(entry, "a step of the ramp", rampKeys)
		r.require(t, entry, "a step of the ramp", rampKeys...)
		var step RampStep
		r.amount(t, "share", limits{3, 1, 999, aShare}, &step.ShareMilli)
		r.time(t, "for", time.Millisecond, longestTime, &step.For)
		if step.ShareMilli > 0 && step.ShareMilli <= last {
			r.fault(t.get("share"), "share is %s, not above the %s of the step before; write shares that rise",
				t.get("share").Value, inThousandths(last))
		}
		last = max(last, step.ShareMilli)
		steps = append(steps, step)
	}
	return steps
}

// require notes which keys are missing. An entry that is no mapping has its own fault.
func (r *parser) require(t table, at *yaml.Node, what string, keys ...string) {
	if !isNull(at) && at.Kind != yaml.MappingNode {
		return
	}
	for _, key := range keys {
		if t.get(key) == nil {
			r.fault(at, "%s has no %s; %s", what, key, examples[key])
		}
	}
}

// examples say how a key that must be there is written.
var examples = map[string]string{
	"name":      "write one of 1 to 200 bytes, such as name: failure-ratio",
	"type":      "write one of ratio, count, consecutive, immediate, slow_ratio, sum",
	"threshold": "write one above 0, such as threshold: 0.5 for a ratio or threshold: 5 for a count",
	"over":      "write what is slow, such as over: 2s",
	"of":        "write one of cost_usd, input_tokens, output_tokens, tokens",
	"match":     `write the circuits it is for, such as match: ["*"]`,
	"rules":     "write at least one, such as {name: failure-ratio, type: ratio, threshold: 0.5}",
	"share":     "write the share of traffic, such as share: 0.1",
	"for":       "write how long it holds, such as for: 15s",
	"use_case":  "write the one it is for, such as use_case: extraction",
	"chain":     `write at least one circuit, such as chain: ["extraction:gpt:v1"]`,
}
