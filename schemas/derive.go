package schemas

import (
	"slices"
	"time"
)

// At returns what the circuit is at a time at which nothing else has come: an override that has run out has ended,
// leases that have expired are gone, and of a ramp only what lies ahead is left. A break that has ended changes no
// field, see ProbeDue. The state itself is not changed. Readers call it with the wall clock, or with the time of a
// heartbeat where that is later.
func (s *State) At(at time.Time) State {
	derived := *s
	if o := s.Override; o != nil && !o.Until.IsZero() && !at.Before(o.Until) {
		derived = s.afterOverride()
	}
	dead := func(l Lease) bool { return !at.Before(l.ExpiresAt) }
	over := func(r RampStep) bool { return !at.Before(r.Until) }
	derived.Leases = slices.DeleteFunc(slices.Clone(derived.Leases), dead)
	derived.Ramp = slices.DeleteFunc(slices.Clone(derived.Ramp), over)
	return derived
}

// ProbeDue tells whether one call may test the route now: the circuit is open and its break is over. Call it on what
// At returned.
func (s *State) ProbeDue(at time.Time) bool {
	return s.State == Open && !at.Before(s.RetryAt)
}

// afterOverride returns the state as the end of its override leaves it, dated at that end. A circuit that was forced
// open is open with a probe due, unless no policy is there to close it again.
func (s *State) afterOverride() State {
	after := *s
	until := s.Override.Until
	after.Previous, after.State = s.State, Closed
	after.Override, after.Operator, after.Leases, after.Ramp, after.Cause, after.Degraded = nil, nil, nil, nil, nil, nil
	after.Probe = Probe{Concurrency: s.Probe.Concurrency}
	after.ChangedAt, after.RetryAt = until, time.Time{}
	if s.Override.Then == Open {
		after.State, after.RetryAt = Open, until
	}
	return after
}
