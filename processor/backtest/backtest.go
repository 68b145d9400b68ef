// Package backtest runs recorded outcomes through policies and says what they would have done: when each circuit would
// have tripped and why, how long it would have been open, and which calls would have been refused meanwhile.
//
// It judges as a shadow does, see processor.Shadow: recorded epochs and leases are disregarded, each circuit's clock is
// its own newest time, and while a circuit is open its outcomes are refused, except for those that the policy would
// have sent as probes. It does no I/O but through the Store that it is given.
package backtest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/processor"
	"github.com/fusebox-project/fusebox/schemas"
)

// Store keeps circuits while they are out of memory, by their numbers, which begin with 0 and leave none out.
type Store interface {
	Put(circuit int, value []byte) error // It keeps a copy of the value.
	Get(circuit int) ([]byte, error)     // What was Put last. It is good until the next call.
}

// Options say what a run judges by, and how much memory it takes, on which results do not depend. The zero value judges
// circuits by their policies and keeps all of them in memory.
type Options struct {
	Resident int   // Circuits whose counts are in memory at most, at least 1; meaningful only with a Store.
	Store    Store // Nil keeps all of them in memory.
	Beside   bool  // Circuits are judged by the shadows of their policies, and those that have none by nothing.
}

// Run is one pass of recorded outcomes through one set of policies. What circuits have counted can be put away; the
// totals of all of them, and their trips, stay in memory. It is not safe for concurrent use.
type Run struct {
	policies *breaker.Policies
	options  Options
	circuits map[string]*circuit // Nil is one that nothing judges beside its policy.
	judged   int                 // Those that are not nil.
	resident []*circuit
	hand     int    // Where the eviction looks next.
	buffer   []byte // For values on their way to the store.
	err      error
}

// New returns a run that has seen nothing.
func New(policies *breaker.Policies, options Options) *Run {
	options.Resident = max(options.Resident, 1)
	return &Run{policies: policies, options: options, circuits: map[string]*circuit{}}
}

// Step is what one outcome did.
type Step struct {
	Circuit string        // It lives on.
	Number  int           // Of the circuit, from 0 on, in the order in which they came.
	At      time.Time     // The circuit's clock.
	Index   int64         // Of the outcome in the circuit's sequence, from 0 on.
	Why     processor.Why // What became of it: a call refused is WhileOpen.
	Kind    string        // Its canonical name, or unknown.
	Phase   schemas.Phase // The circuit's state from now on.
	Trip    *Trip         // Nil where it opened nothing.
	Closed  bool          // It closed the circuit.
	Role    breaker.Role  // What the kind is evidence of.
	fired   uint64        // A bit for each rule that fired.
	on      *circuit
}

// Observe returns what a rule of the circuit's policy compares after the step: see breaker.Policy.Observe. It is good
// until the next Step.
func (s *Step) Observe(rule int) (observed, threshold float64, throughput int64) {
	return s.on.shadow.Observe(rule)
}

// Fires tells whether a rule of the circuit's policy fires by now: an opening one on this outcome, a degrading one when
// it was last judged. It is good until the next Step.
func (s *Step) Fires(rule int) bool { return s.fired&(1<<rule) != 0 || s.on.shadow.Degrades(rule) }

// Policy returns the policy that judges the circuit.
func (s *Step) Policy() *breaker.Policy { return s.on.policy }

// Step judges the next outcome. Its Time must be set. Outcomes of one circuit come in their order; those of different
// circuits may come in any. What is not judged is no step, and its Circuit empty: an outcome of a circuit that has no
// shadow where shadows judge, and any after a failure of the store, see Report.
func (r *Run) Step(o *schemas.Outcome) Step {
	c, known := r.circuits[o.Circuit]
	if !known {
		c = r.create(o)
	}
	if c == nil {
		return Step{}
	}
	if c.shadow == nil {
		r.bring(c, o.Time)
	}
	if r.err != nil {
		return Step{}
	}
	c.used = true
	return c.step(o, r.policies)
}

// create makes a circuit known by its first outcome.
func (r *Run) create(o *schemas.Outcome) *circuit {
	name, policy := strings.Clone(o.Circuit), r.policies.For(o.Circuit)
	if r.options.Beside {
		policy = policy.Shadow
	}
	if policy == nil {
		r.circuits[name] = nil
		return nil
	}
	c := newCircuit(name, policy, o.Time)
	c.number = int32(r.judged)
	r.judged++
	r.circuits[name] = c
	return c
}

// Report returns what the run has come to, its circuits by name, or the first error of the store.
func (r *Run) Report() (Report, error) {
	if r.err != nil {
		return Report{}, r.err
	}
	report := Report{Circuits: make([]*Circuit, 0, r.judged)}
	for _, c := range r.circuits {
		if c != nil {
			report.Circuits = append(report.Circuits, c.report())
		}
	}
	slices.SortFunc(report.Circuits, func(a, b *Circuit) int { return strings.Compare(a.Circuit, b.Circuit) })
	return report, nil
}

// Circuits returns how many circuits the run has judged.
func (r *Run) Circuits() int { return r.judged }

// bring brings a circuit into memory: a new one from nothing, any other from the store.
func (r *Run) bring(c *circuit, at time.Time) {
	r.makeRoom()
	if r.err != nil {
		return
	}
	name := c.row.Circuit
	if c.row.Records == 0 {
		c.shadow = processor.NewShadow(name, r.policies, c.policy, at)
	} else {
		value, err := r.options.Store.Get(int(c.number))
		if err == nil {
			c.shadow, err = processor.ReadShadow(name, value, r.policies, c.policy)
		}
		if err != nil {
			r.err = fmt.Errorf("circuit %s from the store: %w", name, err)
			return
		}
	}
	r.resident = append(r.resident, c)
}

// makeRoom puts circuits away, those that have not been used for long, until there is room for one more.
func (r *Run) makeRoom() {
	for r.err == nil && r.options.Store != nil && len(r.resident) >= r.options.Resident {
		if r.hand >= len(r.resident) {
			r.hand = 0
		}
		c := r.resident[r.hand]
		if c.used {
			c.used = false
			r.hand++
			continue
		}
		r.buffer = c.shadow.Append(r.buffer[:0])
		r.err = r.options.Store.Put(int(c.number), r.buffer)
		c.shadow = nil
		last := len(r.resident) - 1
		r.resident[r.hand], r.resident[last] = r.resident[last], nil
		r.resident = r.resident[:last]
	}
}
