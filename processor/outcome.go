package processor

import (
	"math"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

// outcome handles an outcome with the timestamp `stamp`. The first check that it does not pass tells why it does not
// count.
func (s *step) outcome(stamp time.Time) (kind string, why Why) {
	o := s.in.Outcome
	number, name := s.policies().Kind(o.Kind)
	t := o.Time
	if t.IsZero() {
		t = stamp
	}
	if t.After(s.at) {
		t, s.result.Clamped = s.at, true
	}
	seen := s.recent.seen(o.ID)
	state := s.breaker.State()
	switch {
	case !s.policy.Enabled || state == schemas.Disabled:
		return name, Disabled
	case seen:
		s.notCounted.Duplicate++
		return name, Duplicate
	case o.Lease != "" && !s.aside:
		if !s.breaker.Live(o.Lease) {
			s.notCounted.Stale++
			return name, Stale
		}
		return name, s.probe(t, number)
	case state == schemas.ForcedOpen || state == schemas.Open || state == schemas.HalfOpen:
		if !s.probesUnasked(t) {
			return name, WhileOpen
		}
		return name, s.probeUnasked(t, number)
	case s.outdated(t):
		s.notCounted.Stale++
		return name, Stale
	case s.policy.Longest > 0 && t.Before(s.at.Add(-s.policy.Longest)):
		s.notCounted.Late++
		return name, Late
	case !s.policy.Sees(number):
		s.notCounted.Neutral++
		return name, IsNeutral
	}
	s.count(t, number)
	return name, Counted
}

// longestCall is as long as a duration can be: some 292 years.
const longestCall = math.MaxInt64 / int64(time.Millisecond)

// started returns when the call of an outcome of time t began.
func started(t time.Time, o *schemas.Outcome) time.Time {
	return t.Add(-time.Duration(min(o.LatencyMS, longestCall)) * time.Millisecond)
}

// outdated tells whether the call was admitted before the circuit's last change, or under an epoch that never was.
func (s *step) outdated(t time.Time) bool {
	o := s.in.Outcome
	if o.HasEpoch && !s.aside {
		return o.Epoch != s.breaker.Epoch
	}
	return !s.breaker.ChangedAt.IsZero() && started(t, o).Before(s.breaker.ChangedAt)
}

// probesUnasked tells whether an outcome without a lease is a probe's result all the same.
func (s *step) probesUnasked(t time.Time) bool {
	o := s.in.Outcome
	if !s.breaker.Due(s.at) || started(t, o).Before(s.breaker.RetryAt) {
		return false
	}
	return s.aside || !s.policy.Enforce || s.policy.HalfOpen.Implicit && !o.HasEpoch
}

// probeUnasked takes the result of a probe for which nobody asked. A neutral one says nothing and moves nothing.
func (s *step) probeUnasked(t time.Time, kind uint8) Why {
	if s.policy.Role(kind) == breaker.Neutral {
		s.notCounted.Neutral++
		return IsNeutral
	}
	s.publish(s.breaker.HalfOpen(s.at), true)
	return s.probe(t, kind)
}

// probe takes the result of a probe, on the outcome's lease where it has one.
func (s *step) probe(t time.Time, kind uint8) Why {
	o := s.in.Outcome
	switch s.policy.Role(kind) {
	case breaker.Neutral:
		s.result.Leases.Neutral++
		s.notCounted.Neutral++
		s.publish(s.inconclusive(o.Lease), true)
		return IsNeutral
	case breaker.Success:
		s.result.Leases.Succeeded++
		s.publish(s.breaker.Succeeded(s.at, s.policy, o.Lease), true)
	case breaker.Failure:
		s.result.Leases.Failed++
		cause := s.policies().ProbeCause(s.policy, breaker.ProbeFailed,
			s.breaker.Probe.Failures+1, s.policy.HalfOpen.Failures, s.occasion(t, kind))
		s.publish(s.trips(s.breaker.Failed(s.at, s.name, s.policy, o.Lease, cause, o.RetryAfterMS), cause), true)
	}
	return Probe
}

// count counts an outcome and lets the rules judge. Where an operator keeps the circuit closed no rule acts.
func (s *step) count(t time.Time, kind uint8) {
	o := s.in.Outcome
	sighting := s.policy.Add(&s.counts, s.at, t, o, kind, s.in.Trigger.Offset)
	if s.breaker.State() != schemas.Closed {
		return
	}
	verdict := s.policy.Judge(&s.counts, sighting)
	s.result.Fired = verdict.Fired
	s.result.Judged = s.aside && s.policy.HasEnough(&s.counts, sighting)
	if verdict.Opens >= 0 {
		cause := s.policies().Cause(s.policy, verdict.Opens, &s.counts, verdict, s.occasion(t, kind))
		if s.aside {
			s.result.Stretch = s.policy.Stretch(&s.counts, verdict.Opens)
		}
		s.publish(s.trips(s.breaker.Trip(s.at, s.name, s.policy, cause, o.RetryAfterMS), cause), true)
		return
	}
	if s.counts.Degrades() && s.policies().Degrade(s.policy, &s.counts, verdict, s.occasion(t, kind)) {
		s.publish(breaker.Touched, false)
	}
}
