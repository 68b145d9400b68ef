package policytest

import (
	"maps"
	"slices"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// Run runs a test and returns the expectations that were not met, in the order of the steps, and notes on some that
// were. The name of the file is for these alone.
func (t *Test) Run(file string) ([]Failure, []Note) {
	var failures []Failure
	var notes []Note
	r := runner{partition: processor.New(t.Policies), policies: t.Policies, ignored: map[string]int64{}}
	for i := range t.Steps {
		step := &t.Steps[i]
		seen := r.do(step)
		for _, e := range step.Expect {
			got, met := e.check(&seen)
			if met {
				if circuit := r.closedUnjudged(step, &e); circuit != "" && !t.knowsUnjudged(circuit) {
					notes = append(notes, Note{file, e.Line, e.Column, t.Name, i + 1, circuit, r.policies})
				}
				continue
			}
			failures = append(failures, Failure{
				File: file, Line: e.Line, Column: e.Column, Test: t.Name, Step: i + 1, Field: e.Field,
				Got: got, Want: e.Want.String(),
			})
		}
	}
	return failures, firstOfEach(notes)
}

// closedUnjudged returns a circuit that the expectation wants closed and that is, although outcomes came, as no policy
// matches it.
func (r *runner) closedUnjudged(s *Step, e *Expectation) string {
	closed := map[string]string{}
	switch e.Field {
	case "state":
		closed[s.Circuit] = e.Want.Text
	case "state_of":
		for i, circuit := range e.Want.Names {
			closed[circuit] = e.Want.Values[i]
		}
	}
	for _, circuit := range slices.Sorted(maps.Keys(closed)) {
		if closed[circuit] == "closed" && r.ignored[circuit] > 0 && !r.policies.For(circuit).Matched {
			return circuit
		}
	}
	return ""
}

// knowsUnjudged tells whether the test itself says that outcomes of a circuit are not counted.
func (t *Test) knowsUnjudged(circuit string) bool {
	return slices.ContainsFunc(t.Steps, func(s Step) bool {
		return s.Circuit == circuit && slices.ContainsFunc(s.Expect, func(e Expectation) bool {
			return e.Field == "why" && e.Want.Text == "disabled" || e.Field == "counted" && e.Want.Text == "false"
		})
	})
}

// firstOfEach returns the first note on each circuit.
func firstOfEach(notes []Note) (first []Note) {
	for _, n := range notes {
		if !slices.ContainsFunc(first, func(f Note) bool { return f.Circuit == n.Circuit }) {
			first = append(first, n)
		}
	}
	return first
}

// runner is a test under way.
type runner struct {
	partition *processor.Partition
	policies  *breaker.Policies
	offset    int64
	ignored   map[string]int64 // Outcomes by circuit that no policy matched when they came.
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
			if s.Outcome != nil && !r.policies.For(s.Circuit).Matched {
				r.ignored[s.Circuit]++
			}
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
