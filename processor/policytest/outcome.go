package policytest

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
	"go.yaml.in/yaml/v4"
)

// outcomeFields and evaluatorFields are what the wire knows.
var outcomeFields, evaluatorFields = wireFields()

func wireFields() (outcome, evaluator []string) {
	var schema struct {
		Properties map[string]struct{ Properties map[string]any }
	}
	if err := json.Unmarshal(schemas.Schema("outcome"), &schema); err != nil {
		panic(err)
	}
	return slices.Sorted(maps.Keys(schema.Properties)),
		slices.Sorted(maps.Keys(schema.Properties["evaluator"].Properties))
}

// outcome reads an outcome in the wire's fields, through the wire's decoder. Its time may be an offset. A circuit that
// it names is the step's.
func (r *reader) outcome(n *yaml.Node, s *Step) *schemas.Outcome {
	if n.Kind != yaml.MappingNode {
		r.fault(n, "an outcome has to be a mapping, such as {kind: accepted}")
		return nil
	}
	fields := map[string]any{}
	if err := n.Decode(&fields); err != nil {
		r.fault(n, "outcome: %v", err)
		return nil
	}
	if !r.known(n, fields) {
		return nil
	}
	text, _ := fields["time"].(string)
	offset, notOffset := time.ParseDuration(text)
	if notOffset == nil {
		delete(fields, "time")
	}
	value, err := json.Marshal(fields)
	if err != nil {
		r.fault(n, "outcome: %v", err)
		return nil
	}
	if own, ok := fields["circuit"].(string); ok && own != "" {
		s.Circuit = own
	}
	if s.Circuit == "" {
		return nil
	}
	o := &schemas.Outcome{}
	if err := schemas.DecodeOutcome([]byte(s.Circuit), value, o); err != nil {
		var fault *schemas.Fault
		errors.As(err, &fault)
		name, _, _ := strings.Cut(fault.Field, ".")
		r.fault(at(n, name), "%v", err)
		return nil
	}
	if notOffset == nil {
		o.Time = epoch.Add(offset).Round(time.Millisecond)
	}
	return o
}

// known notes fields that the wire would pass over: in a test they are slips.
func (r *reader) known(n *yaml.Node, fields map[string]any) bool {
	before := len(r.faults)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(outcomeFields, name) {
			r.unknown(key(n, name), "an outcome", name, outcomeFields)
		}
	}
	evaluator, _ := fields["evaluator"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(evaluator)) {
		if !slices.Contains(evaluatorFields, name) {
			r.unknown(key(at(n, "evaluator"), name), "an evaluator", name, evaluatorFields)
		}
	}
	return len(r.faults) == before
}
