package main

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/schemas"
)

// happening says in words what a record of a circuit tells, given the record before it, nil where that is not known.
func happening(before, s *schemas.State) string {
	if before == nil && s.Sequence == 1 && s.State == schemas.Closed {
		return "first seen, closed"
	}
	if before == nil {
		before = assumed(s)
	}
	switch {
	case s.Override != nil && before.Override == nil || s.Epoch != before.Epoch && s.Override != nil:
		return fmt.Sprintf("%s -> %s", before.State, s.State)
	case granted(before, s) != nil && s.State != before.State:
		return fmt.Sprintf("%s -> %s, probe to %s", before.State, s.State, granted(before, s).Holder)
	case s.State != before.State:
		return fmt.Sprintf("%s -> %s", before.State, s.State)
	case s.Epoch != before.Epoch && s.Epoch == 0:
		return "no policy judges beside any more, or no longer degraded" // It never changed, and has neither now.
	case s.Epoch != before.Epoch:
		return fmt.Sprintf("%s again", s.State)
	case s.Override == nil && before.Override != nil:
		return "override ended"
	case s.Degraded != nil && before.Degraded == nil:
		return "degraded"
	case s.Degraded == nil && before.Degraded != nil:
		return "no longer degraded"
	case granted(before, s) != nil:
		return "probe to " + granted(before, s).Holder
	case s.Probe.Successes > before.Probe.Successes:
		return fmt.Sprintf("probe succeeded, %d so far", s.Probe.Successes)
	case s.Probe.Failures > before.Probe.Failures:
		return fmt.Sprintf("probe failed, %d so far", s.Probe.Failures)
	case s.Probe.Inconclusive > before.Probe.Inconclusive:
		return fmt.Sprintf("probe without a verdict, %d in a row", s.Probe.Inconclusive)
	case len(s.Leases) < len(before.Leases):
		return "probe given back"
	case promoted(before, s):
		return fmt.Sprintf("policy %s judges from here on; it was the shadow", s.Policy)
	case shadowPolicy(s) != shadowPolicy(before) && s.Shadow == nil:
		return fmt.Sprintf("no policy judges beside any more, %s did", before.Shadow.Policy)
	case shadowPolicy(s) != shadowPolicy(before):
		return fmt.Sprintf("%s judges beside from here on", s.Shadow.Policy)
	case s.PolicyVersion != before.PolicyVersion:
		return "judged by policies " + s.PolicyVersion
	}
	return s.State.String()
}

// promoted tells whether the policy that judged beside judges the circuit from this record on.
func promoted(before, s *schemas.State) bool {
	return shadowPolicy(before) != "" && s.Policy == before.Shadow.Policy && s.Policy != before.Policy
}

// reason says why that happened, as far as the record tells, "" where it says nothing of it.
func reason(before, s *schemas.State) string {
	if before == nil {
		before = assumed(s)
	}
	same := s.State == before.State && s.Epoch == before.Epoch && (s.Override == nil) == (before.Override == nil)
	switch {
	case s.State == schemas.HalfOpen && s.Override == nil && s.Operator == nil:
		return "" // It was told when the circuit opened.
	case same && (s.Degraded == nil) == (before.Degraded == nil):
		return "" // What it says of the circuit was so before.
	case s.State != before.State && breaker.Recovers(s) && before.Probe.Successes > 0:
		return fmt.Sprintf("%d probes succeeded", before.Probe.Successes+1)
	case s.State != before.State && breaker.Recovers(s):
		return "the probe succeeded"
	}
	return s.Because()
}

// assumed returns what a circuit may have been before a record of it, where that was not seen.
func assumed(s *schemas.State) *schemas.State {
	if s.Probe != (schemas.Probe{Concurrency: s.Probe.Concurrency}) || len(s.Leases) > 0 || s.Degraded != nil {
		return &schemas.State{State: s.State, Epoch: s.Epoch, ChangedAt: s.ChangedAt, Shadow: s.Shadow}
	}
	if s.Shadow != nil && s.Shadow.Since.After(s.ChangedAt) { // The newest that happened to either.
		before := *s
		before.Shadow = &schemas.Shadow{Policy: s.Shadow.Policy}
		return &before
	}
	return &schemas.State{State: s.Previous, Epoch: s.Epoch - 1, Shadow: s.Shadow}
}

// happened returns when that was: the change's own time. What is no change of state or override has none; then it is
// the time of the record.
func happened(before, s *schemas.State, written time.Time) time.Time {
	if before == nil {
		before = assumed(s)
	}
	switch {
	case !s.ChangedAt.Equal(before.ChangedAt):
		return s.ChangedAt
	case s.Degraded != nil && before.Degraded == nil:
		return s.Degraded.At
	}
	return written
}

// granted returns a lease that the record before did not have.
func granted(before, s *schemas.State) *schemas.Lease {
	for i, l := range s.Leases {
		if !slices.ContainsFunc(before.Leases, func(b schemas.Lease) bool { return b.ID == l.ID }) {
			return &s.Leases[i]
		}
	}
	return nil
}

// shadowPolicy returns the name of the policy that judges beside, or nothing.
func shadowPolicy(s *schemas.State) string {
	if s.Shadow == nil {
		return ""
	}
	return s.Shadow.Policy
}

// ofShadow tells whether a record shows that the circuit's shadow moved, and nothing else.
func ofShadow(before, s *schemas.State) bool {
	if before == nil {
		if s.Sequence == 1 {
			return false
		}
		before = assumed(s)
	}
	if shadowPolicy(s) == "" || shadowPolicy(s) != shadowPolicy(before) {
		return false
	}
	then, now := *before, *s
	for _, side := range []*schemas.State{&then, &now} {
		side.Shadow, side.Sequence, side.Trigger, side.Inputs = nil, 0, schemas.Trigger{}, schemas.Inputs{}
		side.Clamped, side.Operator, side.PolicyVersion = false, nil, ""
	}
	return bytes.Equal(schemas.AppendState(nil, &then), schemas.AppendState(nil, &now))
}

// shadowWords says what a policy that judges beside has come to. That it is a shadow is to stand before it.
func shadowWords(policy string, state schemas.Phase, cause *schemas.Cause) string {
	words := fmt.Sprintf("%s would be %s", policy, state)
	if cause != nil {
		words += ": " + cause.Words()
	}
	return words
}
