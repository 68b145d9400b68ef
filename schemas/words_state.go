package schemas

import (
	"fmt"
	"strings"
	"time"
)

// Next says what the circuit waits for, and what readers should know besides; "" where there is nothing. Call it on
// what At returned.
func (s *State) Next(now time.Time) string {
	var parts []string
	switch {
	case s.Override != nil && s.Override.Until.IsZero():
		parts = append(parts, "until cleared")
	case s.Override != nil:
		parts = append(parts, "ends in "+Until(now, s.Override.Until))
	case s.ProbeDue(now):
		parts = append(parts, "probe due")
	case s.State == Open:
		parts = append(parts, "probe in "+Until(now, s.RetryAt))
	case s.State == HalfOpen && len(s.Leases) > 0:
		parts = append(parts, "probe out, by "+s.Leases[0].Holder)
	case s.State == HalfOpen:
		parts = append(parts, "probe due")
	case len(s.Ramp) > 0:
		parts = append(parts, Percent(s.Ramp[0].Share)+" of calls admitted")
	}
	if !s.Enforced {
		parts = append(parts, "not enforced")
	}
	if s.Policy == "" {
		parts = append(parts, "no policy matches")
	}
	return strings.Join(parts, ", ")
}

// Because says why the circuit is as it is, "" of one that is well.
func (s *State) Because() string {
	switch {
	case s.Override != nil:
		return "by " + s.Override.Actor + ": " + s.Override.Reason
	case s.Operator != nil && (s.Operator.Mode == Reset || s.Operator.Mode == Clear):
		return s.Operator.Mode.String() + " by " + s.Operator.Actor + ": " + s.Operator.Reason
	case s.State == Open && s.Cause == nil && s.Previous == ForcedOpen:
		return "an override (force_open) has ended"
	case s.ClosedByReload() && s.Policy == "":
		return "no policy matches it any more"
	case s.ClosedByReload():
		return "its policy was switched off"
	case s.Cause != nil:
		return s.Cause.Words()
	case s.Degraded != nil:
		return s.Degraded.Words()
	}
	return ""
}

// ClosedByReload tells whether this is the record that says that a reload closed a circuit that refused calls: no
// policy matches it any more, or its policy is off.
func (s *State) ClosedByReload() bool {
	return s.State == Closed && (s.Previous == Open || s.Previous == HalfOpen) && s.Trigger.Topic == "" &&
		s.Override == nil && s.Operator == nil
}

// Until writes how long it is until a time, in at most two units.
func Until(now, t time.Time) string {
	const day = 24 * time.Hour
	d := max(t.Sub(now), 0)
	switch {
	case d >= 2*day:
		return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
	case d >= time.Hour:
		return Brief(d.Round(time.Minute))
	case d >= time.Second:
		return Brief(d.Round(time.Second))
	}
	return Brief(d.Round(time.Millisecond))
}

// Percent writes a share as a reader says it.
func Percent(share float64) string { return Decimal(share*100, 0) + "%" }
