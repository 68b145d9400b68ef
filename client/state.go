package client

import (
	"time"

	"github.com/fusebox-project/fusebox/schemas"
)

// State is what is known of a circuit now: the newest record with what time alone has changed since.
type State struct {
	schemas.State
	Known      bool          // False for a circuit that nobody has heard of: it is closed at epoch 0.
	RetryAfter time.Duration // When a call may be admitted again; 0 where one is now, or where nobody can say.
	Age        time.Duration // How long ago a processor was last heard of this circuit's partition; 0 in one process.
	Silent     bool          // That is longer ago than Config.SilenceAfter, and Config.OnSilence decides.
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
