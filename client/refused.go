package client

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

// ErrRefused is what every RefusedError unwraps to.
var ErrRefused = errors.New("the circuit refuses")

// RefusedError says that a call may not be made, and why.
type RefusedError struct {
	Circuit string
	State   schemas.Phase
	Cause   *schemas.Cause // Why the circuit is open; nil where no rule opened it. Callers must not change it.
	// RetryAfter is how long to wait before asking again. It is never negative, and 0 where nobody can say: as long as
	// an operator keeps the circuit open.
	RetryAfter time.Duration

	Override *schemas.OverrideInForce // The operator's word, where that refuses.
	// Ramp says that the circuit has recovered, and takes a share of the calls so far. RetryAfter is then when it takes
	// a greater one; a call before that may be among those that pass.
	Ramp    bool
	Silence bool // Nothing was heard of the circuit for too long, and OnSilence refuses.
}

// refused returns the refusal of a circuit as it is at a time, until retry, or without an end where that is the zero
// time.
func refused(s *schemas.State, at, retry time.Time) *RefusedError {
	return &RefusedError{
		Circuit: s.Circuit, State: s.State, Cause: s.Cause, Override: s.Override, RetryAfter: until(at, retry),
		Ramp: s.State == schemas.Closed && len(s.Ramp) > 0,
	}
}

// Unwrap returns ErrRefused.
func (e *RefusedError) Unwrap() error { return ErrRefused }

// Error says in words why the call was refused, and when to come back.
func (e *RefusedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s refuses: %s", e.Circuit, e.why())
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, "; try again in %s", schemas.Brief(max(e.RetryAfter.Round(time.Millisecond), time.Millisecond)))
	}
	return b.String()
}

func (e *RefusedError) why() string {
	switch {
	case e.Silence:
		return "no processor was heard of for too long"
	case e.Ramp:
		return "it has just recovered and takes a share of the calls"
	case e.Override != nil && e.Override.Reason != "":
		return fmt.Sprintf("%s keeps it open: %s", e.Override.Actor, e.Override.Reason)
	case e.Override != nil:
		return e.Override.Actor + " keeps it open"
	case e.Cause != nil && e.State == schemas.HalfOpen:
		return "it is being tested after " + e.Cause.Words()
	case e.Cause != nil:
		return e.Cause.Words()
	case e.State == schemas.HalfOpen:
		return "it is being tested"
	}
	return "it is " + strings.ReplaceAll(e.State.String(), "_", " ")
}
