package policytest

import (
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// Run runs a test and returns the expectations that were not met, in the order of the steps. The name of the file is
// for the failures alone.
func (t *Test) Run(file string) []Failure {
	var failures []Failure
	r := runner{partition: processor.New(t.Policies), policies: t.Policies}
	for i := range t.Steps {
		step := &t.Steps[i]
		seen := r.do(step)
		for _, e := range step.Expect {
			got, met := e.check(&seen)
			if met {
				continue
			}
			failures = append(failures, Failure{
				File: file, Line: e.Line, Column: e.Column, Test: t.Name, Step: i + 1, Field: e.Field,
				Got: got, Want: e.Want.String(),
			})
		}
	}
	return failures
}

// runner is a test under way.
type runner struct {
	partition *processor.Partition
	policies  *breaker.Policies
	offset    int64
}

// do does a step and returns what is to be seen then.
func (r *runner) do(s *Step) seen {
	v := seen{runner: r, circuit: s.Circuit}
	for i := range s.Repeat {
		at := epoch.Add(s.At + time.Duration(i)*s.Every)
		switch {
		case s.Reload != nil:
			v.moves += r.reload(s, at)
		case s.Outcome == nil && s.Signal == nil:
			r.partition.Advance(at)
		default:
			v.result = r.partition.Step(at, r.input(s))
			v.moves += v.result.Moves
		}
	}
	r.partition.Commit()
	v.state = r.state(s.Circuit)
	return v
}

// epoch is offset 0.
var epoch = time.Unix(0, 0).UTC()

func (r *runner) input(s *Step) processor.Input {
	in := processor.Input{Outcome: s.Outcome, Signal: s.Signal, Trigger: schemas.Trigger{Offset: r.offset}}
	r.offset++
	in.Inputs = schemas.Inputs{Outcomes: r.offset, Signals: r.offset}
	return in
}

// reload puts other policies in force, between two transactions as the processor does, and counts the step's circuit's
// changes of state.
func (r *runner) reload(s *Step, at time.Time) int {
	r.partition.Advance(at)
	before := r.state(s.Circuit).Epoch
	r.partition.Reload(s.Reload, schemas.Inputs{})
	r.partition.Commit()
	r.policies = s.Reload
	return int(r.state(s.Circuit).Epoch - before)
}

// state returns a circuit as it is now. One that nobody has heard of is closed.
func (r *runner) state(circuit string) schemas.State {
	state, ok := r.partition.State(circuit, r.partition.Clock())
	policy := r.policies.For(circuit)
	if !ok {
		state = schemas.State{Circuit: circuit}
	}
	state.Enforced, state.Policy = policy.Enforce, policy.Name
	return state
}
