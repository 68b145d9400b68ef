package policytest

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
	"go.yaml.in/yaml/v4"
)

// does are the keys of what a step can do.
var does = []string{"outcome", "claim", "release", "override", "policy"}

func (r *reader) step(n *yaml.Node, circuit string) Step {
	fields := r.fields(n, "a step", append(slices.Clone(does), "at", "circuit", "repeat", "every", "expect")...)
	s := Step{Line: n.Line, Circuit: circuit, Repeat: 1}
	if c := fields["circuit"]; c != nil {
		s.Circuit = c.Value
	}
	if at := fields["at"]; at != nil {
		s.At = r.duration(at, "at")
	} else {
		r.fault(n, "the step has no at; write the offset at which it happens, such as at: 0s")
	}
	if s.At < 0 {
		r.fault(fields["at"], "at is %v; write an offset of 0s or more", s.At)
	}
	if every := fields["every"]; every != nil {
		s.Every = r.duration(every, "every")
	}
	if repeat := fields["repeat"]; repeat != nil {
		times, err := strconv.Atoi(repeat.Value)
		if err != nil || times < 1 || times > maxRepeat {
			r.fault(repeat, "repeat is %q; write a whole number from 1 to %d", repeat.Value, maxRepeat)
		}
		s.Repeat = max(times, 1)
	}
	r.action(n, fields, &s)
	if s.Circuit == "" && (s.Outcome != nil || s.Signal != nil) {
		r.fault(n, "the step has no circuit; name one in it or in the test")
	}
	if expect := fields["expect"]; expect != nil {
		s.Expect = r.expect(expect)
	}
	return s
}

// action reads what the step does, which is one thing at most.
func (r *reader) action(n *yaml.Node, fields map[string]*yaml.Node, s *Step) {
	done := ""
	for _, key := range does {
		value := fields[key]
		if value == nil {
			continue
		}
		if done != "" {
			r.fault(n, "the step has both %s and %s; make two steps of it", done, key)
			return
		}
		done = key
		switch key {
		case "outcome":
			s.Outcome = r.outcome(value, s.Circuit)
		case "policy":
			s.Reload = r.inline(value)
		default:
			s.Signal = r.signal(key, value, s.Circuit)
		}
	}
	if s.Outcome != nil && s.Outcome.Circuit != "" {
		s.Circuit = s.Outcome.Circuit
	}
}

// outcome reads an outcome in the wire's fields, through the wire's decoder. Its time may be an offset.
func (r *reader) outcome(n *yaml.Node, circuit string) *schemas.Outcome {
	fields := map[string]any{}
	if err := n.Decode(&fields); err != nil {
		r.fault(n, "outcome: %v", err)
		return nil
	}
	text, _ := fields["time"].(string)
	offset, err := time.ParseDuration(text)
	if err == nil {
		delete(fields, "time")
	}
	value, jsonErr := json.Marshal(fields)
	if jsonErr != nil {
		r.fault(n, "outcome: %v", jsonErr)
		return nil
	}
	if circuit == "" {
		circuit = "-"
	}
	o := &schemas.Outcome{}
	if fault := schemas.DecodeOutcome([]byte(circuit), value, o); fault != nil {
		r.fault(n, "%v", fault)
		return nil
	}
	if err == nil {
		o.Time = epoch.Add(offset)
	}
	return o
}

// signal reads a claim, a release or an override.
func (r *reader) signal(key string, n *yaml.Node, circuit string) *schemas.Signal {
	s := &schemas.Signal{Circuit: circuit}
	switch key {
	case "claim":
		s.Type = schemas.Claim
		fields := r.fields(n, "a claim", "holder", "lease", "epoch")
		s.Holder, s.Lease = text(fields["holder"]), r.need(n, fields, "lease")
		if e := fields["epoch"]; e != nil && !isNull(e) {
			epoch, err := strconv.ParseInt(e.Value, 10, 64)
			if err != nil || epoch < 0 {
				r.fault(e, "epoch is %q; write a whole number", e.Value)
			}
			s.Epoch, s.HasEpoch = epoch, true
		}
	case "release":
		s.Type = schemas.Release
		fields := r.fields(n, "a release", "lease", "unused")
		s.Lease, s.Unused = r.need(n, fields, "lease"), text(fields["unused"]) == "true"
	case "override":
		s.Type = schemas.Override
		fields := r.fields(n, "an override", "mode", "actor", "reason", "ttl")
		s.Actor, s.Reason = text(fields["actor"]), text(fields["reason"])
		mode, ok := schemas.ModeOf(r.need(n, fields, "mode"))
		if !ok {
			r.fault(n, "mode has to be one of force_open, force_closed, disable, reset, clear")
		}
		s.Mode = mode
		if ttl := fields["ttl"]; ttl != nil && !isNull(ttl) {
			if s.TTL = r.duration(ttl, "ttl"); s.TTL < 0 {
				r.fault(ttl, "ttl is %v; write a duration that is not negative", s.TTL)
			}
		}
	}
	return s
}

func text(n *yaml.Node) string {
	if n == nil || isNull(n) {
		return ""
	}
	return n.Value
}

func (r *reader) need(n *yaml.Node, fields map[string]*yaml.Node, key string) string {
	if fields[key] == nil || fields[key].Value == "" {
		r.fault(n, "%s is missing", key)
	}
	return text(fields[key])
}

// expectations are the fields of expect.
var expectations = []string{
	"state", "epoch", "attempt", "retry_at", "rule", "observed", "throughput", "by_kind", "counted", "why", "granted",
	"degraded", "enforced", "override", "transitions", "state_of",
}

func (r *reader) expect(n *yaml.Node) []Expectation {
	fields := r.fields(n, "expect", expectations...)
	var list []Expectation
	for _, name := range expectations {
		value := fields[name]
		if value == nil {
			continue
		}
		want := Value{Text: value.Value, Null: isNull(value)}
		e := Expectation{Line: value.Line, Column: value.Column, Field: name, Want: want}
		switch {
		case name == "by_kind" || name == "state_of":
			e.Want.Names, e.Want.Values = r.named(value, name == "by_kind")
		case value.Kind != yaml.ScalarNode:
			r.fault(value, "%s has to be one value", name)
		case name == "retry_at" && !e.Want.Null:
			offset := r.duration(value, "retry_at")
			e.Want.Offset = &offset
		}
		list = append(list, e)
	}
	return list
}

// named reads values by name, sorted where the order means nothing.
func (r *reader) named(n *yaml.Node, sorted bool) (names, values []string) {
	if n.Kind != yaml.MappingNode {
		if !isNull(n) {
			r.fault(n, "write a mapping, such as {a: b}")
		}
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		place := len(names)
		if sorted {
			place, _ = slices.BinarySearch(names, n.Content[i].Value)
		}
		names = slices.Insert(names, place, n.Content[i].Value)
		values = slices.Insert(values, place, n.Content[i+1].Value)
	}
	return names, values
}
