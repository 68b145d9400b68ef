package processor

import (
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

// step is one record on its way through a circuit.
type step struct {
	*circuit
	aside  bool // The circuit is a Shadow's: see there.
	at     time.Time
	in     Input
	result Result

	operator *schemas.Operator // Whose word the circuit is taking.
}

// Step handles one record with the timestamp `at`. A circuit that is known has to be in memory: see Resident.
func (p *Partition) Step(at time.Time, in Input) Result {
	p.Advance(at)
	s := step{at: p.clock, in: in, result: Result{At: p.clock}}
	if s.circuit = p.touch(in.circuit()); s.circuit == nil || s.forgotten {
		if !in.creates() || in.Full && in.Outcome != nil {
			return s.pass(p.policies)
		}
		if s.circuit == nil {
			s.circuit = p.create(in.circuit())
		}
		s.result.Known = 1
	}
	s.result.Circuit = s.name
	if s.breaker.Override != nil {
		s.publish(s.breaker.Expire(s.at, s.policy), false)
	}
	if s.sequence > 0 && s.idle(s.at, s.policy.IdleAfter) {
		if !in.creates() {
			if s.shadowRests(s.at) {
				s.forgotten, s.result.Known = true, -1
			}
			return s.pass(p.policies)
		}
		s.renew(p.newest())
	}
	s.judgeAside(at)
	s.inputs = in.Inputs
	if s.sequence == 0 {
		s.publish(breaker.Touched, false)
	}
	if s.breaker.Phase == schemas.HalfOpen {
		s.reclaim()
	}
	if in.Outcome != nil {
		s.result.Kind, s.result.Why = s.outcome(at)
	} else {
		s.signal()
	}
	s.last = s.at
	s.tellShadow()
	return s.result
}

// pass is what becomes of a record that no circuit takes: a claim, a release or the end of an override of one that
// nobody knows or that is forgotten, and an outcome for which there is no room.
func (s *step) pass(policies *breaker.Policies) Result {
	switch in := &s.in; {
	case in.Outcome != nil:
		s.result.Kind, s.result.Why = policies.KindLabel(in.Outcome.Kind), OverLimit
	case in.Signal.Type == schemas.Claim:
		s.result.Leases.Refused = 1
	}
	return s.result
}

// circuit returns the name of the record's circuit.
func (in *Input) circuit() string {
	if in.Outcome != nil {
		return in.Outcome.Circuit
	}
	return in.Signal.Circuit
}

// creates tells whether the record makes its circuit known: claims, releases and the end of an override say nothing
// about one that nobody has heard of.
func (in *Input) creates() bool {
	return in.Outcome != nil || in.Signal.Type == schemas.Override && in.Signal.Mode != schemas.Clear
}

// publish adds a record of the circuit to the result, where something that is published has changed, and empties the
// counts where the circuit moved. Moves count where they are nobody's timer.
func (s *step) publish(change breaker.Change, counts bool) {
	if change == breaker.Same {
		return
	}
	if change == breaker.Moved {
		s.counts.Clear()
		s.notCounted = schemas.NotCounted{}
		if counts {
			s.result.Moves++
		}
	}
	if s.aside && change != breaker.Moved {
		return
	}
	s.sequence++
	s.unshown = false
	state := s.state()
	state.Trigger, state.Inputs, state.Clamped = s.in.Trigger, s.in.Inputs, s.in.Clamped
	state.Operator = s.operator
	s.result.States = append(s.result.States, state)
}

// reclaim takes back the leases that have expired, in the order of their expiry.
func (s *step) reclaim() {
	change := breaker.Same
	for {
		id, expired := s.breaker.Expired(s.at)
		if !expired {
			break
		}
		s.result.Leases.Expired++
		change = max(change, s.inconclusive(id))
	}
	s.publish(change, true)
}

// inconclusive frees a lease that ended without a verdict.
func (s *step) inconclusive(id string) breaker.Change {
	cause := s.policies().ProbeCause(s.policy, breaker.ProbesInconclusive,
		s.breaker.Probe.Inconclusive+1, breaker.InconclusiveLimit, s.occasion(s.at, 0))
	return s.trips(s.breaker.Inconclusive(s.at, s.name, s.policy, id, cause), cause)
}

// trips notes the cause where a change opened the circuit.
func (s *step) trips(change breaker.Change, cause *schemas.Cause) breaker.Change {
	if change == breaker.Moved && s.breaker.Phase == schemas.Open {
		s.result.Tripped = cause
	}
	return change
}

func (s *step) occasion(t time.Time, kind uint8) breaker.Occasion {
	return breaker.Occasion{
		At: s.at, Time: t, Outcome: s.in.Outcome, Kind: kind,
		Partition: s.in.Trigger.Partition, Offset: s.in.Trigger.Offset, NotCounted: s.notCounted,
	}
}
