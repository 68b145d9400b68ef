package client

import (
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

// refused returns the refusal of a circuit as it is at a time, until retry, or without an end where that is the zero
// time.
func refused(s *schemas.State, at, retry time.Time) *RefusedError {
	return &RefusedError{
		Circuit: s.Circuit, State: s.State, Cause: s.Cause, Override: s.Override, RetryAfter: until(at, retry),
		Ramp: s.State == schemas.Closed && len(s.Ramp) > 0,
	}
}

// retryAfter returns when a call may be admitted again: 0 where one is now, or where nobody can say. A circuit on a
// ramp admits some calls now.
func retryAfter(s *schemas.State, at time.Time) time.Duration {
	admission, retry := s.Admission(at, "", 0)
	if admission != schemas.Refuses || s.State == schemas.Closed {
		return 0
	}
	return until(at, retry)
}

// until returns how long it is to a time, never less than nothing; 0 where there is none.
func until(at, then time.Time) time.Duration {
	if then.IsZero() {
		return 0
	}
	return max(then.Sub(at), 0)
}
